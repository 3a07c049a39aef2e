"""The perceptions of agents: people, places and themselves (streams design, task 11).

The rule is the specification's: agents within five tiles (Manhattan), each at most every 10 minutes; a place on
arrival, at most once an hour. Two deviations: a first sight always counts (a cooldown that starts at game time 0 would
suppress it), and an unchanged person is noticed again only after `unchanged` minutes, or two colleagues at their desks
would fill each other's memory. `unchanged=10` follows the rule exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cogitate.memory.entry import Entry
from cogitate.simulation.town.state import Body, Condition

APPEARANCE: Mapping[Condition, str] = {
    "idle": "standing around",
    "walking": "walking by",
    "conversing": "having a conversation",
    "activity": "engaged in an activity",
    "sleeping": "resting",
}
Seen = tuple[str, Entry]  # observer and observation


@dataclass(frozen=True, kw_only=True)
class Perception:
    """The radius in tiles and the cooldowns in game minutes."""

    radius: int = 5
    agent_cooldown: int = 10
    location_cooldown: int = 60
    unchanged: int = 120

    def sees(self, observer: Body, other: Body) -> bool:
        """Return whether another agent is near enough."""
        return abs(observer.x - other.x) + abs(observer.y - other.y) <= self.radius

    def agents(
        self,
        owner: str,
        body: Body,
        near: Iterable[tuple[str, str, Body]],
        minute: int,
        with_whom: Mapping[str, tuple[str, str]],
    ) -> list[Entry]:
        """Return observations of the agents nearby (owner, name, body), and record the cooldowns in `body`.

        `with_whom` maps each participant of a conversation to the partner (owner, name). An observer of both sees one
        conversation.
        """
        seen: list[Entry] = []
        visible = {o: (name, other) for o, name, other in near if o != owner and self.sees(body, other)}
        for other_owner, (name, other) in visible.items():
            key = f"agent:{other_owner}"
            last = body.seen.get(key)
            if last is not None and minute - last < self.agent_cooldown:
                continue
            partner, partner_name = with_whom.get(other_owner, ("", ""))
            look = appearance(other, partner_name)
            if last is not None and body.sights.get(other_owner) == look and minute - last < self.unchanged:
                continue
            body.seen[key] = minute
            body.sights[other_owner] = look
            if partner in visible:
                body.seen[f"agent:{partner}"] = minute
                body.sights[partner] = appearance(visible[partner][1], name)
            seen.append(
                Entry(
                    type="observation",
                    text=f"Saw {name} {look}.",
                    minute=minute,
                    location=body.place,
                    subjects=(owner, other_owner, *((partner,) if partner in visible else ())),
                    importance=4 if other.condition == "conversing" else 2,
                )
            )
        return seen

    def arrival(self, owner: str, body: Body, place_name: str, minute: int) -> Entry | None:
        """Return the observation of arriving at the place of `body`, unless made within the last hour."""
        key = f"location:{body.place}"
        last = body.seen.get(key)
        if last is not None and minute - last <= self.location_cooldown:
            return None
        body.seen[key] = minute
        return Entry(
            type="observation",
            text=f"Arrived at {place_name}.",
            minute=minute,
            location=body.place,
            subjects=(owner,),
            importance=2,
        )

    def forget(self, body: Body, minute: int) -> None:
        """Drop expired cooldowns, to keep the state small."""
        longest = max(self.agent_cooldown, self.location_cooldown, self.unchanged)
        for key in [key for key, last in body.seen.items() if minute - last > longest]:
            del body.seen[key]
            body.sights.pop(key.removeprefix("agent:"), None)


def appearance(body: Body, with_whom: str = "") -> str:
    """Return an agent's visible activity, or the specification's words if unknown."""
    look = APPEARANCE[body.condition]
    if body.condition == "activity" and body.doing:
        return body.doing
    if body.condition == "conversing" and with_whom:
        return f"{look} with {with_whom}"
    return look


def thought(owner: str, text: str, minute: int, importance: int, *others: str, place: str = "") -> Seen:
    """Return an unnumbered observation of the agent about itself."""
    return owner, Entry(
        type="observation",
        text=text,
        minute=minute,
        location=place,
        subjects=(owner, *others),
        importance=importance,
        source="internal",
    )
