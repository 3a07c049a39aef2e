"""Minds for the agents of a Mesa model: each step of the model is a tick, and the model itself is unchanged.

This code never uses the model's random number generator, reorders its agents or keeps a removed agent alive. So the
model's trajectory stays the same until the host acts on a thought.
"""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self, Unpack

from cogitate.hosting.open_loop import RunArguments, open
from cogitate.hosting.opening import Exist
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import Tell
from cogitate.memory.entry import resolve_name
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.profile import Profile
from cogitate.memory.view import MemoryView
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.tables import LONGEST_TICK
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.journal.ends import Change, JobEnd
from cogitate.scheduler.tick.arguments import check_settings
from cogitate.tasks.job import Cost

OWNERS = "agent:"  # prefix of the agents' owner names
Who = Callable[[Any], Profile | None]
Seen = str | Observation | Mapping[str, object]
Sees = Callable[[Any], Seen | Iterable[Seen] | None]
AgentBrief = Callable[[Any], Mapping[str, object]]


class Thought(NamedTuple):
    """A thought or decision of an agent, as of this step."""

    agent: Any
    text: str  # the text of the plan, reflection or summary; the action of a decision; else topic and data
    change: Change


class Mind:
    """The memories of one agent."""

    def __init__(self, view: MemoryView) -> None:
        self.view = view

    def memories(self, limit: int = 10) -> list[str]:
        """Return the texts of the newest memories, newest last.

        Raises:
            InputError: for an invalid limit.
        """
        return [entry.text for entry in self.view.recent(limit)]


class Minds:
    """The minds of a model's agents, as `think` returns them. Usage: `with think(model, …) as minds:`."""

    def __init__(
        self,
        model: Any,
        *,
        who: Who,
        sees: Sees | None,
        brief: AgentBrief | None,
        opened: Callable[..., TickLoop],
    ) -> None:
        self._who = who
        self._sees = sees
        self._brief = brief
        self._agents: dict[str, weakref.ref[Any]] = {}  # by owner; weak, so that a removed agent is freed
        self._unthinking: set[int] = set()  # ids of agents without a mind
        self._applied: list[tuple[str, str, Change]] = []
        self._ended: list[JobEnd] = []
        self._is_new = True  # no tick has passed yet, except repeated ones
        self._model = model
        owners = dict(self._arrived())
        self.loop = opened(owners=owners, brief=None if brief is None else self._brief_of)
        self.loop._expect_joins()
        with ExitStack() as stack:
            stack.callback(self.loop.close, commit=False)
            self._unhook = _after_each_step(model, self._stepped)
            stack.pop_all()

    @property
    def applied(self) -> list[Thought]:
        """Return the thoughts that took effect with the last step, of agents that the model still has."""
        alive = (
            (self._agents[owner](), text, change) for owner, text, change in self._applied if owner in self._agents
        )
        return [Thought(agent, text, change) for agent, text, change in alive if agent is not None]

    @property
    def ended(self) -> list[JobEnd]:
        """Return the jobs that ended with the last step, each with its reason."""
        return self._ended

    @property
    def spent(self) -> Cost:
        """Return the calls, tokens and micro-dollars that the run has spent so far."""
        spent = self.loop.spent
        return Cost(spent.calls, spent.tokens, spent.usd_micros)

    def __getitem__(self, agent: Any) -> Mind:
        """Return the mind of an agent.

        Raises:
            InputError: for an agent without a mind, or one that has left.
        """
        owner = owner_of(agent)
        if owner not in self._agents:
            raise InputError(f"agent {agent.unique_id} has no mind: `who` returned None for it, or it has left")
        return Mind(self.loop.memory(owner))

    def close(self, *, commit: bool = True) -> None:
        """Detach from the model, which continues without minds, and leave the run.

        Raises:
            Fenced, LedgerUnavailable: as `TickLoop.close`.
        """
        self._unhook()
        self.loop.close(commit=commit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unhook()
        self.loop.__exit__(kind, error, trace)

    def _brief_of(self, owner: str) -> Mapping[str, object]:
        agent = self._agents[owner]() if owner in self._agents else None
        return {} if agent is None or self._brief is None else self._brief(agent)

    def _stepped(self) -> None:
        """Run a tick after the model's step.

        Raises:
            LedgerError: when an error has ended the loop, such as one from `sees`, `who` or `brief` in an earlier step.
        """
        self._applied, self._ended = [], []
        if self.loop.over and not self.loop._loop.failure:
            return
        with self.loop.next_tick() as tick:
            self._ended = list(tick.ended)
            present = {owner_of(agent) for agent in self._model.agents}
            if self._is_new and not tick.replayed:
                self._is_new = False
                if tick.number > 1:
                    self._reconcile(present)
            for owner in [owner for owner in self._agents if owner not in present]:
                del self._agents[owner]
                self.loop.leave(owner)
            for owner, profile in self._arrived():
                self.loop.join(owner, profile)
            names = self.loop.state.world().display_names
            self._applied = [
                (change.owner, text, change)
                for change in tick.applied
                if (text := _text_of(change, names)) and change.owner in self._agents
            ]
            if self._sees is not None:
                self._observe(self._sees)

    def _reconcile(self, present: set[str]) -> None:
        """Add the agents that a resumed run lacks, and remove those that the model lacks."""
        known = {owner for owner in self.loop.state.profiles if owner.startswith(OWNERS)}
        for owner in sorted(known - present):
            self.loop.leave(owner)
        for owner, reference in self._agents.items():
            agent = reference()
            profile = None if owner in known or agent is None else self._who(agent)
            if profile is not None:
                self.loop.join(owner, profile)

    def _observe(self, sees: Sees) -> None:
        for owner, reference in self._agents.items():
            seen = sees(reference())
            if not isinstance(seen, Iterable | Observation | None):
                raise InputError(
                    f"`sees` returned {quoted(seen)} for {owner}: return a text, an Observation, a dict of its fields, "
                    "several of these, or None"
                )
            for item in (seen,) if isinstance(seen, str | Observation | Mapping) else seen or ():
                self.loop.observe(owner, {"text": item} if isinstance(item, str) else item)

    def _arrived(self) -> Iterable[tuple[str, Profile]]:
        """Record the model's new agents in the order of their ids, and yield those that get a mind."""
        new = {
            agent.unique_id: agent
            for agent in self._model.agents
            if agent.unique_id not in self._unthinking and owner_of(agent) not in self._agents
        }
        for number in sorted(new):
            profile = self._who(new[number])
            if profile is None:
                self._unthinking.add(number)
            else:
                self._agents[owner_of(new[number])] = weakref.ref(new[number])
                yield owner_of(new[number]), profile


def think(
    model: Any,
    *,
    run: str,
    who: Who,
    sees: Sees | None = None,
    brief: AgentBrief | None = None,
    seconds_per_step: int = 60,
    exist: Exist = "create",
    settings: Settings | None = None,
    **more: Unpack[RunArguments],
) -> Minds:
    """Let the agents of a Mesa model think: each step of the model is followed by one tick.

    Agents that the model adds or removes join or leave the run. To resume a run, build the model as at its start: it
    repeats the earlier steps with the thoughts from the journal, without calls.

    Args:
        model: an unmodified Mesa model that has not been stepped yet.
        run: the run's name.
        who: returns the profile of a new agent, or None for an agent without a mind.
        sees: returns what an agent perceives in a step: a text, an `Observation` or its fields (`minute` defaults to
            the step's), several of these, or None.
        brief: returns the facts about an agent that jobs receive, such as {"location": …}.
        seconds_per_step: the game time of a step, from 1 to 2,592,000 (30 days).
        exist: as `cogitate.open` takes it.
        settings: everything else; the defaults work.
        more: further arguments of `TickLoop`.

    Raises:
        ConfigurationError: for an invalid argument or setting, or an object that is not a Mesa model.
        CogitateError: as `TickLoop` raises them.
    """
    if not (hasattr(model, "agents") and hasattr(model, "_user_step")):
        raise ConfigurationError(f"think({quoted(model)}): give a model of Mesa 3.3 or later, after its own __init__")
    if type(seconds_per_step) is not int or not 1 <= seconds_per_step <= LONGEST_TICK:
        raise ConfigurationError(
            f"seconds_per_step={quoted(seconds_per_step)}: give a whole number from 1 to {LONGEST_TICK:,}"
        )
    chosen = check_settings(settings).model_copy(update={"seconds_per_tick": seconds_per_step})
    opened = partial(open, run, exist=exist, settings=chosen, **more)
    return Minds(model, who=who, sees=sees, brief=brief, opened=opened)


def owner_of(agent: Any) -> str:
    """Return the owner name of an agent."""
    return f"{OWNERS}{agent.unique_id}"


def _text_of(change: Change, names: Mapping[str, str]) -> str:
    """Return a thought as text: for a `Tell` of a host's kind, its topic and data; "" if the change is no thought."""
    if change.entry is not None:
        return change.entry.text
    if not isinstance(change.effect, Tell):
        return ""
    topic, data = change.effect.topic, change.effect.data
    if topic == "action" and "doing" in data:
        moved = f"{data.get('type', '')} {data.get('location', '')}".replace("move_to", "move to").strip()
        return str(data["doing"] or moved)
    if topic == "relationship" and "agent" in data:
        other = resolve_name(str(data["agent"]), names)
        why = f" ({data['reason']})" if data.get("reason") else ""
        return f"My relationship with {other} changes by {data.get('change')}{why}"
    return f"{topic}: {json.dumps(data, ensure_ascii=False)}"


def _after_each_step(model: Any, work: Callable[[], None]) -> Callable[[], None]:
    """Call a function after each step of a model, whatever steps it; return a function that ends this.

    From Mesa 3.5 on, a recurring event of low priority follows the step. In earlier versions, a wrapper replaces
    `_user_step`, and not `step`, since a simulator compares `model.step` with the callable that it has scheduled.
    """
    if hasattr(model, "schedule_recurring"):
        from mesa.time import Priority, Schedule

        def passed() -> None:
            try:
                work()
            except BaseException:  # Mesa schedules no further event then
                schedule()
                raise

        def schedule() -> None:
            every = Schedule(interval=1.0, start=math.floor(model.time) + 1.0)
            events.append(model.schedule_recurring(passed, every, priority=Priority.LOW))
            for event in events[:-1]:
                event.stop()
            del events[:-1]

        events: list[Any] = []
        schedule()
        return lambda: events[-1].stop()
    step = model._user_step

    def stepped(*args: Any, **named: Any) -> None:
        step(*args, **named)
        work()

    model._user_step = stepped

    def unhook() -> None:
        if model._user_step is stepped:
            model._user_step = step

    return unhook
