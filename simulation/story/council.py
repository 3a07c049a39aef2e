"""A day of the council: a discussion, a ballot without consensus, changes of mind, a second ballot, its results."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from cogitate.memory.entry import Entry
from cogitate.memory.routing.routing import Event
from cogitate.memory.routing.scopes import WORLD
from cogitate.simulation.story.people import COUNCIL, COUNCILLORS, REEVE, name
from cogitate.simulation.tables import read_table
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.world import Heard, LocationLeft, Report


class Argument(msgspec.Struct, frozen=True):
    """A statement for a side, with the speaker's reason."""

    speaker: str
    text: str
    reasoning: str


class Side(msgspec.Struct, frozen=True):
    """One answer to a matter."""

    motion: str  # completes "voted to …"
    arguments: tuple[Argument, ...]
    outcome: str  # what the valley hears in the afternoon
    coins: int  # gained by a councillor's household in the season


class Matter(msgspec.Struct, frozen=True):
    """A question that the council decides by vote: two councillors for each side, and one undecided."""

    topic: str  # completes "discussed …"
    opening: str
    sides: tuple[Side, Side]


class _Table(msgspec.Struct, frozen=True):
    matters: tuple[Matter, ...]


MATTERS = read_table(__package__, "matters", _Table).matters
CERTAINTIES = ("high", "medium", "low")


OPENS, BALLOT, RESUMES, RESULTS = 570, 640, 840, 945  # minutes of the day
CONSENSUS = 4  # of five votes
PHASE = "council"


@dataclass(frozen=True)
class Session:
    """A day of the council."""

    matter: Matter
    first: dict[str, int]  # the side that each councillor voted for in the morning
    final: dict[str, int]
    reports: tuple[tuple[int, Report], ...]  # with the minute of the day

    @property
    def winner(self) -> Side:
        return self.matter.sides[_winner(self.final)]


def session(seed: int, day: int) -> Session:
    times, number = divmod(day, len(MATTERS))
    matter = Chance(seed, "matters", times).shuffled(MATTERS)[number]
    chance = Chance(seed, "votes", day)
    first = _leanings(matter, chance)
    final = _second_thoughts(first, chance)
    reports = _opening(matter, times)
    reports += _round(matter, first, 1, OPENS + 3, chance)
    reports += _ballot(matter, first, 1, BALLOT)
    reports += _round(matter, first, 2, RESUMES, chance, final)
    reports += _ballot(matter, final, 2, RESUMES + 40)
    reports += _results(matter, final)
    reports.append((RESULTS + 5, LocationLeft("hall")))
    return Session(matter, first, final, tuple(reports))


def _leanings(matter: Matter, chance: Chance) -> dict[str, int]:
    leanings: dict[str, int] = {}
    for owner in COUNCILLORS:
        sides = [n for n, side in enumerate(matter.sides) if any(a.speaker == owner for a in side.arguments)]
        leanings[owner] = chance.pick(sides)
    return leanings


def _second_thoughts(first: dict[str, int], chance: Chance) -> dict[str, int]:
    """Return the afternoon's votes: often one of the outvoted changes sides, sometimes both or neither."""
    won = _winner(first)
    outvoted = chance.shuffled([owner for owner, side in first.items() if side != won])
    persuaded = outvoted[: chance.pick((0, 1, 1, 1, 2))]
    return {owner: won if owner in persuaded else side for owner, side in first.items()}


def _winner(votes: dict[str, int]) -> int:
    return int(2 * sum(votes.values()) > len(votes))


def _opening(matter: Matter, times: int) -> list[tuple[int, Report]]:
    text = matter.opening if not times else f"Maud Fenwick brought {matter.topic} before the council once more."
    seen = _seen(text, OPENS)
    return [(OPENS, (owner, seen)) for owner in (*COUNCILLORS, WORLD)]


def _round(
    matter: Matter, votes: dict[str, int], number: int, begin: int, chance: Chance, final: dict[str, int] | None = None
) -> list[tuple[int, Report]]:
    """Return a round of one statement per councillor; in the second round, full statements only of those who changed
    their minds."""
    reports: list[tuple[int, Report]] = []
    for turn, owner in enumerate(chance.shuffled(COUNCILLORS)):
        side = matter.sides[votes[owner]]
        argument = next(a for a in side.arguments if a.speaker == owner)
        text, reasoning = argument.text, argument.reasoning
        if final is not None:
            text, reasoning = _second_word(matter, votes[owner], final[owner], chance), ""
        statement = Event(
            kind="discussion_statement",
            speaker=owner,
            topic=matter.topic,
            text=text,
            reasoning=reasoning,
            certainty=chance.pick(CERTAINTIES),
            round=number,
            phase=PHASE,
            stage="discussion",
            location="hall",
            group=COUNCIL,
            subjects=_others(owner),
        )
        reports.append((begin + 4 * turn, Heard(statement, (WORLD,))))
    return reports


def _second_word(matter: Matter, before: int, now: int, chance: Chance) -> str:
    motion, other = matter.sides[now].motion, matter.sides[1 - now].motion
    if now != before:
        return f"I have thought about it over my bread, and I was wrong this morning: we should {motion}."
    return chance.pick(
        (
            f"I still say that we should {motion}.",
            f"Nothing that I heard this morning has changed my mind: let us {motion}.",
            f"If we {other}, we will sit here again within a year.",
        )
    )


def _ballot(matter: Matter, votes: dict[str, int], number: int, begin: int) -> list[tuple[int, Report]]:
    common = {
        "topic": matter.topic,
        "round": number,
        "phase": PHASE,
        "stage": "voting",
        "location": "hall",
        "group": COUNCIL,
    }
    opened = Event(kind="voting_initiated", speaker=REEVE, subjects=_others(REEVE), **common)
    reports: list[tuple[int, Report]] = [(begin, Heard(opened))]
    for turn, (owner, side) in enumerate(votes.items(), start=1):
        text = f"{name(owner)} voted to {matter.sides[side].motion}."
        cast = Event(kind="voting_confirmed", speaker=owner, text=text, subjects=_others(owner), **common)
        reports.append((begin + turn, Heard(cast)))
    won = _winner(votes)
    count = sum(side == won for side in votes.values())
    text = f"The council voted {count} to {len(votes) - count} to {matter.sides[won].motion}."
    closed = Event(kind="ballot_completed", text=text, consensus=count >= CONSENSUS, subjects=COUNCILLORS, **common)
    return [*reports, (begin + 8, Heard(closed, (WORLD,)))]


def _results(matter: Matter, votes: dict[str, int]) -> list[tuple[int, Report]]:
    """Return each councillor's events: the outcome, and what its household gains or would have gained."""
    won = _winner(votes)
    side, other = matter.sides[won], matter.sides[1 - won]
    agreed = sum(vote == won for vote in votes.values()) >= CONSENSUS
    how = "" if agreed else " There was no consensus, so the majority decided."
    reports: list[tuple[int, Report]] = []
    for owner, vote in votes.items():
        bonus = 3 if vote == won else 0
        mine = "My side won." if vote == won else "My side lost."
        learned = Event(
            kind="final_results",
            text=f"{side.outcome}{how} {mine}",
            topic=matter.topic,
            consensus=agreed,
            earnings=f"{side.coins + bonus} silver",
            counterfactuals={f"had the council voted to {other.motion},": f"{other.coins + 3 - bonus} silver"},
            phase=PHASE,
            stage="results",
            round=2,
            location="hall",
            group=COUNCIL,
        )
        reports.append((RESULTS, (owner, learned)))
    return reports


def _others(owner: str) -> tuple[str, ...]:
    return tuple(other for other in COUNCILLORS if other != owner)


def _seen(text: str, minute: int) -> Entry:
    return Entry(type="observation", text=text, minute=minute, location="hall", subjects=COUNCILLORS, importance=5)
