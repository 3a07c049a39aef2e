"""The sentences that tell most of what a period was about, of those that its entries hold.

A word weighs by the sentences that it stands in, each by its importance, and by how many of all sentences with that
word are of the period: a rumour that fills a day weighs much, a habit of every day little. The sentence whose words
weigh most, for the root of their number, is nearest to the centre of the period (the centroid of extractive summaries;
Radev et al. 2004).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
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


def weights_of(
    sentences: Iterable[Sentence], repeats: Mapping[int, int], earlier: Iterable[str] = ()
) -> Mapping[str, float]:
    """Return the weight of each word of sentences.

    Args:
        repeats: how often entries were observed again, by number.
        earlier: the texts of the time before.
    """
    mass, now = defaultdict[str, float](float), Counter[str]()
    for part, number, importance, _ in sentences:
        weight = (importance - TRIVIAL) * (1 + log1p(repeats.get(number, 0)))
        for word in part.stems:
            mass[word] += weight
        now.update(part.stems)
    before = Counter(chain.from_iterable(part.stems for text in earlier for part in read(text).parts))
    return {word: log1p(weight / _ONE * sqrt(now[word] / (now[word] + before[word]))) for word, weight in mass.items()}


def nearness(sentence: Sentence, weights: Mapping[str, float]) -> float:
    """Return how near a sentence is to the centre of a period with these weights of words."""
    return fsum(map(weights.__getitem__, sentence.part.stems)) * sentence.scale  # exact in any order
