"""An evening in the Grey Heron: talk, opinions on the day's vote, promises, a tale, and letters read aloud."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cogitate.memory.entry import Entry
from cogitate.memory.routing.routing import Event, EventRule
from cogitate.memory.routing.scopes import WORLD
from cogitate.simulation.story.company import Arrival, Journey
from cogitate.simulation.story.council import Session
from cogitate.simulation.story.people import COUNCILLORS, INNKEEPER, PEDDLER, RANGER, REGULARS, TRAVELLERS, name
from cogitate.simulation.tables import read_table
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.world import Heard, LocationLeft, Report

OPENS, OPINIONS, TALE, LETTER, CLOSES = 1140, 1170, 1200, 1220, 1300  # minutes of the day
KEPT_AT = 680  # minutes of the next day
EXCHANGES = 4  # an evening
PHASE = "evening"
#: Types of events in the tavern.
EVENT_TYPES = {
    "letter_read": EventRule(strategy="integrate", content="result", verb="read aloud a letter from", importance=5),
    "tale_told": EventRule(content="result", verb="told the tale of", importance=5),
}


class Letter(msgspec.Struct, frozen=True):
    """A letter that Barnaby Stout brings and reads aloud, as the listeners report it."""

    sender: str
    text: str


class _Talk(msgspec.Struct, frozen=True):
    exchanges: tuple[tuple[str, ...], ...]
    promises: tuple[tuple[str, str, str], ...]
    letters: tuple[Letter, ...]


TALK = read_table(__package__, "tavern", _Talk)
_STRANGERS = (  # the travellers' comments on a vote
    "A valley that votes to {motion} is a valley that thinks about next year.",
    "I have no vote here, and I am glad of it. I would not know whether to {motion} or not.",
    "In my home town the duke decides such things. You sat together until you agreed to {motion}.",
)


class Promise(NamedTuple):
    """A promise of one guest to another."""

    giver: str
    taker: str
    number: int  # of TALK.promises
    kept: bool


class Evening(NamedTuple):
    """An evening in the tavern."""

    guests: tuple[str, ...]
    promise: Promise
    reports: tuple[tuple[int, Report], ...]  # with the minute of the day
    arrival: Arrival


def evening(seed: int, day: int, session: Session, journey: Journey) -> Evening:
    chance = Chance(seed, "evening", day)
    guests = (*TRAVELLERS, *chance.shuffled(COUNCILLORS)[:3])
    staff = (INNKEEPER, PEDDLER) if day % 2 == 0 else (INNKEEPER,)
    reports = _talk(seed, day, guests, chance)
    reports += _opinions(session, guests)
    reports += _tale(journey, guests)
    promise = promise_of(seed, day, guests)
    reports += _line(promise.giver, promise.taker, _promised(promise), LETTER - 4, f"evening-{day}", 6)
    if day % 2 == 0:
        letter = TALK.letters[(Chance(seed, "letters").below(len(TALK.letters)) + day // 2) % len(TALK.letters)]
        read = Event(
            kind="letter_read",
            speaker=PEDDLER,
            topic=letter.sender,
            text=letter.text,
            phase=PHASE,
            stage="letters",
            location="tavern",
            subjects=guests,
        )
        reports.append((LETTER, Heard(read, (WORLD,))))
    reports.append((CLOSES, LocationLeft("tavern", staff)))
    return Evening(guests, promise, tuple(reports), Arrival(OPENS - 5, "tavern", staff, guests))


def promise_of(seed: int, day: int, guests: tuple[str, ...]) -> Promise:
    """Return the promise of an evening, and whether it will be kept."""
    chance = Chance(seed, "promise", day)
    giver, taker = chance.shuffled(guests)[:2]
    return Promise(giver, taker, (day + chance.below(2)) % len(TALK.promises), chance.percent(60))


def reckoning(promise: Promise) -> list[tuple[int, Report]]:
    """Return the outcome of a promise, as both people remember it the next day."""
    text = TALK.promises[promise.number][1 if promise.kept else 2].format(A=name(promise.giver), B=name(promise.taker))
    entry = Entry(
        type="observation",
        text=text,
        minute=KEPT_AT,
        subjects=(promise.giver, promise.taker),
        importance=6 if promise.kept else 8,
    )
    return [(KEPT_AT, (owner, entry)) for owner in (promise.giver, promise.taker)]


def _promised(promise: Promise) -> str:
    return TALK.promises[promise.number][0].format(b=_first(promise.taker))


def _talk(seed: int, day: int, guests: tuple[str, ...], chance: Chance) -> list[tuple[int, Report]]:
    """Return an evening's exchanges; none repeats before all others have occurred."""
    reports: list[tuple[int, Report]] = []
    times, part = divmod(EXCHANGES * day, len(TALK.exchanges))
    chosen = Chance(seed, "exchanges", times).shuffled(TALK.exchanges)[part : part + EXCHANGES]
    minute = OPENS
    for number, exchange in enumerate(chosen):
        first, second = chance.shuffled(guests)[:2]
        if any(name(first) in line for line in exchange[::2]) or any(name(second) in line for line in exchange[1::2]):
            continue  # people do not speak of themselves in the third person
        for turn, line in enumerate(exchange):
            speaker, hearer = (first, second) if turn % 2 == 0 else (second, first)
            text = line.format(a=_first(first), b=_first(second))
            reports += _line(speaker, hearer, text, minute, f"evening-{day}-{number}", 3)
            minute += 1
        minute += 3
    return reports


def _opinions(session: Session, guests: tuple[str, ...]) -> list[tuple[int, Report]]:
    """Return four guests' opinions on the day's vote."""
    reports: list[tuple[int, Report]] = []
    motion = session.winner.motion
    for turn, owner in enumerate(guests[1:5]):
        if owner in TRAVELLERS:
            text = _STRANGERS[TRAVELLERS.index(owner)].format(motion=motion)
        elif session.matter.sides[session.final[owner]] is session.winner:
            text = f"I am glad that we voted to {motion}."
        else:
            text = f"I voted against it, and I would do so again. But a vote is a vote, and so we {motion}."
        opinion = Event(
            kind="discussion_statement",
            speaker=owner,
            topic=session.matter.topic,
            text=text,
            phase=PHASE,
            stage="opinions",
            location="tavern",
            group=REGULARS,
            subjects=tuple(g for g in guests if g != owner),
        )
        reports.append((OPINIONS + 4 * turn, Heard(opinion, (WORLD,))))
    return reports


def _tale(journey: Journey, guests: tuple[str, ...]) -> list[tuple[int, Report]]:
    """Return the tale of the day's quest, which Kestrel Vane tells to all but her companions."""
    told = " ".join(line for scene in journey.scenes for speaker, line in scene.lines if not speaker)
    tale = Event(
        kind="tale_told",
        speaker=RANGER,
        topic=journey.quest.title,
        text=f"{journey.quest.task} {told}",
        phase=PHASE,
        stage="tales",
        location="tavern",
        group=REGULARS,
        subjects=tuple(g for g in guests if g not in TRAVELLERS),
    )
    return [(TALE, Heard(tale))]


def _line(speaker: str, hearer: str, text: str, minute: int, talk: str, importance: int) -> list[tuple[int, Report]]:
    entry = Entry(
        type="message",
        text=f"{name(speaker)}: {text}",
        minute=minute,
        location="tavern",
        subjects=(speaker, hearer),
        importance=importance,
        source="dialogue",
        source_id=talk,
    )
    return [(minute, (owner, entry)) for owner in (speaker, hearer, WORLD)]


def _first(owner: str) -> str:
    return name(owner).split()[0]
