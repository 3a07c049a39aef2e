"""The parts of the engine, in the order in which a boundary and the end of a tick call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cogitate.scheduler.engine.admitting import Admitting
from cogitate.scheduler.engine.answer_times import AnswerTimes
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.owners import Owners
from cogitate.scheduler.engine.part import Figure, Part
from cogitate.scheduler.engine.rating import Rater
from cogitate.scheduler.engine.remembering import Remembering
from cogitate.scheduler.engine.retention import Limits, Retention
from cogitate.scheduler.engine.retries import Retries
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.steered import Steered
from cogitate.scheduler.engine.token_estimates import TokenEstimates
from cogitate.scheduler.ledger.run_store import RunKey

#: The class of each part, and how the engine of a run gets its own. Readers of a run use what the classes declare.
PARTS: Mapping[type[Part], Callable[[RunState], Part]] = {
    Owners: Owners,
    Remembering: lambda state: Remembering(coalesce=state.rules.coalesce),
    Rater: lambda state: state.rater,
    TokenEstimates: lambda state: state.estimates,
    Limits: lambda _: Limits(),
    Retention: lambda _: Retention(),
    Steered: Steered,
    Admitting: Admitting,
    LateAnswers: LateAnswers,
    Corrections: lambda _: Corrections(),
    AnswerTimes: AnswerTimes,
    Retries: lambda _: Retries(),
}

HASHES: tuple[RunKey, ...] = tuple(name for part in PARTS for name in part.hashes)
FIGURES: tuple[Figure, ...] = tuple(figure for part in PARTS for figure in part.figures)


def parts_of(state: RunState) -> list[Part]:
    return [make(state) for make in PARTS.values()]
