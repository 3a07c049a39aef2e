"""Decide within a body: request jobs, end the tick, and pass boundaries until these jobs have ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from cogitate.memory.errors import InputError, UsageError
from cogitate.memory.host_code import Raised, captured
from cogitate.scheduler.intake.checks import MAX_NUMBERS, MAX_OWNER, check_texts, reason
from cogitate.scheduler.journal.ends import JobEnd
from cogitate.scheduler.tick.loop import RunLoop
from cogitate.scheduler.tick.tick_iterator import Tick, WorldDiverged, remedy
from cogitate.tasks.job import split_job_id

Params = Mapping[str, Any] | Callable[[str], Mapping[str, Any]] | None  # the same for all jobs, or a function of owner


class Deciding:
    """The jobs of one kind that a body waits for.

    Args:
        owners: get one job each; the ends are in the same order, for a set in the order of names.

    Raises:
        InputError: as in `loop.request`; then no job is requested.
        UsageError: if no boundary can follow, or the body has given a checkpoint, which would be the state of a world
            in the middle of a body.
    """

    def __init__(
        self,
        loop: RunLoop,
        kind: str,
        owners: Iterable[str],
        params: Params,
        *,
        priority: int,
        within: int | None,
    ) -> None:
        self._loop, calls = loop, loop.calls
        calls.check_turn()
        run, last, present = loop.ledger.run, loop.state.due.last, calls.present
        if loop.over or (last is not None and present >= last):
            raise UsageError(
                f"run {run!r}: tick {present} is the last of this host, so no boundary follows at which a job could "
                "end: check `loop.over` and the number of ticks before `decide`"
            )
        if calls.has_checkpoint:
            raise UsageError(
                f"run {run!r}: tick {present} has a checkpoint already, and a run resumed from it would begin in the "
                "middle of this body: call `loop.checkpoint` after `decide`"
            )
        listed = tuple(owners) if isinstance(owners, Mapping) else owners
        named = check_texts("owners", listed, most=MAX_OWNER, count=MAX_NUMBERS)
        if isinstance(owners, set | frozenset):
            named = tuple(sorted(named))
        self._repeats = calls.redelivering
        with ExitStack() as undo:
            undo.callback(calls.back_to, calls.mark())
            ids = [
                calls.request(kind, owner, _params_of(params, owner), priority=priority, within=within)
                for owner in named
            ]
            undo.pop_all()
        self._ends: dict[int, JobEnd] = {}  # by position
        self._pending = {name: position for position, name in enumerate(ids)}

    @property
    def done(self) -> bool:
        return not self._pending

    def ends(self) -> list[JobEnd]:
        """Return the ends of the jobs, once all are known; the body continues in the tick of the last boundary."""
        if self._ends:
            self._loop.ticks.seen()
        return [end for _, end in sorted(self._ends.items())]

    def take(self, tick: Tick | None) -> None:
        """Record the ends of the jobs at a boundary; a deferred job ends with its last trial.

        Raises:
            UsageError: if no other tick follows.
            WorldDiverged: if a resumed world waits for a job that the journal does not have.
        """
        if tick is None:
            raise UsageError(
                f"run {self._loop.ledger.run!r} is over at tick {self._loop.tick}, before {len(self._pending)} of the "
                "jobs to decide have ended: a host that resumes it for further ticks finds their ends in `tick.ended`"
            )
        for end in tick.ended:
            position = self._pending.pop(end.id, None)
            if position is None:
                continue
            if end.next:
                self._pending[end.next] = position
            else:
                self._ends[position] = end
        if self._repeats and not tick.replayed:
            self._repeats = False
            self._check_open()

    def _check_open(self) -> None:
        loop, state = self._loop, self._loop.state
        deferred = {(item.at, item.request.kind, item.request.owner, item.request.trial) for item in state.deferred}
        for name in self._pending:
            _, key = split_job_id(name)
            if key not in state.open and (key.tick, key.kind, key.owner, key.trial) not in deferred:
                raise WorldDiverged(
                    f"tick {key.tick}: the resumed world decides on job {name}, which the journal does not have. "
                    f"{remedy(loop.tick, loop.checkpoint_tick)}"
                )


def _params_of(params: Params, owner: str) -> Mapping[str, Any] | None:
    """Return the parameters of an owner's job.

    Raises:
        InputError: if the host's function fails.
    """
    if not callable(params):
        return params
    result = captured(params, owner)
    if type(result) is Raised:
        raise InputError(
            f"params({owner!a}) raised {type(result.error).__name__}: {reason(result.error)}"
        ) from result.error
    return result
