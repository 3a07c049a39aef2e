"""The tick loop: the host's view of a run.

    for tick in loop:                                    # what is due has been applied
        for change in tick.applied: town.apply(change)
        for owner, entry in town.step(tick.number, tick.minute): loop.observe(owner, entry)
        loop.request("summarise", "agent:isabella", numbers=(3, 4, 5))
        loop.checkpoint(town.dump())

The body of the loop is the world's turn. When it ends, the whole tick (ends, effects, observations, admissions,
checkpoint) is committed in one step, and hints for the new jobs are published. A body ends when the next tick is asked
for, or when the loop is left (see `scheduler.tick.leaving`). A resumed loop first hands over again, marked `replayed`,
the ticks since the last checkpoint; the world must do then what it did before.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Literal, NamedTuple

import structlog
from redis.exceptions import RedisError

from memory.errors import CogitateError
from memory.profile import Profile
from scheduler.budget.budget import BudgetView
from scheduler.budget.rules import Rules
from scheduler.config.facts import Facts
from scheduler.engine.engine import RunEngine
from scheduler.engine.turn import FinishedTick, WorldTurn
from scheduler.journal.exported import ExportedJournal
from scheduler.journal.history import Change, changes_of, observed_again, read_journal
from scheduler.journal.lines import reason_of
from scheduler.ledger.answers import DueJob
from scheduler.ledger.errors import LedgerError
from scheduler.ledger.ledger import Apply, HostLedger
from scheduler.tick.commit import Committer, HostPace
from scheduler.tick.restore import restore
from scheduler.tick.result_collector import Publish, ResultCollector
from scheduler.tick.trimming import JournalTrimmer
from scheduler.tick.world_calls import WorldCalls

log = structlog.get_logger()

TIMED_TICKS = 14_400  # ten days of a run whose ticks are minutes


class WorldDiverged(CogitateError, RuntimeError):
    """A resumed world repeated its last tick differently, so it is not deterministic from its checkpoint.

    Put all of the world's state, random generators included, into the checkpoint, and restore it before the loop.
    """


class Tick(NamedTuple):
    """One tick as the world sees it."""

    number: int
    minute: int  # game time, total minutes
    applied: tuple[Change, ...]
    replayed: bool  # handed over again on resume: already committed


class _Open(NamedTuple):
    """The tick that is the world's turn."""

    number: int
    seconds: float  # of the host's own work on it so far
    handling: BaseException | None  # what whoever iterates was handling when it began


class TickLoop(WorldCalls):
    """Drives one run. Use it as an iterator; what the world does in its turn is said through the methods."""

    def __init__(
        self,
        ledger: HostLedger,
        *,
        owners: Mapping[str, Profile],
        facts: Facts,
        rules: Rules,
        view: BudgetView,
        publish: Publish,
        apply: Apply = "due",
        wait: float = 60.0,
        tick_rate: float | None = None,
        lease: float = 15.0,
        hint_interval: float = 1.0,
        ticks: int | None = None,
        workers_left: Callable[[], bool] | None = None,
        journal_keep: int | None = None,
        exported: ExportedJournal | None = None,
    ) -> None:
        super().__init__(RunEngine(run=ledger.run, rules=rules, facts=facts, view=view))
        self.ledger = ledger
        self._apply: Apply = apply
        self._tick_rate = tick_rate
        self._last = self.mind.due.last = ticks
        self._waiting = ResultCollector(
            ledger, publish, apply=apply, wait=wait, lease=lease, hint_interval=hint_interval, workers_left=workers_left
        )  # fmt: skip
        self._rows: list[DueJob] | None = None
        self._refused: set[str] = set()  # kinds that were told of, as their effects could not be used
        self._open: _Open | None = None  # the tick whose body has not ended yet
        self._ticks = self._run()  # one for all who iterate: who breaks off goes on where he was
        self._closed = False
        self._left = False  # how this host left the run has been said
        self._lag = 0  # ticks behind the schedule of a paced run
        self.stopping = False  # the present tick is the last one of this host
        self.ended: Counter[tuple[str, str, str]] = Counter()  # kind, source, reason of jobs that ended in this process
        self.watchers: list[Callable[[int, FinishedTick, float], None]] = []  # told each committed tick and its seconds
        # What each of the newest ticks cost the host, waiting and the world's turn excluded.
        self.tick_seconds: deque[float] = deque(maxlen=TIMED_TICKS)

        state = restore(ledger, self.mind)
        for one in self.mind.left_out:
            log.warning("memory.unreadable", run=ledger.run, owner=one.owner, number=one.number, why=one.why)
        self.tick = state.tick  # the last tick that is committed
        self.present = state.tick + 1  # the tick whose turn it is
        self.digest, self.chain = state.digest, state.chain
        self.restored = state.checkpoint  # what the world gave to its last checkpoint, or None
        self._checkpoint_tick = state.checkpoint_tick  # of the world's last one
        self._committer = Committer(ledger, self.mind, state.windows, state.seals)
        self._trimmer = (
            JournalTrimmer(ledger, self.mind, keep=journal_keep, exported=exported) if journal_keep else None
        )
        if self.tick == 0:
            for owner, profile in owners.items():
                self._join(owner, profile)

    # -- the loop ------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Tick]:
        """Hand over the ticks. Whoever breaks off and iterates again goes on with the next one.

        Raises:
            LedgerError: when an error has ended this loop, or it is closed.
        """
        self._check_process()
        if self.failed or self._closed:
            ended = "is closed" if self._closed else "was ended by an error"
            raise LedgerError(f"run {self.ledger.run!r}: this loop {ended}; open the run again with resume=True")
        return self._ticks

    def _run(self) -> Generator[Tick, None, None]:
        self._check_process()
        yield from self._redeliver()
        started = time.monotonic()
        first = self.tick
        steering = self.mind.steering
        while not self._leaving and (self._last is None or self.tick < self._last):
            if steering.mode == "paused":
                log.warning("run.paused", run=self.ledger.run, tick=self.tick)
                self._waiting.pause(self.tick + 1, lambda: self.stopping)
                started, first = time.monotonic(), self.tick  # what was missed meanwhile is not made up for
                if self.stopping:
                    break
            if self._tick_rate is not None:
                ahead = started + (self.tick - first) / self._tick_rate - time.monotonic()
                self._lag = max(0, int(-ahead * self._tick_rate))
                if ahead > 0:
                    time.sleep(ahead)  # the pace that the host asked for
            self._trim()
            number = self.tick + 1
            rows = self._waiting.gather(number, self._rows, self.mind.open)
            began = time.perf_counter()
            offers, self._waiting.offers = self._waiting.offers, ()
            learned, self._waiting.learned = self._waiting.learned, ()
            timed, self._waiting.timed = self._waiting.timed, ()
            retries, self._waiting.retries = self._waiting.retries, ()
            changes = self.mind.begin(number, rows, offers, learned, timed, retries)
            self.present = number
            self._open = _Open(number, time.perf_counter() - began, sys.exception())
            self._body = True
            yield Tick(number, self.mind.facts.minute(number), tuple(changes), False)
            self._check_process()
            self._commit()
        self._finish()

    def _commit(self) -> None:
        """Commit the tick whose body has ended."""
        if self._open is None:
            return
        (number, spent, _), self._open, self._body = self._open, None, False
        began = time.perf_counter()
        outcome = self._close(number)
        self.tick_seconds.append(spent + time.perf_counter() - began)
        for watch in self.watchers:
            watch(number, outcome, self.tick_seconds[-1])

    def _finish(self) -> None:
        status = self.ending
        self.ledger.finish(status)
        self._left = True
        log.info("run.left", run=self.ledger.run, status=status, tick=self.tick, digest=self.digest)

    @property
    def ending(self) -> Literal["finished", "stopped", "cancelled"]:
        """How this host leaves the run where it stands."""
        if self.mind.steering.mode == "cancelled":
            return "cancelled"
        return "finished" if self._last is not None and self.tick >= self._last else "stopped"

    @property
    def failed(self) -> bool:
        """Whether an error of its own has ended the loop."""
        return not self._left and inspect.getgeneratorstate(self._ticks) == inspect.GEN_CLOSED

    def _trim(self) -> None:
        if self._trimmer is None or self.ledger.away or self.mind.left_out:  # a checkpoint would lack them too soon
            return
        try:
            self.chain = self._trimmer.trim(
                self.tick, self.digest, self.chain, self._checkpoint_tick, self._committer.windows
            )
        except RedisError as error:
            if self.ledger.outage is None:
                raise
            self.ledger.outage.missed(error)  # what is due is done after a later tick

    def _pace(self) -> HostPace:
        return HostPace(self._lag, round(1_000_000 * self.tick_seconds[-1]) if self.tick_seconds else 0)

    @property
    def _leaving(self) -> bool:
        return self.stopping or self.mind.steering.over

    def stop(self) -> None:
        """Leave the run after the present tick, to be resumed; workers stop claiming its jobs."""
        self._check_process()
        self.stopping = True

    def _redeliver(self) -> Iterator[Tick]:
        """Hand over again the ticks after the world's checkpoint."""
        self._redelivering = True  # owners that have left since may still be seen
        for line in read_journal(self.ledger.client, self.ledger.prefix, self._checkpoint_tick + 1, self.tick):
            core = line.core
            self.present = core.tick
            self._body = True
            yield Tick(core.tick, core.minute, tuple(changes_of(line)), True)
            self._check_process()
            self._body = False
            turn, self._turn, self._checkpoint = self._turn, WorldTurn(), None
            if not observed_again(turn.observed, core):
                known = len(core.observed) + len(core.waiting) + len(core.repeated)
                raise WorldDiverged(
                    f"tick {core.tick}: the resumed world observed {len(turn.observed)} entries that differ from the "
                    f"{known} in the journal; it must be deterministic from its last checkpoint"
                )
        self._redelivering = False
        if self.tick:
            self.mind.rewake(self.tick)

    def _close(self, number: int) -> FinishedTick:
        turn, self._turn = self._turn, WorldTurn()
        if not self.ledger.away:  # otherwise what operators ask for is applied once it is back
            turn.controls, self._waiting.asked = self._waiting.asked, ()
        self.mind.away = self.ledger.away
        outcome = self.mind.end(number, turn)
        self.ended.update(
            (ended.key.kind, note.source, ended.reason)
            for ended, note in zip(outcome.core.ended, outcome.notes, strict=True)
        )
        self.ended.update(
            (decided.key.kind, "none", reason_of(decided.refused))
            for decided in outcome.core.decided
            if decided.decision in ("deferred", "dropped")
        )
        for loss in outcome.losses():
            log.warning(loss.name, run=self.ledger.run, tick=number, owner=loss.owner, amount=loss.amount)
        for note in outcome.notes:
            if note.refusal and note.key.kind not in self._refused:
                self._refused.add(note.key.kind)
                log.warning(
                    "job.effects_refused", run=self.ledger.run, tick=number, kind=note.key.kind, owner=note.key.owner,
                    why=note.refusal,
                )  # fmt: skip
        commit = self._committer.commit(number, outcome, self._checkpoint, self.digest, self.chain, self._pace())
        advanced = self.ledger.advance(commit, self._apply)
        if self._checkpoint is not None:
            self._checkpoint, self._checkpoint_tick = None, number
        self.tick, self.digest, self.chain = number, commit.digest, commit.chain
        self._rows = advanced.rows if advanced is not None else None
        if advanced is not None:
            self._committer.windows.difference_update(advanced.deleted)
            self._waiting.asked, self._waiting.offers = advanced.asked, advanced.offers
            self._waiting.learned = advanced.learned
            self._waiting.timed, self._waiting.retries = advanced.timed, advanced.retries
        jobs = [item.job for item in outcome.opened if item.admitted]
        if jobs and not self.ledger.away:  # its broker is away with it; hints are repeated
            self._waiting.hint(jobs)
        return outcome
