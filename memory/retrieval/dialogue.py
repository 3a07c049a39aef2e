"""Measures for talk: a line means little without its neighbours, its conversation and who says it.

A scene is what shares a `source_id` (a conversation, a session); an entry without one stands alone, and so does an
event, whose `source_id` is the group that it belongs to: a vote means the same without the vote before it. The speaker
of an entry is the subject whose name begins its text ("Ann Lee: Good morning"), otherwise its first subject.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import chain

from cogitate.memory.entry import Entry, is_of_event
from cogitate.memory.language.endings import QUESTIONS
from cogitate.memory.language.text import normalized, words
from cogitate.memory.retrieval.candidates import Candidates, display_name
from cogitate.memory.retrieval.terms import TERMS

BEFORE = (0.5, 0.2)  # shares of the relevance of the lines one and two places before
AFTER = 0.3  # of the line after
ANSWER = 0.5  # further share of the line before, if it asks: its answer often repeats none of its words
SCENE_BEST = 3  # a scene is as relevant as the mean of its best lines
_LONGEST_NAME = 60  # characters of a line that may be the name of its speaker


def neighbours(candidates: Candidates) -> list[float]:
    """Return the relevance of the lines around each line of its scene, by `BEFORE`, `AFTER`, `ANSWER`; may exceed 1."""
    values = [0.0] * len(candidates.entries)
    for lines in _scenes(candidates).values():
        own = [candidates.relevance_to_best[i] for i in lines]
        for place, index in enumerate(lines):
            for distance, share in enumerate(BEFORE, start=1):
                if place >= distance:
                    values[index] += share * own[place - distance]
            if place + 1 < len(lines):
                values[index] += AFTER * own[place + 1]
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
    """Return 1 for the lines of the speakers whom the query names, otherwise 0."""
    named = frozenset(_plain_words(candidates.query.text))
    return [0.0 if named.isdisjoint(_speaker_of(entry)) else 1.0 for entry in candidates.entries]


def statement(candidates: Candidates) -> list[float]:
    """Return 1 for lines that do not end as a question: a question carries no answer."""
    return [0.0 if asks(e) else 1.0 for e in candidates.entries]


def information(candidates: Candidates) -> list[float]:
    """Return how much each line says, from 0 to 1: the sum of what its words tell, as a share of that of a full line.

    What a word tells is the logarithm of how rare it is among the candidates (its self-information); lines from the
    upper quartile on count as full. "haha nice" is no answer, however relevant the lines around it are.
    """
    counts = [TERMS.of(document) for document in candidates.documents]
    holders = Counter(chain.from_iterable(counts))
    told = {word: math.log(len(counts) / held) for word, held in holders.items()}
    sums = [math.fsum(map(told.__getitem__, words)) for words in counts]
    full = sorted(sums)[len(sums) * 3 // 4] if sums else 0.0
    return [min(1.0, value / full) if full else 0.0 for value in sums]


def asks(entry: Entry) -> bool:
    """Return whether the line ends with a question mark (of any script)."""
    return entry.text.rstrip().endswith(QUESTIONS)


def _scenes(candidates: Candidates) -> dict[str, list[int]]:
    """Return the indices of the candidates of each scene, in order of number."""
    scenes: dict[str, list[int]] = {}
    for index, entry in enumerate(candidates.entries):
        if entry.source_id and not is_of_event(entry):
            scenes.setdefault(entry.source_id, []).append(index)
    return scenes


def _speaker_of(entry: Entry) -> tuple[str, ...]:
    """Return the words of the name of who speaks; none when the entry has no subject."""
    names = [_plain_words(display_name(subject)) for subject in entry.subjects]
    beginning = _plain_words(entry.text[:_LONGEST_NAME])
    return next((name for name in names if name and beginning[: len(name)] == name), names[0] if names else ())


@lru_cache(maxsize=8192)
def _plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents: an id is often written without those of its name."""
    apart = normalized(text, "NFKD")
    return tuple(words("".join(char for char in apart if not unicodedata.combining(char))))
