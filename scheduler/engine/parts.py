"""The parts of the engine, in the order in which a boundary and the end of a tick call them."""

from __future__ import annotations

from cogitate.scheduler.engine.admitting import Admitting
from cogitate.scheduler.engine.answer_times import AnswerTimes
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.owners import Owners
from cogitate.scheduler.engine.part import Part
from cogitate.scheduler.engine.remembering import Remembering
from cogitate.scheduler.engine.retention import Limits, Retention
from cogitate.scheduler.engine.retries import Retries
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.steered import Steered


def parts_of(state: RunState) -> list[Part]:
    """Return the parts of a run's engine."""
    return [
        Owners(state),
        Remembering(coalesce=state.rules.coalesce),
        state.rater,
        state.estimates,
        Limits(),
        Retention(),
        Steered(state),
        Admitting(state),
        LateAnswers(state),
        Corrections(),
        AnswerTimes(state),
        Retries(),
    ]
