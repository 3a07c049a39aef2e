"""Measures for talk: a line means little without its neighbours, its conversation and who says it.

A scene is what shares a `source_id` (a conversation, a session); an entry without one stands alone, and so does an
event, whose `source_id` is the group that it belongs to: a vote means the same without the vote before it. The speaker
of an entry is the subject whose name begins its text ("Ann Lee: Good morning"), otherwise its first subject.

Who speaks, and whether and how much a line tells, counts as far as its words, or those of the lines around it, match
the query: a remark that names three people is not answered by whatever they say. What is no talk has no speaker and
tells all it can.
"""

from __future__ import annotations

from itertools import chain

from cogitate.memory.retrieval.candidates import Candidates, asks, display_name, plain_words, speaker_of

SCENE_BEST = 3  # a scene is as relevant as the mean of its best lines
SHORT, LONG = 4, 12  # lines: neighbours reach over a short scene, which adds nothing; a long one counts in full


def neighbours(candidates: Candidates) -> list[float]:
    """Return the relevance of the lines around each line of its scene (see `Candidates.neighbours`)."""
    return candidates.neighbours


def scene(candidates: Candidates) -> list[float]:
    """Return the relevance of the scene of each line: the mean of its best lines, less in a short scene."""
    values = [0.0] * len(candidates.entries)
    for lines in candidates.scenes:
        share = min(1.0, (len(lines) - SHORT) / (LONG - SHORT))
        if share > 0:
            best = sorted((candidates.relevance[place] for place in lines), reverse=True)[:SCENE_BEST]
            for place in lines:
                values[place] = share * sum(best) / SCENE_BEST
    return values


def speaker(candidates: Candidates) -> list[float]:
    """Return for the lines of each speaker whom the query names a share of 1, as large as that of the others named."""
    asked = frozenset(plain_words(candidates.query.text))
    subjects = set(chain.from_iterable([entry.subjects for entry in candidates.entries]))
    known = {subject for subject in subjects if not asked.isdisjoint(plain_words(display_name(subject)))}
    lines = {
        place: name
        for place, entry in enumerate(candidates.entries)
        if known and candidates.talk[place] and not known.isdisjoint(entry.subjects)
        if not asked.isdisjoint(name := speaker_of(entry.subjects, entry.text))
    }
    share = 1 / max(1, len(set(lines.values())))
    return [share * counts if place in lines else 0.0 for place, counts in enumerate(candidates.matched)]


def statement(candidates: Candidates) -> list[float]:
    """Return 1 for what does not end as a question: a question carries no answer."""
    lines = zip(candidates.matched, candidates.entries, strict=True)
    return [0.0 if asks(entry) else counts for counts, entry in lines]


def information(candidates: Candidates) -> list[float]:
    """Return how much each line says, from 0 to 1: its number of different terms, as a share of that of a full line.

    Lines from the upper quartile on count as full. "haha nice" is no answer, however relevant the lines around it are.
    """
    lengths = candidates.lengths
    full = sorted(lengths)[len(lengths) * 3 // 4] if lengths else 0
    return [
        counts * length / full if talk and length < full else counts
        for counts, talk, length in zip(candidates.matched, candidates.talk, lengths, strict=True)
    ]
