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
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain
from math import fsum, log1p, sqrt
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
    importance: int
    scale: float  # of the weight of its words


def sentence_of(part: Part, number: int, importance: int) -> Sentence:
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


class Words:
    """How much each word of sentences matters, and how many of them have it: whole numbers, the same in any order."""

    def __init__(self) -> None:
        self._mass: defaultdict[str, int] = defaultdict(int)
        self._count: defaultdict[str, int] = defaultdict(int)

    def add(self, sentences: Iterable[Sentence]) -> None:
        """Count sentences."""
        mass, count = self._mass, self._count
        for part, _, importance, _ in sentences:
            weight = importance - TRIVIAL
            for word in part.stems:
                mass[word] += weight
                count[word] += 1

    def weights(self, repeated: Sequence[tuple[Sentence, int]], earlier: Iterable[str] = ()) -> Mapping[str, float]:
        """Return the weight of each word.

        Args:
            repeated: sentences among these, each with how often its entry was observed again.
            earlier: the texts of the time before.
        """
        mass: Mapping[str, float] = self._mass
        if repeated:
            mass = more = dict[str, float](self._mass)
            for (part, _, importance, _), times in repeated:
                for word in part.stems:
                    more[word] += (importance - TRIVIAL) * log1p(times)
        before = Counter(chain.from_iterable(part.stems for text in earlier for part in read(text).parts))
        if not before:
            return {word: log1p(weight / _ONE) for word, weight in mass.items()}
        now = self._count
        return {
            word: log1p(weight / _ONE * sqrt(now[word] / (now[word] + before[word]))) for word, weight in mass.items()
        }


class Centre:
    """Sentences by their nearness to the centre of their period, where each time the same words are told, or more.

    What was told can only lower a centrality: so a sentence is scored again only where it comes first.
    """

    def __init__(self, sentences: Iterable[Sentence], weights: Mapping[str, float]) -> None:
        self._weight_of = weight_of = weights.__getitem__
        scored = ((fsum(map(weight_of, one.part.stems)) * one.scale, one) for one in sentences)  # exact in any order
        #: A heap: centrality, negated, when so many words were told; the entry's number; centrality before any was.
        self._queue = [(-whole, one.number, at, 0, whole, one) for at, (whole, one) in enumerate(scored)]
        self._passed: list[tuple[float, int, int, int, float, Sentence]] = []
        heapify(self._queue)

    def nearest(self, told: Set[str], least: float = 0.0) -> Iterator[tuple[float, Sentence]]:
        """Yield the sentences of at least some centrality with it, the nearest first; words in `told` count half."""
        queue = self._queue
        for passed in self._passed:
            heappush(queue, passed)
        self._passed.clear()
        while queue and -queue[0][0] >= least:
            below, number, at, upto, whole, sentence = queue[0]
            words = sentence.part.stems & told if upto < len(told) else None
            if words:
                score = whole - fsum(map(self._weight_of, words)) / 2 * sentence.scale
                heapreplace(queue, (-score, number, at, len(told), whole, sentence))
            else:
                self._passed.append(heappop(queue))
                yield -below, sentence
