"""Measures for a query: each returns a value per candidate, in the order of the candidates. See `retrieval`.

Talk has its own measures, since a line means little without its neighbours, its conversation and its speaker. A scene
is the set of entries with the same `source_id` (a conversation, a session). An entry without one stands alone. So does
an event, whose `source_id` is its group: a vote means the same without the vote before it. The speaker of an entry is
the subject whose name begins its text ("Ann Lee: Good morning"), otherwise its first subject.

The measures of the speaker, of statements and of information are weighted by how well the line, with the lines around
it, matches the query: a remark that names three people does not ask for everything they say. Entries other than talk
have no speaker and count as fully informative.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain

from cogitate.memory.entry import ORDINARY, rating
from cogitate.memory.language.text import extract_keywords
from cogitate.memory.retrieval.candidates import Candidates, asks, display_name, plain_words, speaker_of
from cogitate.memory.retrieval.scoring import HALF_LIFE, keyword_relevance, log_ages, normal_importance, recency, scaled


def half_life_recency(candidates: Candidates) -> list[float]:
    """Return exponential decay with the half-life of the entry's type (streams design, task 3)."""
    now = candidates.query.minute
    return [recency(e.minute, now, HALF_LIFE[e.type]) for e in candidates.entries]


def plain_importance(candidates: Candidates) -> list[float]:
    """Return importance 1 to 10 as 0 to 1 (streams design, task 3)."""
    return [normal_importance(rating(e)) for e in candidates.entries]


def keyword_overlap(candidates: Candidates) -> list[float]:
    """Return the Jaccard overlap of keywords, which default to those of the entry's text (streams design, task 5)."""
    terms = candidates.keywords
    return [keyword_relevance(e.keywords or _keywords(e.text), terms) for e in candidates.entries]


@lru_cache(maxsize=8192)
def _keywords(text: str) -> tuple[str, ...]:
    return tuple(extract_keywords(text))


def scaled_recency(candidates: Candidates) -> list[float]:
    """Return the recency of each entry among the candidates, by the logarithm of its age: newest 1, oldest 0."""
    now = candidates.query.minute
    return scaled([-age for age in log_ages([e.minute for e in candidates.entries], now)])


def scaled_importance(candidates: Candidates) -> list[float]:
    """Return importance among the candidates, highest 1, lowest 0, since raters use different parts of the scale."""
    return scaled([e.importance or ORDINARY for e in candidates.entries])


def relevance(candidates: Candidates) -> list[float]:
    """Return how well the words match, by BM25 with stemming; the best match is 1 (see `Candidates.relevance`)."""
    return candidates.relevance


def support(candidates: Candidates) -> list[float]:
    """Return how strongly each entry supports relevant ones: the scaled relevance of the entries that cite it.

    The evidence of a reflection matters wherever the reflection matters. Repeats of a text share their support.
    """
    citing = [
        (e, value) for e, value in zip(candidates.entries, candidates.relevance, strict=True) if e.evidence and value
    ]
    if not citing:
        return [0.0] * len(candidates.entries)
    text_of = {e.number: text for e, text in zip(candidates.entries, candidates.texts, strict=True)}
    shares: dict[str, float] = {}
    for entry, value in citing:
        for number in entry.evidence:
            if number in text_of:
                shares[text_of[number]] = shares.get(text_of[number], 0.0) + value
    return scaled([shares.get(text, 0.0) for text in candidates.texts])


def similarity(candidates: Candidates) -> list[float]:
    """Return the similarities, scaled; a missing or non-finite one counts as the mean of the others."""
    given = candidates.query.similarity
    known = {n: value for n, value in given.items() if math.isfinite(value)}
    if not known:
        return [0.0] * len(candidates.entries)
    present = [known[e.number] for e in candidates.entries if e.number in known]
    mean = sum(value / len(present) for value in present)
    return scaled([known.get(e.number, mean) for e in candidates.entries])


SCENE_BEST = 3  # a scene is as relevant as the mean of its best lines
SHORT, LONG = 4, 12  # lines: a short scene adds nothing, since neighbours cover it; a long one counts in full


def neighbours(candidates: Candidates) -> list[float]:
    """Return the relevance of the lines around each line in its scene (see `Candidates.neighbours`)."""
    return candidates.neighbours


def scene(candidates: Candidates) -> list[float]:
    """Return the relevance of the scene of each line: the mean of its best lines, less in a short scene."""
    values = [0.0] * len(candidates.entries)
    for lines in candidates.scenes:
        share = min(1.0, (len(lines) - SHORT) / (LONG - SHORT))
        if share > 0:
            best = sorted((candidates.relevance[index] for index in lines), reverse=True)[:SCENE_BEST]
            for index in lines:
                values[index] = share * sum(best) / SCENE_BEST
    return values


def speaker(candidates: Candidates) -> list[float]:
    """Return the match of each line of a speaker whom the query names, divided by the number of such speakers."""
    asked = frozenset(plain_words(candidates.query.text))
    subjects = set(chain.from_iterable([entry.subjects for entry in candidates.entries]))
    known = {subject for subject in subjects if not asked.isdisjoint(plain_words(display_name(subject)))}
    lines = {
        index: name
        for index, entry in enumerate(candidates.entries)
        if known and candidates.talk[index] and not known.isdisjoint(entry.subjects)
        if not asked.isdisjoint(name := speaker_of(entry.subjects, entry.text))
    }
    share = 1 / max(1, len(set(lines.values())))
    return [share * match if index in lines else 0.0 for index, match in enumerate(candidates.matched)]


def statement(candidates: Candidates) -> list[float]:
    """Return the match of each entry that does not end as a question; a question carries no answer."""
    lines = zip(candidates.matched, candidates.entries, strict=True)
    return [0.0 if asks(entry) else match for match, entry in lines]


def information(candidates: Candidates) -> list[float]:
    """Return the match of each entry; a line with fewer distinct terms than a full one counts in proportion.

    Lines from the upper quartile on count as full. "haha nice" tells little, however relevant the lines around it are.
    """
    lengths = candidates.lengths
    full = sorted(lengths)[len(lengths) * 3 // 4] if lengths else 0
    return [
        match * length / full if talk and length < full else match
        for match, talk, length in zip(candidates.matched, candidates.talk, lengths, strict=True)
    ]
