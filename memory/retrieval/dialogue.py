"""Measures for talk: a line means little without its neighbours, its conversation and who says it.

A scene is what shares a `source_id` (a conversation, a session); an entry without one stands alone, and so does an
event, whose `source_id` is the group that it belongs to: a vote means the same without the vote before it. The speaker
of an entry is the subject whose name begins its text ("Ann Lee: Good morning"), otherwise its first subject.
"""

from __future__ import annotations

from itertools import chain

from cogitate.memory.entry import Entry, is_of_event
from cogitate.memory.language.endings import QUESTIONS
from cogitate.memory.retrieval.candidates import Candidates, display_name, plain_words, speaker_of

BEFORE = (0.5, 0.2)  # shares of the relevance of the lines one and two places before
AFTER = 0.3  # of the line after
ANSWER = 0.5  # further share of the line before, if it asks: its answer often repeats none of its words
SCENE_BEST = 3  # a scene is as relevant as the mean of its best lines


def neighbours(candidates: Candidates) -> list[float]:
    """Return the relevance of the lines around each line of its scene, by `BEFORE`, `AFTER`, `ANSWER`; may exceed 1."""
    values = [0.0] * len(candidates.entries)
    for lines in _scenes(candidates).values():
        for place, index in enumerate(lines):
            own = candidates.relevance[index]
            if not own:
                continue
            for line, share in zip(lines[place + 1 :], BEFORE, strict=False):
                values[line] += share * own
            if place + 1 < len(lines) and asks(candidates.entries[index]):
                values[lines[place + 1]] += ANSWER * own
            if place:
                values[lines[place - 1]] += AFTER * own
    return values


def scene(candidates: Candidates) -> list[float]:
    """Return the relevance of the scene of each line: the mean of its best lines."""
    values = [0.0] * len(candidates.entries)
    for lines in _scenes(candidates).values():
        best = sorted((candidates.relevance[i] for i in lines), reverse=True)[:SCENE_BEST]
        for index in lines:
            values[index] = sum(best) / SCENE_BEST
    return values


def speaker(candidates: Candidates) -> list[float]:
    """Return for the lines of each speaker whom the query names a share of 1, as large as that of the others named."""
    asked = frozenset(plain_words(candidates.query.text))
    subjects = set(chain.from_iterable([entry.subjects for entry in candidates.entries]))
    known = {subject for subject in subjects if not asked.isdisjoint(plain_words(display_name(subject)))}
    lines = {
        index: name
        for index, entry in enumerate(candidates.entries)
        if known and not known.isdisjoint(entry.subjects)
        if not asked.isdisjoint(name := speaker_of(entry.subjects, entry.text))
    }
    share = 1 / max(1, len(set(lines.values())))
    return [share if index in lines else 0.0 for index in range(len(candidates.entries))]


def statement(candidates: Candidates) -> list[float]:
    """Return 1 for lines that do not end as a question: a question carries no answer."""
    return [0.0 if e.text.rstrip().endswith(QUESTIONS) else 1.0 for e in candidates.entries]


def information(candidates: Candidates) -> list[float]:
    """Return how much each line says, from 0 to 1: its number of different terms, as a share of that of a full line.

    Lines from the upper quartile on count as full. "haha nice" is no answer, however relevant the lines around it are.
    """
    lengths = candidates.lengths
    full = sorted(lengths)[len(lengths) * 3 // 4] if lengths else 0
    return [length / full if length < full else 1.0 for length in lengths] if full else [0.0] * len(lengths)


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
