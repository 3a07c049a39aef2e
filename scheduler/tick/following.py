"""Give a fork's boundaries the inputs of its source as long as the two runs are equal.

Each boundary gets the input of the source's boundary from the source's line: results, late answers, final usage, times
of answers, and operators' requests. No worker runs and nothing is spent; admission's view counts the usage of the
source's jobs. The digests are compared at every tick. Up to the fork's tick they must be equal. From the first
difference after it on, the fork's jobs go to workers, together with their outcomes in the source: a worker reuses an
outcome if the job's inputs are the same (`cogitate.scheduler.tick.source_outcomes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import structlog

from cogitate.scheduler.budget.admission import AWAY
from cogitate.scheduler.config.controls import ControlRequest
from cogitate.scheduler.journal.changes import Conditions, Origin
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.journal.origin import SourceJournal, origin_of
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.ledger import Apply, HostLedger, Write
from cogitate.scheduler.ledger.step_replies import BoundaryInput
from cogitate.scheduler.ledger.streams import chunked
from cogitate.scheduler.tick.pace import Pace
from cogitate.scheduler.tick.source_outcomes import LaterOutcomes, due_job, ends_of, late_answer, usage_of

BY = "fork"  # the operator's name in a fork's changes
LOOKS_EVERY = 64  # ticks after which the host checks the ledger for the replies to commits and for requests to the fork
TOGETHER = 16  # ticks that one step commits while only the source determines the next boundary

log = structlog.get_logger()


class Following:
    """Follows the source of a fork; has no effect in any other run.

    Args:
        await_workers: waits for the workers that the run needs once it no longer repeats its source.
    """

    def __init__(
        self, ledger: HostLedger, apply: Apply, pace: Pace | None, await_workers: Callable[[], None] = lambda: None
    ) -> None:
        self._ledger = ledger
        self._apply: Apply = apply
        self._pace = pace
        self._await_workers = await_workers
        self._was_away = False
        self._origin = origin = origin_of(ledger.store)
        follows = origin is not None and ledger.store.field("state", "parted") is None
        self._source = (origin, SourceJournal(ledger.store)) if origin is not None and follows else None
        if origin is not None and self._source is not None and self._source[1].last < origin.last:
            raise LedgerError(
                f"run {ledger.run!r} is an incomplete fork of {origin.run!r}: delete it, and fork that run again"
            )

    @property
    def repeats(self) -> bool:
        """Return whether this run is a fork that still repeats its source; repeated ticks ignore the pace."""
        return self._source is not None

    @property
    def together(self) -> int:
        """Return how many ticks one step commits."""
        return TOGETHER if self.repeats else 1

    @property
    def away(self) -> bool:
        """Return whether the ledger counts as away at this tick; a repeated tick follows the source in this too."""
        return self._was_away if self.repeats else self._ledger.away

    def runs_ahead(self, tick: int, digest: str) -> bool:
        """Return whether a boundary needs nothing from the ledger, so commits may still be in flight.

        Args:
            digest: of this run, after the previous tick.
        """
        if self._source is None or tick % LOOKS_EVERY == 0:
            return False
        origin, journal = self._source
        line = journal.line(tick)
        if line is None or digest != journal.digest(tick - 1):
            return False
        return not line.notes.answers and tick != origin.tick + 1

    def boundary(self, tick: int, digest: str, known: BoundaryInput | None) -> BoundaryInput | None:
        """Return the source's input for a boundary; None: this run collects its own.

        Args:
            digest: of this run, after the previous tick.
            known: input for the boundary from the last commit's reply.

        Raises:
            LedgerError: if the fork differs from its source at a tick that it must repeat.
            JournalError: if the copy of the source's journal was altered.
        """
        if self._source is None:
            return None
        origin, journal = self._source
        if tick - 1 <= origin.tick:
            self._check(origin, journal, tick - 1, digest)
        elif tick - 1 <= journal.last and digest != journal.digest(tick - 1):
            self._leave(origin, journal, tick - 1, tick - 2)
            return None
        line = journal.line(tick)
        if line is None:
            self._end(tick - 1)
            return None
        self._was_away = any(decided.refused == AWAY for decided in line.core.decided)
        return BoundaryInput(
            rows=[due_job(ended, note) for ended, note in ends_of(line)],
            controls=self._controls(tick, line, origin, known),
            timed=line.notes.timed,
            overdue=line.notes.overdue,
            shown={"offered": [*_offers(line)], "corrections": [*_corrections(line)]},
        )

    def conditions_after(self, tick: int) -> Conditions | None:
        """Return the settings and templates that begin after a tick; None: the earlier ones stay in force."""
        return self._origin.conditions_after(tick) if self._origin is not None and tick else None

    def begin(self, conditions: Conditions, tick: int, digest: str) -> None:
        """Store the settings in force after a tick, and leave the source if this fork itself changes them.

        Args:
            digest: of this run, after the tick.

        Raises:
            LedgerError: if the fork already differs from its source.
        """
        kept = Write("HSET", "state", ("settings", msgspec.json.encode(conditions.settings)))
        origin, journal = self._source or (None, None)
        if origin is None or journal is None or not (origin.parts and tick == origin.tick):
            self._ledger.carry_out(kept)
            return
        self._check(origin, journal, tick, digest)
        asked = [msgspec.json.encode(request) for request in _requests(origin)]
        self._leave(origin, journal, tick, tick, kept, *chunked("LPUSH", "controls", asked[::-1], 1))

    def _end(self, tick: int, *writes: Write) -> None:
        """Continue without the source from the next tick on."""
        self._source = None
        gone = Write("HSET", "state", ("parted", tick)), Write("DEL", "origin_journal", ())
        self._ledger.carry_out(*writes, *gone)
        self._await_workers()
        if self._pace is not None:
            self._pace.begin(tick)

    def _check(self, origin: Origin, journal: SourceJournal, tick: int, digest: str) -> None:
        """Check that a repeated tick equals the source's.

        Raises:
            LedgerError: if it does not.
        """
        if digest != journal.digest(tick):
            raise LedgerError(
                f"run {self._ledger.run!r}, tick {tick}: this host acted differently from run {origin.run!r}, "
                f"which it repeats up to tick {origin.tick}; give the fork the source's owners, arguments and "
                "world, and make your changes only after that tick"
            )

    def _leave(self, origin: Origin, journal: SourceJournal, tick: int, equal: int, *writes: Write) -> None:
        """Continue without the source, and store the outcomes of its later jobs for workers.

        Args:
            equal: the last tick after which the runs were equal.
        """
        outcomes = LaterOutcomes(journal, tick, equal)
        for write in chunked("HSET", "origin_outcomes", outcomes.fields(), 2):
            self._ledger.carry_out(write)
        self._end(tick, *writes, *outcomes.writes(self._ledger.store))
        log.info("fork.parted", run=self._ledger.run, source=origin.run, tick=tick)

    def _controls(
        self, tick: int, line: ReadLine, origin: Origin, known: BoundaryInput | None
    ) -> list[ControlRequest | None]:
        """Return the operators' requests: the source's and, after the fork's tick, those to the fork."""
        expected = [ControlRequest(old.id, old.control, old.by, old.reason) for old in line.notes.answers]
        if tick == origin.tick + 1:
            expected += _requests(origin)
        if not expected and tick % LOOKS_EVERY:
            return []
        shown = known.controls if known is not None and not expected else self._look(tick)
        listed = {request.id for request in shown if request is not None}
        while missing := [request for request in expected if request.id not in listed]:
            first = tuple(msgspec.json.encode(request) for request in reversed(missing))
            self._ledger.carry_out(Write("LPUSH", "controls", first))
            shown = self._look(tick)
            listed = {request.id for request in shown if request is not None}
        return list(shown if tick > origin.tick else shown[: len(expected)])

    def _look(self, tick: int) -> Sequence[ControlRequest | None]:
        """Return the requests in the ledger once it answers."""
        while (collected := self._ledger.collect(tick, self._apply)) is None:
            if self._ledger.outage is not None:
                self._ledger.outage.settle()
        return collected.boundary.controls


def _requests(origin: Origin) -> list[ControlRequest]:
    """Return the requests among a fork's own changes."""
    return [ControlRequest(f"{BY}-{number}", change, BY) for number, change in enumerate(origin.requests)]


def _offers(line: ReadLine) -> Iterator[bytes]:
    """Yield alternating keys and late answers, in the form of the ledger's replies."""
    for ended, note in line.later_ends:
        yield ended.key.text().encode()
        yield msgspec.json.encode(late_answer(ended, note))


def _corrections(line: ReadLine) -> Iterator[bytes]:
    """Yield alternating keys and final usage, in the form of the ledger's replies."""
    for correction in line.notes.corrected:
        yield correction.key.text().encode()
        yield usage_of(correction)
