"""The steps of one tick, and the parts that carry them out, in order: no I/O, no clock, no randomness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from cogitate.memory.entry import Entry
from cogitate.scheduler.config.controls import ControlRequest
from cogitate.scheduler.engine.admitting import Admitting
from cogitate.scheduler.engine.answer_times import AnswerTimes
from cogitate.scheduler.engine.boundary import Closing, close_due
from cogitate.scheduler.engine.corrections import Corrections, Retries
from cogitate.scheduler.engine.heuristics_ahead import HeuristicsAhead
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.part import Figure, Part, TickState
from cogitate.scheduler.engine.rating import Rater
from cogitate.scheduler.engine.retention import Limits, Retention
from cogitate.scheduler.engine.run_data import FinishedTick, WorldTurn
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.token_estimates import TokenEstimates
from cogitate.scheduler.engine.valuing import Valuing
from cogitate.scheduler.engine.world_turn import Owners, Remembering, Steered
from cogitate.scheduler.intake.kind_effects import PROMPT_FAILED
from cogitate.scheduler.journal.ends import Change, JobEnd, ends_at_boundary
from cogitate.scheduler.journal.lines import Core, TickNotes
from cogitate.scheduler.ledger.run_store import RunKey
from cogitate.scheduler.ledger.step_replies import BoundaryInput
from cogitate.tasks.heuristics.read_ahead import read_ahead
from cogitate.tasks.job import JobKey
from cogitate.tasks.reflect import last_read

#: Each part's class and factory, in the order of the steps. Readers of a run use the declarations of the classes.
PARTS: Mapping[type[Part], Callable[[RunState], Part]] = {
    Owners: Owners,
    Remembering: lambda state: Remembering(coalesce=state.rules.coalesce),
    Rater: lambda state: state.rater,
    TokenEstimates: lambda state: state.estimates,
    Valuing: Valuing,
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


AnyPart = TypeVar("AnyPart", bound=Part)
Args = ParamSpec("Args")
Returned = TypeVar("Returned")


def _with_run_clock(
    step: Callable[Concatenate[RunEngine, Args], Returned],
) -> Callable[Concatenate[RunEngine, Args], Returned]:
    """Wrap a step so that texts that it writes name times by the run's clock."""

    @wraps(step)
    def timed(engine: RunEngine, /, *args: Args.args, **kwargs: Args.kwargs) -> Returned:
        with engine.state.facts.clock.in_force():
            return step(engine, *args, **kwargs)

    return timed


class RunEngine:
    """The steps of a tick on the state of a run: `begin` at the boundary, `end` after the world's turn."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.parts = parts_of(state)
        self._tick: TickState | None = None  # the tick that has begun and not ended
        self._ahead: HeuristicsAhead | None = None  # of a paced run

    def part(self, wanted: type[AnyPart]) -> AnyPart:
        """Return the part of this type."""
        return next(part for part in self.parts if isinstance(part, wanted))

    @_with_run_clock
    def work_ahead(self, tick: int, left: Callable[[], float], horizon: int) -> None:
        """Compute heuristics that the next boundaries may need until the next tick is due. This changes no result.

        Args:
            tick: the last committed tick.
            left: returns the seconds until the next tick is due.
            horizon: ticks; jobs that are due later are not computed yet.
        """
        state = self.state
        if self._ahead is None:
            self._ahead = HeuristicsAhead(
                state.open,
                state.without_model,
                state.latencies.is_answered,
                horizon,
                self._read_ahead,
            )
            self.parts.append(self._ahead)
        self._ahead.work(tick, left)

    def _read_ahead(self, owner: str, entry: Entry) -> None:
        stream = self.state.streams.get(owner)
        if stream is not None:  # None: the owner has left
            read_ahead(entry, owner, stream.live(), self.state.world(), last_read(stream))

    @_with_run_clock
    def begin(self, tick: int, boundary: BoundaryInput) -> list[Change]:
        """Pass the boundary: end the due jobs and apply their effects, then call each part.

        Returns:
            The changes for the world, in order.
        """
        state = self.state
        begun = TickState(number=tick, minute=state.facts.minute(tick), run=state, parts=self.parts, boundary=boundary)
        ahead = self._ahead
        closings = close_due(
            boundary.rows,
            state.open,
            state.streams,
            tick=tick,
            kind_of=state.rules.kind_of,
            case_of=state.case_of,
            made_ahead=lambda row: ahead.made(row.key) if ahead is not None else None,
            retired=state.retired,
        )
        for closing in closings:
            begun.close(closing)
            begun.apply(closing)
            _warn(begun, closing)
        state.unreadable.clear()
        for part in self.parts:
            part.begin(begun)
        self._tick = begun
        return [change for closing in begun.applied for change in closing.changes]

    @_with_run_clock
    def ends(self) -> list[JobEnd]:
        """Return the ends of the jobs that were due at the last boundary."""
        if self._tick is None:
            return []
        closings = self._tick.closings
        ended, notes = (closing.ended for closing in closings), (closing.note for closing in closings)
        return list(ends_at_boundary(self.state.run, self._tick.number, ended, notes))

    @_with_run_clock
    def end(
        self, tick: int, turn: WorldTurn, controls: Sequence[ControlRequest | None] = (), *, away: bool = False
    ) -> FinishedTick:
        """End the tick that has begun: call each part, in order."""
        state, begun, self._tick = self.state, self._tick, None
        assert begun is not None
        assert begun.number == tick
        begun.turn, begun.controls, begun.away = turn, controls, away
        for part in self.parts:
            part.end(begun)
        ended = tuple(closing.ended for closing in begun.closings)
        finished = FinishedTick(
            core=Core(tick=tick, minute=begun.minute, ended=ended, **begun.core),
            notes=TickNotes(**begun.notes),
            opened=tuple(begun.opened),
            streams=state.streams.take_changed(),
            faults=tuple(begun.faults),
        )
        state.remove(turn.leaves)
        return finished

    def needs_worker(self, key: JobKey) -> bool:
        """Return whether a job needs a worker: it asks a model, or the host has not computed its heuristic ahead."""
        item = self.state.open.get(key)
        return item is not None and (item.job.model != "" or self._ahead is None or self._ahead.made(key) is None)


def _warn(tick: TickState, closing: Closing) -> None:
    """Count warnings about lost effects and failed kinds at the end of a job."""
    ended, note, warnings = closing.ended, closing.note, tick.run.warnings
    if ended.end == "stale":
        warnings["job.stale"] += 1
    else:
        tick.count_losses(ended.effects)
    if note.failure == PROMPT_FAILED:
        warnings["job.prompt_failed"] += 1
    elif note.refusal:
        warnings["job.effects_refused"] += 1
    elif ended.reason != "none" and not ended.effects:
        warnings["job.nothing_recorded"] += 1
