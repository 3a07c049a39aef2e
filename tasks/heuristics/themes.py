"""The sentences that tell most of what a period was about, of those that its entries hold.

A word weighs by the sentences that it stands in, each by its importance, and by how many of all sentences with that
word are of the period: a rumour that fills a day weighs much, a habit of every day little. The sentence whose words
weigh most, for the root of their number, is nearest to the centre of the period (the centroid of extractive summaries;
Radev et al. 2004). Words that were told count half for the next (maximal marginal relevance; Carbonell and Goldstein
1998).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from math import fsum, log1p, sqrt
from operator import itemgetter
from typing import NamedTuple

from cogitate.memory.language.port import is_courtesy
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.speakers import Speakers
from cogitate.memory.language.text import normal, stems
from cogitate.memory.summaries.conversations import is_header

TRIVIAL = 1  # importance of what is not worth telling however often it happens
SHORT = 160  # characters: an observation that is told in one piece
_ONE = 4.0  # importance above the trivial that counts as one sentence
_ANYBODY = Speakers(())


class Part(NamedTuple):
    """A sentence, or a short text in one piece, with its stems."""

    text: str
    stems: frozenset[str]
    courteous: bool  # mere courtesy from any speaker


class Reading(NamedTuple):
    """The parts of a text that a reflection uses."""

    key: str  # that exact repeats share
    parts: tuple[Part, ...]


class Sentence(NamedTuple):
    """A part of an entry that may be told."""

    part: Part
    number: int  # of the entry
    importance: float


@lru_cache(maxsize=65_536)  # some 100 MB; an owner's memories are read again by each reflection
def read(text: str, whole: bool = False) -> Reading:
    """Return what a text holds; its parts are its sentences, or all of it where it is short and told as a `whole`."""
    sentences = [text.strip()] if whole and len(text) <= SHORT else split_sentences(text)
    parts = (
        Part(sentence, found, is_courtesy(sentence, _ANYBODY))
        for sentence in sentences
        if (found := frozenset(stems(sentence))) and not is_header(sentence)
    )
    return Reading(normal(text), tuple(parts))


def word_weights(
    sentences: Sequence[Sentence], repeats: Mapping[int, int], earlier: Iterable[str] = ()
) -> Mapping[str, float]:
    """Return the weight of each stem.

    Args:
        repeats: how often entries were observed again, by number.
        earlier: the texts of the time before.
    """
    mass: dict[str, float] = {}
    for sentence in sentences:
        weight = (sentence.importance - TRIVIAL) * (1 + log1p(repeats.get(sentence.number, 0)))
        for word in sentence.part.stems:
            mass[word] = mass.get(word, 0.0) + weight
    now = Counter(chain.from_iterable(s.part.stems for s in sentences))
    before = Counter(chain.from_iterable(part.stems for text in earlier for part in read(text).parts))
    return {word: log1p(weight / _ONE * sqrt(now[word] / (now[word] + before[word]))) for word, weight in mass.items()}


def most_central(
    sentences: Iterable[Sentence], weights: Mapping[str, float], told: Set[str] = frozenset(), least: float = 0.0
) -> list[Sentence]:
    """Return the sentences of at least some centrality, the nearest to the centre first; words in `told` count half."""
    scored = [(centrality(s, weights, told), s) for s in sentences]
    return [s for score, s in sorted(scored, key=itemgetter(0), reverse=True) if score >= least]


def centrality(sentence: Sentence, weights: Mapping[str, float], told: Set[str] = frozenset()) -> float:
    """Return how near a sentence is to the centre of the period."""
    found = sentence.part.stems
    weight = fsum(map(weights.__getitem__, found))  # exact, and so the same in any order
    if told and (again := found & told):
        weight -= fsum(map(weights.__getitem__, again)) / 2
    return weight * sqrt(sentence.importance / len(found))
