"""Moments and cases for the tests of kinds: a small world, and a stream that is built line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cogitate.memory.clock import Clock
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.memory.stream import Stream
from cogitate.tasks.job import Job, JobKey, Reads, Request, ticks_of
from cogitate.tasks.kind import Case, Kind, Moment, WorldFacts

KLAUS, MARIA, ISABELLA = "agent:klaus", "agent:maria", "agent:isabella"
PLACES = (
    Location(id="cafe", name="Hobbs Cafe", type="cafe", tags=("social",)),
    Location(id="library", name="Oak Hill Library", type="library"),
    Location(id="dorm", name="Dorm", type="home"),
)
WORLD = WorldFacts(
    locations=PLACES, names={KLAUS: "Klaus Mueller", MARIA: "Maria Lopez", ISABELLA: "Isabella Rodriguez"}
)
PROFILE = Profile(
    name="Klaus Mueller",
    age=20,
    occupation="student of sociology",
    traits=("kind", "inquisitive"),
    routine="Klaus Mueller goes to bed around 11pm, awakes up around 7am, eats dinner around 5pm.",
    currently="Klaus Mueller is writing a research paper on gentrification.",
    home="dorm",
    work="library",
)


def observation(text: str, minute: int, **fields: Any) -> Entry:
    """An observation of Klaus's at the library unless `fields` say otherwise."""
    values = {"location": "library", "subjects": (KLAUS,), "importance": 3} | fields
    return Entry(type="observation", text=text, minute=minute, **values)


def message(text: str, minute: int, *, speaker: str = MARIA, hearer: str = KLAUS, **fields: Any) -> Entry:
    """A line that one agent says to another in the cafe."""
    values = {"location": "cafe", "subjects": (speaker, hearer), "importance": 4, "source": "dialogue"} | fields
    return Entry(type="message", text=text, minute=minute, **values)


def stream_of(*entries: Entry, owner: str = KLAUS) -> Stream:
    """A stream that holds these entries, all appended at tick 1."""
    stream = Stream(owner)
    for entry in entries:
        stream.append(entry, 1)
    return stream


def moment_of(
    stream: Stream, minute: int, *, world: WorldFacts = WORLD, tick: int | None = None, lead: int = 0, **brief: Any
) -> Moment:
    """The owner at a game time; the tick is the minute unless given."""
    return Moment(
        owner=stream.owner,
        stream=stream,
        profile=PROFILE,
        tick=minute if tick is None else tick,
        minute=minute,
        world=world,
        brief=brief,
        lead=lambda kind: lead,
    )


def case_of(
    kind: Kind,
    stream: Stream,
    minute: int,
    *,
    request: Request | None = None,
    world: WorldFacts = WORLD,
    profile: Profile = PROFILE,
    params: Mapping[str, Any] | None = None,
) -> Case:
    """What a job of this kind gets to see, as the tick loop puts it together."""
    request = request or Request(kind=kind.name, owner=stream.owner, params=dict(params or {}))
    upto = stream.head.last_number
    entries = [e for e in stream.as_of(upto, minute) if request.numbers is None or e.number in set(request.numbers)]
    job = Job(
        run="test",
        key=JobKey(minute, kind.name, stream.owner, 0, 0),
        minute=minute,
        due=minute + ticks_of(kind.latency, tick_rate=None, clock=Clock(seconds_per_tick=60)),
        reads=(Reads(stream.owner, upto, request.numbers),),
        params=request.params,
        summary=stream.head.summary,
    )
    return Case(job=job, profile=profile, world=world, memories={stream.owner: entries})


def due_turn(kind: Kind, stream: Stream, minute: int, **moment: Any) -> list[Request]:
    """What is due at the owner's first turn at or after a game time; one tick is one minute."""
    for later in range(minute, minute + 100):
        if found := list(kind.due(moment_of(stream, later, **moment))):
            return found
    return []


def appended(effects: Sequence[Effect]) -> list[Entry]:
    """The entries that effects append."""
    return [e.entry for e in effects if isinstance(e, Append)]
