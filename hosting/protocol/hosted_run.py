"""One run that a host has open: each tick is taken once, in order, however often it is posted."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from cogitate.hosting.protocol.answers import Memories, Opened, Ticked, applied, ends, ticked
from cogitate.hosting.protocol.messages import Turn
from cogitate.hosting.protocol.posted_loop import PostedLoop
from cogitate.hosting.protocol.questions import Question
from cogitate.hosting.protocol.refusals import Refusal, another_turn, not_open, out_of_order
from cogitate.memory.errors import InputError
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.tasks.job import JobKey, job_id


class _UnderWay(NamedTuple):
    tick: int
    digest: str
    answer: Future[Ticked]


class HostedRun:
    """An open run, with a thread that commits one turn at a time.

    A host that stops waiting loses nothing: when it posts the same turn again, it gets the same answer. The journal
    keeps a digest of each turn with its tick, so this holds after a restart as well.
    """

    def __init__(self, loop: PostedLoop, host: str, opened: str) -> None:
        self.loop = loop
        self.host = host
        self.opened = opened  # digest of the message that opened the run
        self.watchers: list[Callable[[], None]] = []  # called in any thread after each commit, and on close
        self.closed = False
        self.failed = False  # an error ended the loop
        self._lock = threading.Lock()
        self._under_way: _UnderWay | None = None
        self._newest: tuple[str, Ticked] | None = None  # of the last tick, even while Redis is down
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"posted-{loop.ledger.run}")

    @property
    def name(self) -> str:
        return self.loop.ledger.run

    def post(self, tick: int, turn: Turn) -> Future[Ticked]:
        """Take a turn, and return a future of its answer; a repeated turn gets the answer that it had.

        Raises:
            Refusal: for a tick out of order, or a tick that was posted with another turn.
        """
        digest = turn.digest()
        with self._lock:
            if self.closed:
                raise not_open(self.name)
            if self._under_way is not None and self._under_way.answer.done():
                self._under_way = None
            if self._under_way is not None:
                if (self._under_way.tick, self._under_way.digest) == (tick, digest):
                    return self._under_way.answer
                if self._under_way.tick == tick:
                    raise another_turn_under_way(self.name, tick)
            committed = self.loop.tick
            if self._under_way is not None and tick > committed:
                raise out_of_order(self.name, tick, self._under_way.tick)
            if tick > committed + 1 or tick < 1:
                raise out_of_order(self.name, tick, committed + 1)
            if tick == committed + 1:
                answer = self._thread.submit(self._take, tick, turn, digest)
                self._under_way = _UnderWay(tick, digest, answer)
                return answer
        return self._again(tick, turn, digest, committed)

    def _take(self, tick: int, turn: Turn, digest: str) -> Ticked:
        try:
            opened = self.loop.pass_boundary()
            if opened is None:
                raise over(self.name, self.loop.tick) if self.loop.done else not_open(self.name)  # the run is closing
            taken = self.loop.take_turn(turn, digest)
        except (InputError, Refusal):
            raise
        except Exception:  # any other error ends the run; it is raised on
            self.failed = True
            raise
        answer = Ticked(
            run=self.name,
            tick=tick,
            minute=taken.minute,
            applied=applied(taken.applied),
            ended=ends(self.loop.ends),
            requested=requested(self.name, tick, turn),
            digest=self.loop.digest,
            over=self.loop.done,
        )
        self._newest = digest, answer
        self._tell_watchers()
        return answer

    def _again(self, tick: int, turn: Turn, digest: str, committed: int) -> Future[Ticked]:
        """Return the answer of a committed tick.

        Raises:
            Refusal: when the tick was posted with another turn.
            JournalError: when the journal no longer has the tick.
        """
        answer: Future[Ticked] = Future()
        newest = self._newest
        if newest is not None and newest[1].tick == tick:
            posted, found = newest
        else:
            line = next(iter(self.lines(tick, tick)))
            told = self.told(line).model_copy(update={"requested": requested(self.name, tick, turn)})
            posted, found = line.notes.posted, told
        if posted != digest:
            raise another_turn(self.name, tick, committed + 1)
        answer.set_result(found)
        return answer

    def lines(self, first: int, last: int) -> Iterator[ReadLine]:
        return read_journal(self.loop.ledger.store, first, last)

    def told(self, line: ReadLine) -> Ticked:
        """Build the answer of a committed tick."""
        with self.loop.state.facts.clock.in_force():
            return ticked(self.name, line, over=self.loop.done and line.core.tick == self.loop.tick)

    def answer(self, question: Question) -> Memories:
        """Answer a question to a memory.

        Raises:
            InputError: for an unknown owner, or an invalid question.
        """
        asked = question.root
        found = self.loop.ask_memory(asked)
        return Memories(owner=asked.owner, minute=self.loop.memory(asked.owner).minute, found=found)

    def stand(self) -> Opened:
        """Return the run's position."""
        loop = self.loop
        kept = loop.last_checkpoint
        return Opened(
            run=self.name,
            tick=int(loop.tick),
            next=loop.tick + 1,
            minute=loop.state.facts.minute(loop.boundary),
            seconds_per_tick=loop.state.facts.clock.seconds_per_tick,
            digest=loop.digest,
            over=loop.done,
            owners=loop.present(),
            checkpoint=None if kept is None else kept.decode(),
            checkpoint_tick=loop.checkpoint_tick,
        )

    def _tell_watchers(self) -> None:
        for watch in tuple(self.watchers):
            watch()

    def close(self) -> None:
        """Leave the run, which can be opened again. A turn that still waits for its tick is not taken."""
        with self._lock:
            self.closed = True
        self.loop.interrupt()
        self._thread.shutdown()
        self._tell_watchers()
        self.loop.close(commit=not self.loop.waits_for_turn)


def another_turn_under_way(run: str, tick: int) -> Refusal:
    """Build the refusal of a second turn for a tick in progress."""
    return Refusal(
        409,
        "another_turn",
        f"tick {tick} of run {run!r} is under way with another turn",
        "wait for the answer to that turn, or post the same one again",
        tick,
    )


def over(run: str, tick: int) -> Refusal:
    """Build the refusal of a tick after the last."""
    return Refusal(409, "over", f"run {run!r} is over at tick {tick}", 'open it again with more "ticks" to go on')


def requested(run: str, tick: int, turn: Turn) -> list[str]:
    """Return the ids of the jobs that a turn requests, as `loop.request` returns them."""
    slots: Counter[tuple[str, str]] = Counter()
    ids = []
    for wanted in turn.requests:
        ids.append(job_id(run, JobKey(tick, wanted.kind, wanted.owner, slots[wanted.kind, wanted.owner], 0)))
        slots[wanted.kind, wanted.owner] += 1
    return ids
