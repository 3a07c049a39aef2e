"""Commit finished ticks.

A commit may be in flight while the host continues; the host reads the reply when a later tick needs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from redis.exceptions import RedisError

from cogitate.memory.clock import DAY, day_of
from cogitate.scheduler.config.facts import SCHEMA, Facts
from cogitate.scheduler.engine.part import Part
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.lines import write_line
from cogitate.scheduler.journal.origin import origin_of
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.ledger import Apply, Commit, HostLedger, Write
from cogitate.scheduler.ledger.step_replies import Advanced, BoundaryInput
from cogitate.scheduler.ledger.streams import chunked, stream_writes, world_writes
from cogitate.scheduler.tick.figure_history import FigureHistory
from cogitate.scheduler.tick.restore import Restored
from cogitate.scheduler.tick.result_collector import ResultCollector
from cogitate.tasks.job import Job

T = TypeVar("T")


class SendCommit(Protocol):
    """A way to execute a commit. The host must not use its ledger until it has the reply."""

    def __call__(self, commit: Callable[[], T], /) -> Future[T]:
        """Begin a commit, and return a future of its reply or its error."""


def commit_at_once(commit: Callable[[], T], /) -> Future[T]:
    """Commit while the host waits; an error is raised here."""
    reply: Future[T] = Future()
    reply.set_result(commit())
    return reply


class CommitThread:
    """A thread that executes the commits of one host, one after the other, while the host does other work.

    It is a daemon thread, unlike those of an executor, so a process that ends does not wait for a server that is away.
    """

    def __init__(self) -> None:
        self._sent: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        Thread(target=self._live, name="commit", daemon=True).start()

    def __call__(self, commit: Callable[[], T], /) -> Future[T]:
        """Begin a commit, and return while it is in flight."""
        reply: Future[T] = Future()
        self._sent.put((commit, reply))
        return reply

    def close(self) -> None:
        """End the thread after its pending commits."""
        self._sent.put(None)

    def _live(self) -> None:
        while (sent := self._sent.get()) is not None:
            commit, reply = sent
            try:
                reply.set_result(commit())
            except BaseException as error:  # the reader of the reply raises it
                reply.set_exception(error)


KEPT_DAYS = 7  # days after which a day's accounts are deleted; the journal keeps each job's cost


class Position(NamedTuple):
    """The position of a run after a commit."""

    tick: int
    digest: str
    chain: str
    checkpoint_tick: int  # of the world's last checkpoint


class _Step(NamedTuple):
    """The ticks that one step commits."""

    before: Position
    finished: tuple[FinishedTick, ...]
    commits: tuple[Commit, ...]
    jobs: tuple[Job, ...]  # jobs to hint after the commit


class _Sent(NamedTuple):
    """A sent step whose reply has not been read yet."""

    reply: Future[Advanced | None]
    step: _Step


class Committer:
    """Commits a run's finished ticks; some commits may be in flight.

    Args:
        restored: the position of the run.
        collector: publishes hints for new jobs once the ledger has them.
    """

    def __init__(
        self,
        ledger: HostLedger,
        state: RunState,
        parts: Sequence[Part],
        restored: Restored,
        *,
        apply: Apply,
        send: SendCommit,
        collector: ResultCollector,
    ) -> None:
        self._ledger = ledger
        self._state = state
        self._parts = parts
        self._seals = restored.seals
        self._apply: Apply = apply
        self._collector = collector
        self._history = FigureHistory.load(ledger.store, state.facts.minute(restored.tick))
        self._origin = origin_of(ledger.store) if restored.tick == 0 else None
        self._loop_written = b""
        self._sent: deque[_Sent] = deque()  # steps whose replies have not been read, in order
        self._held: _Step | None = None  # the next step, not sent yet
        self.send_commit = send
        self.windows = restored.windows  # windows that exist in the ledger
        self.position = Position(restored.tick, restored.digest, restored.chain, restored.checkpoint_tick)
        self.next: BoundaryInput | None = None  # of the next tick, from the last commit's reply

    def send(
        self,
        finished: FinishedTick,
        checkpoint: bytes | None,
        lag: int,
        host_us: int,
        posted: str = "",
        *,
        together: int = 1,
    ) -> None:
        """Commit a finished tick, in one step with earlier ticks that were held back.

        Args:
            checkpoint: the world's state, if it gave one.
            lag: ticks by which a paced host is behind its schedule, for monitoring.
            host_us: microseconds of the host's own work at the previous tick, for monitoring.
            posted: digest of the message in which the host reported its turn.
            together: hold ticks back until there are so many of them, or a reply is read.
        """
        before, number = self.position, finished.core.tick
        commit = self._commit(finished, checkpoint, lag, host_us, posted)
        jobs = self._collector.to_hint([item.job for item in finished.opened if item.admitted], number)
        held = self._held or _Step(before, (), (), ())
        self._held = held._replace(
            finished=(*held.finished, finished), commits=(*held.commits, commit), jobs=(*held.jobs, *jobs)
        )
        at = before.checkpoint_tick if checkpoint is None else number
        self.position = Position(number, commit.digest, commit.chain, at)
        if len(self._held.commits) >= together:
            self._send_held()

    def _send_held(self) -> None:
        if (step := self._held) is not None:
            self._held = None
            self._sent.append(_Sent(self.send_commit(partial(self._advance, step)), step))

    def _advance(self, step: _Step) -> Advanced | None:
        *before, last = step.commits
        advanced = self._ledger.advance(last, self._apply, *([before] if before else ()))
        if step.jobs and not self._ledger.away:  # the broker is away with the ledger; the collector repeats hints later
            self._collector.hint(step.jobs)
        return advanced

    def read_reply(self) -> Sequence[FinishedTick]:
        """Wait for the next reply, and return the committed ticks; none if all replies have been read.

        Raises:
            Fenced, LedgerUnavailable: if the ticks were not committed; the run is where it was before them.
        """
        self._send_held()
        if not self._sent:
            return ()
        sent = self._sent.popleft()
        try:
            advanced = sent.reply.result()
        except Exception:  # after any error, neither these ticks nor later ones are committed
            self._sent.clear()
            self.position = sent.step.before
            raise
        self.next = advanced.boundary if advanced is not None else None
        if advanced is not None:
            self.windows.difference_update(advanced.deleted)
        return sent.step.finished

    def take_reply(self) -> Future[Advanced | None] | None:
        """Return the reply to the last step in flight, for a host that leaves after an error."""
        with suppress(RedisError, LedgerError):  # this error would hide the first one
            self._send_held()
        last = self._sent[-1].reply if self._sent else None
        self._sent.clear()
        return last

    def _commit(self, outcome: FinishedTick, checkpoint: bytes | None, lag: int, host_us: int, posted: str) -> Commit:
        state, core, number = self._state, outcome.core, outcome.core.tick
        writes = stream_writes(outcome.streams)
        for part in self._parts:
            writes += part.take_writes()
        self.windows |= {cell.window for item in outcome.opened for cell in item.cells}
        named = {key.tick for key in state.open}
        windows = [
            (window, *span)
            for window in sorted(self.windows)
            if (span := ticks_of_ended_window(state.facts, window, number, named))
        ]
        forgotten = [field for window, *_ in windows for field in state.view.forget(window)]
        view = state.view.take_changes()
        writes += chunked("HSET", "view", [part for field in view for part in field], 2)
        writes += chunked("HDEL", "view", list(forgotten))
        run_changed = core.facts is not None or bool(core.joined or core.left or core.profiled)
        writes += self._seals.take_writes(state, outcome.streams, number, run_changed=run_changed)
        writes.append(Write("HSET", "state", ("lag", lag, "host_us", host_us)))
        kept = state.loop_state()
        if kept != self._loop_written:
            writes.append(Write("HSET", "state", ("loop", kept)))
            self._loop_written = kept
        if checkpoint is not None:
            writes += world_writes(number, checkpoint)
        notes = msgspec.structs.replace(
            outcome.notes,
            epoch=self._ledger.epoch,
            origin=self._origin if number == 1 else None,
            opened=tuple(item.grant for item in outcome.opened if item.grant is not None),
            answers=state.steering.take_answers(),
            warnings=dict(sorted(state.warnings.items())),
            view=tuple(view),
            posted=posted,
        )
        state.warnings.clear()
        alive = self._ledger.workers_alive() if self._ledger.workers_alive is not None else None
        writes += self._history.take_writes(core, notes, state, host_us, alive)
        line, digest, chain = write_line(core, notes, self.position.digest, self.position.chain, SCHEMA)
        return Commit(
            tick=number,
            line=line,
            digest=digest,
            chain=chain,
            records=[records for part in self._parts if (records := part.take_records()) is not None],
            closed=[ended.key for ended in core.ended],
            windows=windows,
            writes=writes,
        )


def ticks_of_ended_window(facts: Facts, window: str, number: int, named: Collection[int]) -> tuple[int, int] | None:
    """Return the first and last tick whose jobs may name a window to delete; None while the window must stay.

    A tick's window is deleted after the tick, a day's some days later, the run's never. The ledger keeps a window while
    an unsettled attempt names it.

    Args:
        named: admission ticks of open jobs.
    """
    period, _, index = window.partition(":")
    if period == "tick":
        first = last = int(index)
        kept_until = first
    elif period == "day" and int(index) + KEPT_DAYS < day_of(facts.minute(number)):
        first = facts.clock.ticks_until(int(index) * DAY - facts.start_minute)
        last = facts.clock.ticks_until((int(index) + 1) * DAY - facts.start_minute) - 1
        kept_until = last
    else:
        return None
    if kept_until >= number or any(first <= tick <= last for tick in named):
        return None
    return first, last
