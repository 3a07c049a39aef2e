"""A small town generated from a seed: the reference host for demonstrations, tests and benchmarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.effects import Tell
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.town import appointments, conversation, happenings
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.town.conduct import act, doing_of, options
from cogitate.simulation.town.perception import Perception, Seen
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import FULL, Body, State
from cogitate.simulation.world import AppliedChange, SteppedWorld, energy, fed, read_dump
from cogitate.tasks.meters import Meter

MOST_NEAR = 8  # people that a brief names
ADVICE_LASTS = 60  # minutes that a chosen action lasts
GERUND = re.compile(r"[a-z]+ing\b")  # "reading the newspaper", as onlookers describe it


class Town(SteppedWorld):
    """A world for the tick loop (`cogitate.simulation.world.World`): agents that move, eat, sleep, talk and follow
    their plans.

    The town is simulated minute by minute, whatever the length of a tick. Its course depends only on the seed, the
    number of agents and the applied changes. Without plans, agents follow a routine.

    Raises:
        ValueError: if the number of agents is not between 1 and 1000.
    """

    def __init__(
        self,
        agents: int = 25,
        seed: int = 0,
        minutes_per_tick: int = 1,
        start_minute: int = 0,
        perception: Perception | None = None,
    ) -> None:
        self.minutes_per_tick = minutes_per_tick
        self.start_minute = start_minute
        self._setting = Setting(seed, agents, perception)
        bodies: dict[str, Body] = {}
        for owner, person in self._setting.people.items():
            home = person.profile.home
            x, y = self._setting.spot(owner, home)
            bodies[owner] = Body(x=x, y=y, place=home)
        self._state = State(seed=seed, agents=agents, minute=start_minute - 1, bodies=bodies)
        self._episodes: tuple[int, dict[int, list[tuple[str, str, int]]]] = (-1, {})  # a cache, derived from the seed

    # -- read by the loop ----------------------------------------------------------------------------

    @property
    def locations(self) -> tuple[Location, ...]:
        """Return all places, public ones of a district before its homes."""
        return tuple(place.location for place in self._setting.places.values())

    def owners(self) -> Mapping[str, Profile]:
        return {o: p.profile for o, p in self._setting.people.items() if o not in self._state.away}

    def brief(self, owner: str) -> dict[str, Any]:
        """Return an agent's place, people nearby, activity, meters (hunger 0 is starving), and whether it is free.

        Includes the available actions of a free agent.
        """
        body, person = self._state.bodies[owner], self._setting.people[owner]
        free = body.condition in ("idle", "activity") and not body.need
        near = (other for other in self._setting.people if other != owner and self._is_near(body, other))
        return {
            "location": body.place,
            "activity": body.intent or body.doing,
            "condition": body.condition,
            "near": [*islice(near, MOST_NEAR)],
            "free": free,
            **({"actions": options(self._setting, person, body, self._state.minute)} if free else {}),
            "status": {
                "energy": energy(body.energy * 100 // FULL),
                "hunger": fed(body.hunger * 100 // FULL),
                "mood": Meter(body.mood * 100 // FULL, low="miserable"),
            },
        }

    def _is_near(self, body: Body, other: str) -> bool:
        seen = self._state.bodies[other]
        return (
            seen.place == body.place  # checked first: in a large town most people are elsewhere
            and seen.condition != "sleeping"
            and other not in self._state.away
            and self._setting.perception.sees(body, seen)
        )

    # -- changes from outside ------------------------------------------------------------------------

    def leave(self, owner: str) -> None:
        """Remove an agent from town. Its body stays, for a return.

        Raises:
            ValueError: if it is not in town.
        """
        if owner not in self.owners():
            raise ValueError(f"{owner!r} is not in town and cannot leave")
        for talk in list(self._state.talks.values()):
            if owner in talk.people:
                self._end(talk.id, self._state.minute)
        self._state.away.append(owner)

    def join(self, owner: str) -> None:
        """Bring an agent that left back to town.

        Raises:
            ValueError: if it has not left.
        """
        if owner not in self._state.away:
            raise ValueError(f"{owner!r} has not left town and cannot join")
        self._state.away.remove(owner)

    def apply(self, change: AppliedChange) -> None:
        """Apply a new plan, an item's status, a change of feelings or a chosen action; ignore other changes."""
        body = self._state.bodies.get(change.owner)
        if body is None:
            return
        body.agenda.apply(change, self._setting.places)
        match change.effect:
            case Tell(topic="relationship", data=data):
                other, amount = data.get("agent"), data.get("change")
                if isinstance(other, str) and other in self._setting.people and isinstance(amount, int):
                    now = body.feelings.get(other, 0)
                    body.feelings[other] = max(-100, min(100, now + amount))
            case Tell(topic="action", data=data):
                place = data.get("location")
                if isinstance(place, str) and place in self._setting.places:
                    body.advice, body.advice_until = place, self._state.minute + ADVICE_LASTS
                    doing = doing_of(str(data.get("doing", "")))
                    body.advised = doing if GERUND.match(doing) else ""
            case _:
                pass

    # -- saving ----------------------------------------------------------------------------------------

    def load(self, data: bytes) -> None:
        """Continue from a dump of a town with the same seed and number of agents.

        Raises:
            ValueError: if it is not such a dump.
        """
        state = read_dump(data, State, "a town")
        here = (self._state.seed, self._state.agents)
        if (state.seed, state.agents) != here:
            raise ValueError(
                f"the dump is of a town with seed {state.seed} and {state.agents} agents, "
                f"this one has seed {here[0]} and {here[1]}"
            )
        self._state = state

    # -- simulation --------------------------------------------------------------------------------------

    def step(self, tick: int, minute: int) -> list[Seen]:
        """Advance to game time `minute`, and return the observations in order of time and owner."""
        seen: list[Seen] = []
        while self._state.minute < minute:
            self._state.minute += 1
            seen += self._live(self._state.minute)
        return seen

    def _live(self, minute: int) -> list[Seen]:
        state = self._state
        here = [owner for owner in self._setting.people if owner not in state.away]
        seen: list[Seen] = []
        if minute == self.start_minute:
            known = happenings.beginning(self._setting, state, minute)
            seen += [item for item in known if item[0] not in state.away]
            seen += happenings.invitations(self._setting, state, here, minute, today=True)
        if minute % DAY == happenings.INVITE_AT:
            happenings.forget_old(state, minute)
            for body in state.bodies.values():
                self._setting.perception.forget(body, minute)
            seen += happenings.invitations(self._setting, state, here, minute, today=False)
        due = appointments.commitments(state, minute)
        for owner in here:
            seen += act(self._setting, state, self._setting.people[owner], minute, due.get(owner))
        seen += self._happen(minute)
        seen += self._talk(here, minute)
        seen += self._perceive(here, minute)
        seen += appointments.settle_appointments(self._setting, state, minute)
        return seen

    def _happen(self, minute: int) -> list[Seen]:
        day = day_of(minute)
        if self._episodes[0] != day:
            self._episodes = (day, happenings.episodes(self._setting, day))
        seen: list[Seen] = []
        for owner, text, importance in self._episodes[1].get(minute, ()):
            body, person = self._state.bodies[owner], self._setting.people[owner]
            if owner in self._state.away or body.place != person.profile.work or body.condition != "activity":
                continue
            present = [
                o
                for o, b in self._state.bodies.items()
                if b.place == body.place and b.condition != "sleeping" and o not in self._state.away
            ]
            seen += happenings.happen(self._state, owner, text, importance, minute, present)
        return seen

    def _talk(self, here: list[str], minute: int) -> list[Seen]:
        state = self._state
        seen: list[Seen] = []
        for talk in list(state.talks.values()):
            seen += conversation.say(self._setting, state, talk, minute)
            if not talk.lines:
                self._end(talk.id, minute)
        gathered: dict[str, list[str]] = {}
        for owner in here:
            body = state.bodies[owner]
            if conversation.may_talk(body, minute):
                gathered.setdefault(body.place, []).append(owner)
        for place, owners in gathered.items():
            if len(owners) < 2:
                continue
            for talk in conversation.start(self._setting, state, owners, place, minute):
                state.talks[talk.id] = talk
                for owner in talk.people:
                    body = state.bodies[owner]
                    body.talk, body.condition = talk.id, "conversing"
                    for other in talk.people:
                        if other != owner:
                            body.talked[other] = minute
        return seen

    def _end(self, talk_id: str, minute: int) -> None:
        talk = self._state.talks.pop(talk_id)
        for owner in talk.people:
            body = self._state.bodies[owner]
            body.talk, body.condition = "", "activity" if body.doing else "idle"
            body.quiet_until = minute + 45 + Chance(self._state.seed, "quiet", owner, minute).below(60)

    def _perceive(self, here: list[str], minute: int) -> list[Seen]:
        """Return what each waking agent sees; walls hide other places, and people on the street see each other.

        A grid keeps this linear in the number of agents.
        """
        state, size = self._state, self._setting.perception.radius + 1
        cells: dict[tuple[str, int, int], list[tuple[str, str, Body]]] = {}
        crowd = Counter(state.bodies[owner].place for owner in here)
        with_whom: dict[str, tuple[str, str]] = {}
        for owner in here:
            body = state.bodies[owner]
            cells.setdefault((body.place, body.x // size, body.y // size), []).append(
                (owner, self._setting.name(owner), body)
            )
            if body.talk:
                other = next(o for o in state.talks[body.talk].people if o != owner)
                with_whom[owner] = other, self._setting.name(other)
        seen: list[Seen] = []
        for owner in here:
            body = state.bodies[owner]
            if body.condition == "sleeping" or crowd[body.place] == 1:
                continue
            column, row = body.x // size, body.y // size
            near = [
                other
                for dx in (-1, 0, 1)
                for dy in (-1, 0, 1)
                for other in cells.get((body.place, column + dx, row + dy), ())
                if other[0] != owner and not (body.talk and other[2].talk == body.talk)
            ]
            if near:
                seen += [
                    (owner, entry) for entry in self._setting.perception.agents(owner, body, near, minute, with_whom)
                ]
        return seen
