"""The sentences that tell most of what a period was about, of those that its entries hold.

A word weighs by the entries that it stands in, each by its importance, and by how many of all entries with that word
are of the period: a rumour that fills a day weighs much, a habit of every day little. The sentence whose words weigh
most, for the root of their number, is nearest to the centre of the period (the centroid of extractive summaries; Radev
et al. 2004). What was told already weighs nothing the next time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log1p, sqrt
from typing import NamedTuple

ORDINARY = 5.0  # importance that counts as one


class Sentence(NamedTuple):
    """A sentence that may be told, and the number of its entry."""

    text: str
    stems: tuple[str, ...]  # each once, in alphabetical order
    number: int
    importance: float


def word_weights(
    sentences: Sequence[Sentence], repeats: Mapping[int, int], earlier: Iterable[Collection[str]] = ()
) -> Mapping[str, float]:
    """Return the weight of each stem.

    Args:
        repeats: how often entries were observed again, by number.
        earlier: stems of each entry of the time before, each once.
    """
    heard: dict[int, set[str]] = {}
    importance: dict[int, float] = {}
    for sentence in sentences:
        heard.setdefault(sentence.number, set()).update(sentence.stems)
        importance[sentence.number] = sentence.importance
    mass: dict[str, float] = {}
    for number, found in heard.items():
        weight = importance[number] / ORDINARY * (1 + log1p(repeats.get(number, 0)))
        for word in found:
            mass[word] = mass.get(word, 0.0) + weight
    now, before = Counter(word for found in heard.values() for word in found), Counter[str]()
    for words in earlier:
        before.update(words)
    return {word: log1p(weight * now[word] / (now[word] + before[word])) for word, weight in mass.items()}


def most_central(
    sentences: Sequence[Sentence], weights: Mapping[str, float], told: Collection[str] = ()
) -> list[Sentence]:
    """Return the sentences, the nearest to the centre first; words in `told` count for nothing."""
    scored = [(_centrality(s, weights, told), s.importance, -at, s) for at, s in enumerate(sentences)]
    scored.sort(key=lambda one: one[:3], reverse=True)
    return [one[3] for one in scored if one[0] > 0]


def _centrality(sentence: Sentence, weights: Mapping[str, float], told: Collection[str]) -> float:
    weight = 0.0  # and no `sum`, which adds floats in another way since Python 3.12
    for word in sentence.stems:
        if word not in told:
            weight += weights.get(word, 0.0)
    return weight * sqrt(sentence.importance / len(sentence.stems))
