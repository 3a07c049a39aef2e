"""A tick loop that takes posted turns, each atomically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cogitate.hosting.opening import World
from cogitate.hosting.protocol.messages import Turn, effect_of
from cogitate.hosting.services import Processes
from cogitate.hosting.tick_handover import one_by_one
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.errors import InputError
from cogitate.scheduler.budget.briefs import brief_keys, check_brief
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.ends import JobEnd
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.tick.loop import Tick
from cogitate.tasks.registry import kinds


class PostedLoop(TickLoop):
    """A tick loop for a host that posts its turns, and repeats those whose answers it missed.

    A resumed run does not hand ticks over again: a host that repeats a tick gets its answer from the journal.
    """

    def __init__(self, *, processes: Processes | None = None, **given: Any) -> None:
        self._processes = processes  # shared with other runs
        self._briefs: Mapping[str, Mapping[str, object]] = {}
        world: World = "present" if given.get("exist") == "resume" else "repeat"
        super().__init__(**given, brief=self._brief_of, world=world, log_warnings=False)
        self._known = brief_keys(kinds())
        self._next_tick = one_by_one(self._loop, lambda: iter(self))
        self._passed: Tick | None = None  # its boundary has passed, and its turn has not been posted yet
        self.last_checkpoint = self.restored

    def _open_processes(self, settings: Settings) -> Processes:
        if self._processes is None:
            return super()._open_processes(settings)
        settings = settings.model_copy(update={"redis_url": self._processes.settings.redis_url})
        client = connect(settings.state_url(), settings.socket_timeout, retries=0)
        self._resources.callback(client.close)
        return self._processes._replace(client=client, settings=settings)

    @property
    def done(self) -> bool:
        """Whether the run has no further ticks for any host."""
        return self._loop.done

    @property
    def waits_for_turn(self) -> bool:
        """Whether a boundary has passed and the turn after it has not been posted."""
        return self._passed is not None

    @property
    def boundary(self) -> int:
        """The tick that the memories reflect."""
        return self._loop.calls.boundary

    def present(self) -> list[str]:
        """Return the present owners, including those that join with the next tick."""
        return sorted({*self.state.profiles, *self._loop.calls.mark().turn.joins})

    def pass_boundary(self) -> Tick | None:
        """Wait for the next tick and pass its boundary, once; return None after the last tick."""
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
            self._say(turn)
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
        """Answer a question to a memory; wait while memories change."""
        with self._loop.changing:
            return question.found(self.memory(question.owner))

    def _say(self, turn: Turn) -> None:
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
        self._briefs = {owner: self._checked(owner, said) for owner, said in turn.briefs.items()}

    def _checked(self, owner: str, said: Mapping[str, object]) -> Mapping[str, object]:
        return check_brief(self._loop.calls.known(owner), said, self._known)

    def _brief_of(self, owner: str) -> Mapping[str, object]:
        return self._briefs.get(owner, {})
