"""The loop that drives a run, tick by tick: boundary, the world's turn, commit.

The body of a loop over the ticks is the world's turn. When it ends, the loop commits the whole tick (ends, effects,
observations, admissions, checkpoint) in one step, and publishes hints for the new jobs. A body ends when the host asks
for the next tick, or leaves the loop. A paced host continues while the commit is in flight: it reads the reply before
the next boundary, which raises an error of the commit. A fork that repeats its source reads the replies to several
commits together. A resumed loop first delivers the ticks since the last checkpoint again, marked `replayed`; the world
must then repeat what it did.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from typing import NamedTuple

import structlog

from cogitate.memory.errors import quoted
from cogitate.memory.profile import Profile
from cogitate.memory.routing.routing import Routing
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.controls import ControlRequest
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.engine import RunEngine
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.ends import JobEnd, ends_after_turn
from cogitate.scheduler.journal.exported import ExportedJournal
from cogitate.scheduler.journal.origin import origin_of
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.ledger import Apply, HostLedger
from cogitate.scheduler.ledger.step_replies import BoundaryInput, UnreadableLog
from cogitate.scheduler.tick.arguments import TermsOf
from cogitate.scheduler.tick.commit import Committer, SendCommit, commit_at_once
from cogitate.scheduler.tick.ended_jobs import EndedJobs
from cogitate.scheduler.tick.following import Following
from cogitate.scheduler.tick.garbage import FullCollections
from cogitate.scheduler.tick.pace import Pace, keep
from cogitate.scheduler.tick.restore import Restored, restore
from cogitate.scheduler.tick.result_collector import Publish, ResultCollector
from cogitate.scheduler.tick.run_end import RunEnd, let_go
from cogitate.scheduler.tick.tick_iterator import OneDriver, Tick, ends_before, redeliver
from cogitate.scheduler.tick.trimming import JournalTrimmer
from cogitate.scheduler.tick.world_calls import WorldCalls

log = structlog.get_logger()

TIMED_TICKS = 14_400  # ten days of a run with ticks of a minute

Watcher = Callable[[int, FinishedTick, float], None]  # called after each commit with the tick and its seconds


class _OpenTick(NamedTuple):
    """The tick during the world's turn."""

    number: int
    controls: Sequence[ControlRequest | None]  # operators' requests, which the end of the turn applies
    seconds: float  # of the host's own work on the tick so far
    handling: BaseException | None  # the error that was being handled when the tick began


class RunLoop(RunEnd):
    """Drives one run: takes each tick through its boundary, the world's turn and its commit.

    All iterators share the ticks: a new `for` continues after the last tick. The loop cannot know that the body of its
    last tick has ended, because nothing requests another tick after `break`, a last `next` or the end of a `zip`. So
    `finish` commits the open tick, and `abandon` discards it.
    """

    def __init__(
        self,
        ledger: HostLedger,
        *,
        owners: Mapping[str, Profile],
        facts: Facts,
        rules: Rules,
        view: BudgetView,
        publish: Publish,
        routing: Routing,
        apply: Apply = "due",
        wait: float = 60.0,
        tick_rate: float | None = None,
        lease: float = 15.0,
        hint_interval: float = 1.0,
        ticks: int | None = None,
        workers_left: Callable[[], bool] | None = None,
        journal_keep: int | None = None,
        exported: ExportedJournal | None = None,
        collections: FullCollections | None = None,
        redelivers: bool = True,
        send_commit: SendCommit = commit_at_once,
        watchers: Sequence[Watcher] = (),
        terms_of: TermsOf | None = None,
        await_workers: Callable[[], None] = lambda: None,
    ) -> None:
        self.ledger = ledger
        self.state = RunState(run=ledger.run, rules=rules, facts=facts, view=view)
        self.engine = RunEngine(self.state)
        origin = origin_of(ledger.store)
        self.calls = WorldCalls(self.state, routing, origin.world_changes if origin is not None else ())
        self._terms_of = terms_of
        self._unreadable = UnreadableLog()
        self.pace = Pace(tick_rate, lambda: time.monotonic()) if tick_rate is not None else None
        self._collections = collections if tick_rate is not None else None  # None: Python's own collections
        self.state.due.last = ticks
        self._source = Following(ledger, apply, self.pace, await_workers)
        self.collector = ResultCollector(
            ledger,
            publish,
            apply=apply,
            wait=wait,
            lease=lease,
            hint_interval=hint_interval,
            workers_left=workers_left,
            pace=self.pace,
            awaited=lambda: self.state.latencies.awaited(),
            needs_worker=lambda key: self.engine.needs_worker(key),
            repeats=lambda: self._source.repeats,
        )
        self._open: _OpenTick | None = None  # the tick whose body has not ended yet
        self.failure = ""  # text of the error that ended this loop, with its tick; not the error, which holds frames
        self._redelivers = redelivers
        self._posted = ""
        self.ends: tuple[JobEnd, ...] = ()  # ends of jobs in the newest tick
        self._ends: tuple[JobEnd, ...] = ()  # those that the tick decided after the world's turn
        self.changing = threading.RLock()  # held while memories change, for readers in other threads
        self._interrupted = threading.Event()  # set: no other tick begins
        self.ended = EndedJobs(ledger.run, self.state.has_answered)
        self._watchers = watchers
        # The host's seconds for each of the newest ticks, without waiting and the world's turn.
        self.tick_seconds: deque[float] = deque(maxlen=TIMED_TICKS)

        restored = self._restore()
        self.calls.boundary = restored.tick
        self.restored = restored.checkpoint  # the world's last checkpoint, or None
        self._committer_of: Callable[[Restored], Committer] = lambda restored: Committer(
            ledger, self.state, self.engine.parts, restored, apply=apply, send=send_commit, collector=self.collector
        )
        self._committer = self._committer_of(restored)
        self._trimmer = (
            JournalTrimmer(ledger, self.state, keep=journal_keep, exported=exported) if journal_keep else None
        )
        if self.tick == 0:
            for owner, profile in owners.items():
                self.calls.add_owner(owner, profile)
        self._steps = self._run()
        self.ticks = OneDriver(
            self._steps, lambda: f"run {ledger.run!r}: tick {self.calls.present}" if self.calls.is_open else ""
        )

    def _restore(self) -> Restored:
        restored = restore(self.ledger, self.state, self.engine.parts)
        for entry in self.state.left_out:
            log.warning("memory.unreadable", run=self.ledger.run, owner=entry.owner, number=entry.number, why=entry.why)
        return restored

    @property
    def tick(self) -> int:
        """Return the last committed tick."""
        return self._committer.position.tick

    @property
    def repeats(self) -> bool:
        """Return whether this run is a fork that still repeats its source and so needs no worker."""
        return self._source.repeats

    @property
    def digest(self) -> str:
        return self._committer.position.digest

    @property
    def checkpoint_tick(self) -> int:
        """Return the tick of the world's last checkpoint; 0: none."""
        return self._committer.position.checkpoint_tick

    # -- the ticks -----------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Tick]:
        """Return an iterator over the ticks. A new `for` continues after the last tick.

        Raises:
            LedgerError: if an error has ended this loop, or it is closed.
        """
        self.calls.check_process()
        if self._failed or self._closed:
            ended = "is closed" if self._closed and not self.failure else f"was ended by an error{self.failure}"
            raise LedgerError(f'run {self.ledger.run!r}: this loop {ended}; open the run again with exist="resume"')
        return iter(self.ticks)

    def _run(self) -> Generator[Tick, None, None]:
        self.calls.check_process()
        if self._redelivers:
            yield from redeliver(self.ledger, self.calls, self.state.facts.clock, self.checkpoint_tick, self.tick)
        if self.tick:
            self.state.rewake(self.tick)
            self._ends = ends_before(self.ledger, self.state.facts.clock, self.tick + 1)
        with self._collections or nullcontext():
            yield from self._new_ticks()
        self._leave()

    def _new_ticks(self) -> Generator[Tick, None, None]:
        if self.pace is not None:
            self.pace.begin(self.tick)
        while not (self.stopping or self.done):
            if self.state.steering.mode == "paused" and not self._source.repeats:
                self._read_reply()
                log.warning("run.paused", run=self.ledger.run, tick=self.tick)
                self.collector.pause(self.tick + 1, lambda: self.stopping)
                if self.pace is not None:
                    self.pace.begin(self.tick)  # do not catch up on missed ticks
                self._committer.next = None  # it lacks operators' requests during the pause
                if self.over:
                    break
            self._take_conditions()
            if self.pace is not None and not self._source.repeats:
                self._keep(self.pace)
            tick = self.tick + 1
            if self._trimmer is not None or not self._source.runs_ahead(tick, self.digest):
                self._read_reply()
                self._trim()
            known = self._committer.next
            boundary = self._source.boundary(tick, self.digest, known) or self.collector.gather(
                tick, known, self.state.open
            )
            if self._interrupted.is_set():
                break
            yield self._begin(tick, boundary)
            self.calls.check_process()
            self._commit()

    def _keep(self, pace: Pace) -> None:
        """Wait until the next tick is due."""
        keep(pace, self.tick, time.monotonic, self._interrupted, self._collections, self.engine.work_ahead)

    def _take_conditions(self) -> None:
        """Continue with other settings and templates if they change after the last committed tick.

        The host reads the run back from the ledger, like a host that resumes it with the new settings.
        """
        conditions = self._source.conditions_after(self.tick)
        if conditions is None or self._terms_of is None:
            return
        self._read_reply()
        self._source.begin(conditions, self.tick, self.digest)
        terms = self._terms_of(conditions)
        with self.changing:
            self.state.begin_anew(terms.rules, self.state.facts, terms.view)
            self.engine = RunEngine(self.state)
            restored = self._restore()
            facts = terms.facts(self.state.facts)
            if facts != self.state.facts:
                self.state.facts = facts  # the next tick journals them
            self.state.rewake(self.tick)
        self.calls.routing = terms.routing
        self._committer = self._committer_of(restored)

    def _begin(self, number: int, boundary: BoundaryInput) -> Tick:
        """Pass the boundary of a tick, and give the world its turn."""
        began = time.perf_counter()
        if self.pace is not None:
            self.pace.note(number)
        with self.changing:
            changes = self.engine.begin(number, boundary)
        self._unreadable.warn(self.state.unreadable, run=self.ledger.run, tick=number)
        self._open = _OpenTick(number, boundary.controls, time.perf_counter() - began, sys.exception())
        self.calls.open(number)
        before, self._ends = self._ends, ()
        self.ends = tuple(self.engine.ends())
        return Tick(number, self.state.facts.minute(number), tuple(changes), False, (*before, *self.ends))

    def _commit(self) -> None:
        """Commit the tick whose body has ended."""
        if self._open is None:
            return
        opened, self._open, self.calls.is_open = self._open, None, False
        began = time.perf_counter()
        self._end(opened)
        self.tick_seconds.append(opened.seconds + time.perf_counter() - began)
        if self.over or (self.pace is None and not self._source.repeats):
            self._read_reply()

    def _end(self, opened: _OpenTick) -> None:
        """End a tick and send its commit, which is one step."""
        number, away = opened.number, self._source.away
        turn, checkpoint = self.calls.take()
        controls = () if away else opened.controls  # the ledger returns them again once it is back
        with self.changing:
            finished = self.engine.end(number, turn, controls, away=away)
        self.ended.note(finished)
        with self.state.facts.clock.in_force():
            self._ends = tuple(ends_after_turn(self.ledger.run, finished.core, finished.notes.ended))
        self.ends += self._ends
        lag = 0 if self.pace is None else int(self.pace.behind)
        host_us = round(1_000_000 * self.tick_seconds[-1]) if self.tick_seconds else 0
        together = self._source.together if self._trimmer is None else 1
        self._committer.send(finished, checkpoint, lag, host_us, self._posted, together=together)

    def _read_reply(self) -> None:
        """Wait for all unread replies to commits; raise the first error."""
        while committed := self._committer.read_reply():
            for finished in committed:
                for watch in self._watchers:
                    watch(finished.core.tick, finished, self.tick_seconds[-1])

    @property
    def unexported(self) -> bool:
        """Return whether trimming waits because lines of the journal could not be exported."""
        return self._trimmer is not None and self._trimmer.unexported

    def _trim(self) -> None:
        if self._trimmer is not None:
            chain = self._trimmer.trim_reachable(self._committer.position, self._committer.windows)
            self._committer.position = self._committer.position._replace(chain=chain)

    # -- leaving -------------------------------------------------------------------------------------

    @property
    def body_failed(self) -> bool:
        """Return whether an error from the body of the open tick is being handled now."""
        return self._open is not None and sys.exception() not in (None, self._open.handling)

    def commit(self, posted: str = "") -> None:
        """Commit the open tick now, before the host asks for the next one.

        Args:
            posted: digest of the message in which the host reported its turn, stored with the tick. The answer to the
                message confirms the commit, so the reply is read here.

        Raises:
            Fenced, LedgerUnavailable: if it, or the previous tick, cannot be committed; that ends the loop.
        """
        self.calls.check_process()
        self.calls.is_open, self._posted = False, posted  # also for a replayed tick, which is already committed
        with ExitStack() as undo:
            undo.callback(self.abandon)
            self._commit()
            if posted:
                self._read_reply()
            undo.pop_all()

    def finish(self) -> None:
        """Commit the open tick, whose body has ended, and record that this host has left the run.

        The run can be resumed, unless this was its last tick. After an error of the loop itself, this does
        the same as `abandon`.

        Raises:
            Fenced, LedgerUnavailable: as in a commit.
            LedgerError: if it is called while the loop runs a step, for instance by a signal handler.
        """
        self.calls.check_process()
        if inspect.getgeneratorstate(self._steps) == inspect.GEN_RUNNING:
            raise LedgerError(f"run {self.ledger.run!r}: its loop is running a step; call loop.stop() instead")
        if self._failed:
            self.abandon()
        self._closed = True
        if self._left:
            return
        with ExitStack() as undo:
            undo.callback(self.abandon)
            self._commit()
            self._leave()
            undo.pop_all()
        self._steps.close()

    def abandon(self) -> None:
        """Leave after an error, and discard the open tick.

        Only a ledger that answers soon learns that this host has left. No error is raised.
        """
        if self._left or self.calls.forked:
            return
        error = sys.exception()
        if error is not None and (self._open is None or error is not self._open.handling):
            self.failure = f" in tick {self.tick + 1} ({type(error).__name__}: {quoted(str(error))})"
        self._left, self._closed, self._open, self.calls.is_open = True, True, None, False
        with suppress(ValueError):  # the generator is running a step; the interrupting error ends it
            self._steps.close()
        let_go(self.ledger, self._status, self._committer.take_reply())

    def _leave(self) -> None:
        self._read_reply()
        status = self._status
        self.ledger.finish(status)
        self._left = True
        log.info("run.left", run=self.ledger.run, status=status, tick=self.tick, digest=self.digest)

    @property
    def _failed(self) -> bool:
        """Return whether an error of the loop itself has ended it."""
        return not self._left and inspect.getgeneratorstate(self._steps) == inspect.GEN_CLOSED
