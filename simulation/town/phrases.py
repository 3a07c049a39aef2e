"""Phrases of the town's people: openings, small talk, the weather, farewells. Callers fill in `{me}` and the like."""

from __future__ import annotations

import re

import msgspec

from cogitate.simulation.tables import read_table
from cogitate.simulation.town.chance import Chance

Pairs = tuple[tuple[str, str], ...]  # of an opening and its answer
Lines = tuple[tuple[str, ...], ...]  # in turn; `me` begins


class _Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    greetings: Lines
    greetings_at_home: Lines  # between housemates
    first_meeting: Lines
    feelings: tuple[tuple[int, tuple[str, ...]], ...]  # from this mood in per cent
    small_talk: Pairs
    of_sleep: Pairs  # small talk, but not after a speaker has mentioned feelings
    between_neighbours: Pairs  # small talk, but not between housemates
    replies_to_work: tuple[str, ...]
    praise: tuple[str, ...]
    blame: tuple[str, ...]
    replies_to_opinions: tuple[str, ...]
    news_openings: tuple[str, ...]
    news_reactions: Lines  # by how much it matters
    farewells_at_home: Pairs
    farewells: Pairs
    regards: tuple[str, str]  # a farewell, but not to a housemate
    favours: Pairs  # as requested, and as kept
    favours_of_neighbours: Pairs  # not between housemates
    meetings: Pairs  # joint activities and their kinds of place
    events: tuple[tuple[str, str, int], ...]  # for invitations; kind of place, minutes after 00:00
    skies: tuple[tuple[str, str, str], ...]  # a description of the weather, a remark about it, the answer


PHRASES = read_table(__package__, "phrases", _Phrases)


def sky(seed: int, day: int) -> tuple[str, str, str]:
    """Return the weather of a day: in words ("a foggy"), a remark about it, and an answer to the remark."""
    return Chance(seed, "weather", day).pick(PHRASES.skies)


def for_me(favour: str) -> str:
    """Return a favour in the requester's words: "lend me the tall ladder"."""
    return re.sub(r"\byou\b", "me", favour.replace("you are", "I am").replace("your", "my"))


def for_other(favour: str, name: str) -> str:
    """Return a favour in the third person: "lend Klára the tall ladder"."""
    return re.sub(r"\byou\b", name, favour.replace("you are", f"{name} is").replace("your", f"{name}'s"))
