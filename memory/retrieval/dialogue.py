"""Measures for talk: a line means little without its neighbours, its conversation and who says it.

A scene is what shares a `source_id` (a conversation, a session); an entry without one stands alone. The speaker of an
entry is its first subject. Question words and words of time are English; in other languages these two measures
are silent and the rest works.
"""

from __future__ import annotations

import re

from memory.entry import Entry
from memory.language.text import words
from memory.retrieval.candidates import Candidates, display_name

NEAR = (0.5, 0.2)  # shares of the relevance of the lines one and two places away
ANSWER = 0.2  # further share of the line before, if it asks: its answer often repeats none of its words
SCENE_BEST = 3  # a scene is as relevant as the mean of its best lines

_WORDS_OF_TIME = """
yesterday today tomorrow tonight ago last next since soon recently now day days week weeks weekend month months year
years morning night monday tuesday wednesday thursday friday saturday sunday january february march april may june july
august september october november december spring summer fall autumn winter
"""
_ASKS_WHEN = re.compile(
    r"(since |until )?(when\b|how (long|recently)\b|(in |on |at )?(what|which) (date|day|time|month|year)\b)"
)
_TIME_WORDS = frozenset(_WORDS_OF_TIME.split())


def neighbours(candidates: Candidates) -> list[float]:
    """Return the relevance of the lines around each line of its scene, by `NEAR` and `ANSWER`; may exceed 1."""
    values = [0.0] * len(candidates.entries)
    for lines in _scenes(candidates).values():
        own = [candidates.relevance_to_best[i] for i in lines]
        for place, index in enumerate(lines):
            for distance, share in enumerate(NEAR, start=1):
                if place >= distance:
                    values[index] += share * own[place - distance]
                if place + distance < len(lines):
                    values[index] += share * own[place + distance]
            if place and asks(candidates.entries[lines[place - 1]]):
                values[index] += ANSWER * own[place - 1]
    return values


def scene(candidates: Candidates) -> list[float]:
    """Return the relevance of the scene of each line: the mean of its best lines."""
    values = [0.0] * len(candidates.entries)
    for lines in _scenes(candidates).values():
        best = sorted((candidates.relevance_to_best[i] for i in lines), reverse=True)[:SCENE_BEST]
        for index in lines:
            values[index] = sum(best) / SCENE_BEST
    return values


def speaker(candidates: Candidates) -> list[float]:
    """Return 1 for the lines of the one speaker whom the query names; 0 for all if it names none or several."""
    named = set(words(candidates.query.text))
    speakers = {e.subjects[0] for e in candidates.entries if e.subjects}
    meant = {s for s in speakers if named.intersection(words(display_name(s)))}
    if len(meant) != 1:
        return [0.0] * len(candidates.entries)
    return [1.0 if e.subjects and e.subjects[0] in meant else 0.0 for e in candidates.entries]


def statement(candidates: Candidates) -> list[float]:
    """Return 1 for lines that do not end as a question: a question carries no answer."""
    return [0.0 if asks(e) else 1.0 for e in candidates.entries]


def tells_when(candidates: Candidates) -> list[float]:
    """Return 1 for lines with a number or a word of time if the query asks when, otherwise 0."""
    if not _ASKS_WHEN.match(candidates.query.text.casefold().lstrip()):
        return [0.0] * len(candidates.entries)
    return [1.0 if any(w in _TIME_WORDS or w.isdigit() for w in words(e.text)) else 0.0 for e in candidates.entries]


def asks(entry: Entry) -> bool:
    """Return whether the line ends with a question mark (of any script)."""
    return entry.text.rstrip().endswith(("?", "？", "؟"))


def _scenes(candidates: Candidates) -> dict[str, list[int]]:
    """Return the indices of the candidates of each scene, in order of number."""
    scenes: dict[str, list[int]] = {}
    for index, entry in enumerate(candidates.entries):
        if entry.source_id:
            scenes.setdefault(entry.source_id, []).append(index)
    return scenes
