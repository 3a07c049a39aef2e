"""A run that a host has open: a loop that takes posted turns in order, each once, however often the host posts it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from cogitate.hosting.opening import World
from cogitate.hosting.protocol.answers import (
    Memories,
    Opened,
    Refusal,
    Ticked,
    another_turn,
    applied,
    ends,
    not_open,
    out_of_order,
    ticked,
)
from cogitate.hosting.protocol.messages import Turn, effect_of
from cogitate.hosting.protocol.questions import Question
from cogitate.hosting.services import Processes
from cogitate.hosting.tick_handover import one_by_one
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.errors import InputError
from cogitate.scheduler.budget.briefs import brief_keys, check_brief
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.ends import JobEnd
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.tasks.job import JobKey, job_id
from cogitate.tasks.registry import kinds


class PostedLoop(TickLoop):
    """A tick loop for a host that posts its turns, and posts a turn again if it missed the answer.

    A resumed run repeats no tick: a host that posts a committed tick again gets its answer from the journal.
    """

    def __init__(self, *, processes: Processes | None = None, **given: Any) -> None:
        self._processes = processes  # shared with other runs
        self._briefs: Mapping[str, Mapping[str, object]] = {}
        world: World = "present" if given.get("exist") == "resume" else "repeat"
        super().__init__(**given, brief=self._brief_of, world=world, log_warnings=False)
        self._known = brief_keys(kinds())
        self._next_tick = one_by_one(self._loop, lambda: iter(self))
        self._passed: Tick | None = None  # the tick whose boundary has passed and whose turn has not been posted
        self.last_checkpoint = self.restored

    def _open_processes(self, settings: Settings) -> Processes:
        if self._processes is None:
            return super()._open_processes(settings)
        shared = self._processes.settings
        settings = settings.model_copy(update={"redis_url": shared.redis_url, "redis_urls": shared.redis_urls})
        client = connect(settings.state_url(), settings.socket_timeout, retries=0)
        self._resources.callback(client.close)
        return self._processes._replace(client=client, settings=settings)

    @property
    def done(self) -> bool:
        """Return whether the run has no further ticks, for this or any other host."""
        return self._loop.done

    @property
    def waits_for_turn(self) -> bool:
        """Return whether a boundary has passed and the host has not posted its turn."""
        return self._passed is not None

    @property
    def boundary(self) -> int:
        """The tick of the last boundary, which the memories reflect."""
        return self._loop.calls.boundary

    def present(self) -> list[str]:
        """Return the present owners, including those that join with the next tick."""
        return sorted({*self.state.profiles, *self._loop.calls.mark().turn.joins})

    def pass_boundary(self) -> Tick | None:
        """Wait for the next tick and pass its boundary, if it has not passed; return None after the last tick."""
        if self._passed is None:
            self._passed = self._next_tick()
        return self._passed

    @property
    def ends(self) -> Sequence[JobEnd]:
        """The ends of the jobs that ended with the newest tick."""
        return self._loop.ends

    def take_turn(self, turn: Turn, digest: str) -> Tick:
        """Apply the turn that the host posted for the tick whose boundary has passed, and commit the tick.

        Raises:
            InputError: for an invalid part; then no part of the turn takes effect.
            Fenced, LedgerUnavailable: when the tick cannot be committed, which ends the loop.
        """
        tick = self._passed
        assert tick is not None, "no boundary was passed"
        mark = self._loop.calls.mark()
        try:
            self._make_calls(turn)
        except InputError:
            self._loop.calls.back_to(mark)
            raise
        self._passed = None
        self._loop.commit(digest)
        if turn.checkpoint is not None:
            self.last_checkpoint = turn.checkpoint.encode()
        return tick

    def interrupt(self) -> None:
        """End another thread's wait for the next tick; the tick does not begin."""
        self._loop.interrupt()

    def ask_memory(self, question: Any) -> Any:
        """Answer a question about a memory; wait while memories change."""
        with self._loop.changing:
            return question.found(self.memory(question.owner))

    def _make_calls(self, turn: Turn) -> None:
        for owner, profile in turn.joins.items():
            self.join(owner, profile.profile())
        for seen in turn.observations:
            self.observe(seen.owner, seen.model_dump(exclude={"owner"}))
        for happened in turn.events:
            if happened.owner is None:
                self.broadcast(happened.event, happened.also)
            else:
                self.event(happened.owner, happened.event)
        for left in turn.left_locations:
            self.left_location(left.location, left.present)
        for story in turn.story_events:
            self.story_event(story.kind, story.tags, story.related)
        for wanted in turn.requests:
            self.request(
                wanted.kind,
                wanted.owner,
                numbers=wanted.numbers,
                reads=wanted.parts(),
                priority=wanted.priority,
                params=wanted.params,
                within=wanted.within,
            )
        for effect in turn.effects:
            self.apply(effect_of(effect))
        for owner in turn.leaves:
            self.leave(owner)
        if turn.checkpoint is not None:
            self.checkpoint(turn.checkpoint.encode())
        self._briefs = {owner: self._checked(owner, brief) for owner, brief in turn.briefs.items()}

    def _checked(self, owner: str, brief: Mapping[str, object]) -> Mapping[str, object]:
        return check_brief(self._loop.calls.known(owner), brief, self._known)

    def _brief_of(self, owner: str) -> Mapping[str, object]:
        return self._briefs.get(owner, {})


class _UnderWay(NamedTuple):
    tick: int
    digest: str
    answer: Future[Ticked]


class HostedRun:
    """An open run, with a thread that commits one turn at a time.

    A host that stops waiting loses nothing: if it posts the same turn again, it gets the same answer. The journal keeps
    a digest of each turn with its tick, so this holds after a restart as well.
    """

    def __init__(self, loop: PostedLoop, host: str, opened: str) -> None:
        self.loop = loop
        self.host = host
        self.opened = opened  # digest of the message that opened the run
        self.watchers: list[Callable[[], None]] = []  # called in any thread after each commit, and on close
        self.closed = False
        self.failed = False  # whether an error ended the loop
        self._lock = threading.Lock()
        self._under_way: _UnderWay | None = None
        self._newest: tuple[str, Ticked] | None = None  # digest and answer of the last turn, even while Redis is down
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"posted-{loop.ledger.run}")

    @property
    def name(self) -> str:
        return self.loop.ledger.run

    def post(self, tick: int, turn: Turn) -> Future[Ticked]:
        """Take a turn, and return a future of its answer; a repeated turn gets its first answer.

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
        return self._repeated(tick, turn, digest, committed)

    def _take(self, tick: int, turn: Turn, digest: str) -> Ticked:
        try:
            opened = self.loop.pass_boundary()
            if opened is None:
                raise over(self.name, self.loop.tick) if self.loop.done else not_open(self.name)  # the run is closing
            taken = self.loop.take_turn(turn, digest)
        except (InputError, Refusal):
            raise
        except Exception:  # any other error ends the loop
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

    def _repeated(self, tick: int, turn: Turn, digest: str, committed: int) -> Future[Ticked]:
        """Return the answer to a turn of a committed tick.

        Raises:
            Refusal: when the tick was posted with another turn.
            JournalError: when the journal no longer has the tick.
        """
        newest = self._newest
        if newest is not None and newest[1].tick == tick:
            posted, answer = newest
        else:
            line = next(iter(self.lines(tick, tick)))
            posted = line.notes.posted
            answer = self.answer_of(line).model_copy(update={"requested": requested(self.name, tick, turn)})
        if posted != digest:
            raise another_turn(self.name, tick, committed + 1)
        done: Future[Ticked] = Future()
        done.set_result(answer)
        return done

    def lines(self, first: int, last: int) -> Iterator[ReadLine]:
        return read_journal(self.loop.ledger.store, first, last)

    def answer_of(self, line: ReadLine) -> Ticked:
        """Build the answer of a committed tick."""
        with self.loop.state.facts.clock.in_force():
            return ticked(self.name, line, over=self.loop.done and line.core.tick == self.loop.tick)

    def answer(self, question: Question) -> Memories:
        """Answer a question about a memory.

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
        """Leave the run, which can be opened again. A turn that waits for its tick does not take effect."""
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
        f"tick {tick} of run {run!r} is in progress with another turn",
        "wait for the answer to that turn, or post the same one again",
        tick,
    )


def over(run: str, tick: int) -> Refusal:
    """Build the refusal of a tick after the last."""
    return Refusal(409, "over", f"run {run!r} is over at tick {tick}", 'open it again with more "ticks" to continue')


def requested(run: str, tick: int, turn: Turn) -> list[str]:
    """Return the ids of the jobs that a turn requests, as `loop.request` returns them."""
    slots: Counter[tuple[str, str]] = Counter()
    ids = []
    for wanted in turn.requests:
        ids.append(job_id(run, JobKey(tick, wanted.kind, wanted.owner, slots[wanted.kind, wanted.owner], 0)))
        slots[wanted.kind, wanted.owner] += 1
    return ids
