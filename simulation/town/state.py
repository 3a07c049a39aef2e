"""The town's mutable state: records that JSON stores without loss. Meters are in hundredths of a per cent."""

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
    """One agent: its place, condition, plan and knowledge."""

    x: int
    y: int
    place: str  # id of its place; empty on the way
    condition: Condition = "sleeping"
    doing: str = ""  # its activity, an "-ing" form
    intent: str = ""  # the plan item, need or routine behind the activity, in words
    energy: int = 6_500
    hunger: int = 6_000  # satiety: 0 is starving, as in the streams design
    mood: int = 6_000
    need: Need = ""  # a need being met, until its meter is high again
    ate: int = -1  # game time of the last meal noted
    agenda: Agenda = msgspec.field(default_factory=Agenda)  # the present plan
    advice: str = ""  # the place of a chosen action
    advice_until: int = 0
    advised: str = ""  # the activity of a chosen action, an "-ing" form; empty: the usual one
    talk: str = ""  # id of its present conversation
    quiet_until: int = 0  # it starts no conversation before this game time
    seen: dict[str, int] = msgspec.field(default_factory=dict)  # perception cooldowns: key -> game time
    sights: dict[str, str] = msgspec.field(default_factory=dict)  # owner -> appearance when last noticed
    talked: dict[str, int] = msgspec.field(default_factory=dict)  # owner -> game time of the last conversation
    feelings: dict[str, int] = msgspec.field(default_factory=dict)  # owner -> -100 to 100
    news: list[str] = msgspec.field(default_factory=list)  # ids of news it knows, oldest first
    hobbies: list[str] = msgspec.field(default_factory=list)  # owners whose hobby it knows
    remarks: list[int] = msgspec.field(default_factory=list)  # numbers of its recent small talk


class News(msgspec.Struct, frozen=True, kw_only=True):
    """A past or future event that people can tell each other about."""

    id: str
    text: str  # a sentence
    importance: int
    minute: int  # when it became known, or when it begins
    place: str
    host: str = ""  # the host, for an invitation
    what: str = ""  # the event of an invitation


class Meeting(msgspec.Struct, kw_only=True):
    """A place and a time that people agreed on. They go only if they plan to."""

    id: str
    what: str
    place: str
    minute: int
    people: dict[str, int]  # owner -> time of agreement, in that order
    host: str = ""  # for an invitation; a meeting of two has no host


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """A promise of one agent to another."""

    giver: str
    taker: str
    thing: str  # completes "I will …" and "asked me to …"
    done: str  # completes "I …"
    minute: int


class SpokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a conversation, and its consequences in the world."""

    speaker: str
    text: str
    importance: int
    tells: str = ""  # id of news that the others learn
    hobby: bool = False  # the others learn the speaker's hobby
    remark: int = -1  # the number of this small talk
    agrees: Meeting | None = None
    joins: str = ""  # id of an invitation that the speaker accepts
    promises: Promise | None = None
    keeps: bool = False  # the speaker keeps or breaks its promise to the other
    warmth: int = 0  # change of feelings between the two


class Talk(msgspec.Struct, kw_only=True):
    """A conversation in progress, with one line a minute."""

    id: str
    people: list[str]
    place: str
    lines: list[SpokenLine]  # not yet said


class State(msgspec.Struct, kw_only=True):
    """The mutable state of a town."""

    seed: int
    agents: int
    minute: int  # game time that the town has reached
    bodies: dict[str, Body]
    away: list[str] = msgspec.field(default_factory=list)  # owners that left
    talks: dict[str, Talk] = msgspec.field(default_factory=dict)
    news: dict[str, News] = msgspec.field(default_factory=dict)
    appointments: dict[str, Meeting] = msgspec.field(default_factory=dict)
    promises: list[Promise] = msgspec.field(default_factory=list)
    effects: list[Effect] = msgspec.field(default_factory=list)  # pending effects


def warm(state: State, one: str, other: str, change: int) -> None:
    """Change two people's feelings for each other, and their moods accordingly."""
    for owner, towards in ((one, other), (other, one)):
        body = state.bodies[owner]
        body.feelings[towards] = max(-100, min(100, body.feelings.get(towards, 0) + change))
        body.mood = max(0, min(FULL, body.mood + change * MOOD_PER_WARMTH))


def acquaint(state: State, one: str, other: str, feeling: int) -> None:
    """Make two people old acquaintances who like each other."""
    for owner, towards in ((one, other), (other, one)):
        state.bodies[owner].feelings[towards] = min(100, state.bodies[owner].feelings.get(towards, 0) + feeling)
