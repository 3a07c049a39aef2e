"""The sentences that tell most of what a period was about, of those that its entries hold.

A word weighs by the entries that it stands in, each by the square of its importance: a rumour that fills a day weighs
as much as a fire that is told once. The sentence whose words weigh most on the average is nearest to the centre of the
period (the centroid of extractive summaries; Radev et al. 2004). What was told already weighs nothing the next time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import log1p, sqrt
from typing import NamedTuple

ORDINARY = 5.0  # importance that counts as one
SHORT = 4  # words: what a sentence has in excess of its words, so that a word alone is no theme


class Sentence(NamedTuple):
    """A sentence that may be told, and the number of its entry."""

    text: str
    stems: frozenset[str]
    number: int
    importance: float
    standing: bool = True  # it can stand alone


def word_weights(sentences: Sequence[Sentence], repeats: Mapping[int, int]) -> Mapping[str, float]:
    """Return the weight of each stem."""
    heard: dict[int, set[str]] = {}
    importance: dict[int, float] = {}
    for sentence in sentences:
        heard.setdefault(sentence.number, set()).update(sentence.stems)
        importance[sentence.number] = sentence.importance
    mass: Counter[str] = Counter()
    for number, found in heard.items():
        weight = (importance[number] / ORDINARY) ** 2 * (1 + log1p(repeats.get(number, 0)))
        for word in found:
            mass[word] += weight  # type: ignore[assignment]
    return {word: log1p(weight) for word, weight in mass.items()}


def most_central(
    sentences: Sequence[Sentence], weights: Mapping[str, float], told: Collection[str] = ()
) -> list[Sentence]:
    """Return the sentences, the nearest to the centre first; words in `told` count for nothing."""
    scored = [(_centrality(s, weights, told), s.importance, -at, s) for at, s in enumerate(sentences)]
    scored.sort(key=lambda one: one[:3], reverse=True)
    return [one[3] for one in scored if one[0] > 0]


def _centrality(sentence: Sentence, weights: Mapping[str, float], told: Collection[str]) -> float:
    weight = 0.0  # and no `sum`, which adds floats in another way since Python 3.12
    for word in sorted(sentence.stems):
        if word not in told:
            weight += weights.get(word, 0.0)
    return weight / (len(sentence.stems) + SHORT) * sqrt(sentence.importance) * (1.0 if sentence.standing else 0.5)
