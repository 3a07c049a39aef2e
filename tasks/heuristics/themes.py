"""The sentences that tell most of what a period was about, of those that its entries hold.

A word weighs by the sentences that it stands in, each by its importance, and by how many of all sentences with that
word are of the period: a rumour that fills a day weighs much, a habit of every day little. The sentence whose words
weigh most, for the root of their number, is nearest to the centre of the period (the centroid of extractive summaries;
Radev et al. 2004). Words that were told count half for the next (maximal marginal relevance; Carbonell and Goldstein
1998).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from heapq import heappop, heappush
from itertools import chain, takewhile
from math import fsum, log1p, sqrt
from operator import itemgetter
from typing import NamedTuple

from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import normal, stems
from cogitate.memory.summaries.conversations import is_header

TRIVIAL = 1  # importance of what is not worth telling however often it happens
SHORT = 160  # characters: an observation that is told in one piece
_ONE = 4.0  # importance above the trivial that counts as one sentence


class Part(NamedTuple):
    """A sentence, or a short text in one piece, with its stems."""

    text: str
    stems: frozenset[str]


class Reading(NamedTuple):
    """The parts of a text that a reflection uses."""

    key: str  # that exact repeats share
    parts: tuple[Part, ...]


class Sentence(NamedTuple):
    """A part of an entry that may be told."""

    part: Part
    number: int  # of the entry
    importance: float
    scale: float  # of the weight of its words


def sentence_of(part: Part, number: int, importance: float) -> Sentence:
    """Return a part of the entry with a number and an importance."""
    return Sentence(part, number, importance, sqrt(importance / len(part.stems)))


@lru_cache(maxsize=65_536)  # some 100 MB; an owner's memories are read again by each reflection
def read(text: str, whole: bool = False) -> Reading:
    """Return what a text holds; its parts are its sentences, or all of it where it is short and told as a `whole`."""
    sentences = [text.strip()] if whole and len(text) <= SHORT else split_sentences(text)
    parts = (
        Part(sentence, found)
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
    mass: defaultdict[str, float] = defaultdict(float)
    for part, number, importance, _ in sentences:
        weight = (importance - TRIVIAL) * (1 + log1p(repeats[number]) if number in repeats else 1)
        for word in part.stems:
            mass[word] += weight
    before = Counter(chain.from_iterable(part.stems for text in earlier for part in read(text).parts))
    if not before:
        return {word: log1p(weight / _ONE) for word, weight in mass.items()}
    now = Counter(chain.from_iterable(s.part.stems for s in sentences))
    return {word: log1p(weight / _ONE * sqrt(now[word] / (now[word] + before[word]))) for word, weight in mass.items()}


def most_central(
    ranked: Iterable[tuple[float, Sentence]],
    weights: Mapping[str, float],
    told: Set[str] = frozenset(),
    least: float = 0.0,
) -> Iterator[Sentence]:
    """Yield the sentences of at least some centrality, the nearest to the centre first; words in `told` count half.

    Args:
        ranked: sentences with their centrality before anything was told, the nearest first. What was told can only
            lower it: so not all are scored again.
    """
    if not told:
        yield from (sentence for _, sentence in takewhile(lambda pair: pair[0] >= least, ranked))
        return
    again: list[tuple[float, int, int, Sentence]] = []  # a heap of those that were scored again
    weight_of = weights.__getitem__
    for at, (most, sentence) in enumerate(ranked):
        while again and -again[0][0] > most:
            yield heappop(again)[-1]
        if most < least:
            break
        words = sentence.part.stems & told
        score = most - fsum(map(weight_of, words)) / 2 * sentence.scale if words else most
        if score >= least:
            heappush(again, (-score, sentence.number, at, sentence))
    while again:
        yield heappop(again)[-1]


def ranking(sentences: Iterable[Sentence], weights: Mapping[str, float]) -> list[tuple[float, Sentence]]:
    """Return sentences with their centrality: how near they are to the centre of the period, the nearest first."""
    weight_of = weights.__getitem__
    found = [(fsum(map(weight_of, one.part.stems)) * one.scale, one) for one in sentences]  # exact in any order
    found.sort(key=itemgetter(0), reverse=True)
    return found


def centrality(sentence: Sentence, weights: Mapping[str, float], told: Set[str] = frozenset()) -> float:
    """Return how near a sentence is to the centre of the period; words in `told` count half."""
    stemmed, weight_of = sentence.part.stems, weights.__getitem__
    whole = fsum(map(weight_of, stemmed)) * sentence.scale
    return whole - fsum(map(weight_of, stemmed & told)) / 2 * sentence.scale
