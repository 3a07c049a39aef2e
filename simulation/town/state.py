"""The town's whole mutable state: plain records that JSON holds without loss. Meters are hundredths of a per cent."""

from __future__ import annotations

from typing import Literal

import msgspec

from cogitate.memory.effects import Effect
from cogitate.simulation.town.plans import Agenda

Condition = Literal["idle", "walking", "conversing", "activity", "sleeping"]
Need = Literal["", "rest", "food"]

FULL = 10_000  # a meter at 100%
MOOD_PER_WARMTH = 30  # hundredths of a per cent


class Body(msgspec.Struct, kw_only=True):
    """One agent: where it is, how it feels, what it plans and what it knows."""

    x: int
    y: int
    place: str  # id of the place it stands in; empty on the way
    condition: Condition = "sleeping"
    doing: str = ""  # what it does, an "-ing" form
    intent: str = ""  # why: the plan item, need or routine it follows, in words
    energy: int = 6_500
    hunger: int = 6_000  # how well fed it is: 0 is starving, as in the streams design
    mood: int = 6_000
    need: Need = ""  # a need that is being met until its meter is high again
    ate: int = -1  # game time of the last meal noted
    agenda: Agenda = msgspec.field(default_factory=Agenda)  # the present plan
    advice: str = ""  # a place it was told to go to (a chosen action)
    advice_until: int = 0
    advised: str = ""  # what it is to do there, an "-ing" form; empty: what is usual
    talk: str = ""  # id of the conversation it is in
    quiet_until: int = 0  # it starts no conversation before this game time
    seen: dict[str, int] = msgspec.field(default_factory=dict)  # perception cooldowns: key -> game time
    sights: dict[str, str] = msgspec.field(default_factory=dict)  # owner -> how it looked when last noticed
    talked: dict[str, int] = msgspec.field(default_factory=dict)  # owner -> game time of the last conversation
    feelings: dict[str, int] = msgspec.field(default_factory=dict)  # owner -> -100 to 100
    news: list[str] = msgspec.field(default_factory=list)  # ids of news it knows, oldest first
    hobbies: list[str] = msgspec.field(default_factory=list)  # owners whose hobby it has been told of
    remarks: list[int] = msgspec.field(default_factory=list)  # small talk it made lately, by number


class News(msgspec.Struct, frozen=True, kw_only=True):
    """A past or future event that people can tell each other."""

    id: str
    text: str  # a sentence
    importance: int
    minute: int  # when it became known, or when it begins
    place: str
    host: str = ""  # who invites, if it is an invitation
    what: str = ""  # what one is invited to


class Meeting(msgspec.Struct, kw_only=True):
    """A place and a time that people agreed on. They go there only if they plan to."""

    id: str
    what: str
    place: str
    minute: int
    people: dict[str, int]  # owner -> when it agreed, in that order
    host: str = ""  # of an invitation; a meeting of two has no host


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """A promise of one agent to another."""

    giver: str
    taker: str
    thing: str  # completes "I will …" and "asked me to …"
    done: str  # completes "I …"
    minute: int


class SpokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a conversation, and what changes in the world when it is said."""

    speaker: str
    text: str
    importance: int
    tells: str = ""  # id of news that the others now know
    hobby: bool = False  # the others now know the speaker's hobby
    remark: int = -1  # the number of this small talk
    agrees: Meeting | None = None
    joins: str = ""  # id of an invitation that the speaker accepts
    promises: Promise | None = None
    keeps: bool = False  # the speaker keeps or breaks the promise it owed the other
    warmth: int = 0  # change of feelings between the two


class Talk(msgspec.Struct, kw_only=True):
    """A conversation that is going on: a line a minute."""

    id: str
    people: list[str]
    place: str
    lines: list[SpokenLine]  # not yet said


class State(msgspec.Struct, kw_only=True):
    """Everything that changes."""

    seed: int
    agents: int
    minute: int  # game time up to which the town has lived
    bodies: dict[str, Body]
    away: list[str] = msgspec.field(default_factory=list)  # owners that left
    talks: dict[str, Talk] = msgspec.field(default_factory=dict)
    news: dict[str, News] = msgspec.field(default_factory=dict)
    appointments: dict[str, Meeting] = msgspec.field(default_factory=dict)
    promises: list[Promise] = msgspec.field(default_factory=list)
    effects: list[Effect] = msgspec.field(default_factory=list)  # asked for and not yet taken


def warm(state: State, one: str, other: str, change: int) -> None:
    """Change the feelings of two people for each other, and their moods with them."""
    for owner, towards in ((one, other), (other, one)):
        body = state.bodies[owner]
        body.feelings[towards] = max(-100, min(100, body.feelings.get(towards, 0) + change))
        body.mood = max(0, min(FULL, body.mood + change * MOOD_PER_WARMTH))


def acquaint(state: State, one: str, other: str, feeling: int) -> None:
    """Make two people old acquaintances who like each other."""
    for owner, towards in ((one, other), (other, one)):
        state.bodies[owner].feelings[towards] = min(100, state.bodies[owner].feelings.get(towards, 0) + feeling)
