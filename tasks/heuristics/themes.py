"""Weights of a period's sentences: how much each says about what the period was about.

A word's weight grows with the importance of the sentences that contain it, and with the share of these sentences that
falls into the period: a rumour that fills a day weighs much, a daily habit little. The sentence with the largest sum of
weights, divided by the square root of its number of words, is nearest to the centre of the period (the centroid of
extractive summaries; Radev et al. 2004).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import fsum, log1p, sqrt
from typing import NamedTuple

from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import QUESTIONS, split_sentences
from cogitate.memory.language.text import stems
from cogitate.memory.summaries.conversations import is_header
from cogitate.tasks.heuristics.promises import MOST_QUOTED

TRIVIAL = 1  # importance that is never worth telling, however often it repeats
FEWEST = 2  # content words of a sentence that can stand alone
SHORT = 160  # characters: an observation up to this length is told whole
_ONE = 4.0  # importance above the trivial that counts as one sentence


class Part(NamedTuple):
    """A sentence, or a short text in one piece, with its stems."""

    text: str
    stems: frozenset[str]
    stands: bool  # it makes sense alone and is short enough to quote


class Sentence(NamedTuple):
    """A part of an entry that may be told."""

    part: Part
    number: int  # of the entry
    importance: int
    scale: float  # factor on the weight of its words


def sentence_of(part: Part, number: int, importance: int) -> Sentence:
    """Return a part as a sentence of the entry with this number and importance."""
    return Sentence(part, number, importance, sqrt(importance / len(part.stems)))


@lru_cache(maxsize=65_536)  # some 100 MB; an owner's memories are read again by each reflection
def parts_of(text: str, whole: bool = False) -> tuple[Part, ...]:
    """Return the parts of a text: its sentences, or all of it if it is short and `whole` is set."""
    sentences = [text.strip()] if whole and len(text) <= SHORT else split_sentences(text)
    return tuple(
        Part(sentence, found, _stands(sentence, found))
        for sentence in sentences
        if (found := frozenset(stems(sentence))) and not is_header(sentence)
    )


def _stands(sentence: str, found: Collection[str]) -> bool:
    return (
        len(found) >= FEWEST
        and len(sentence) <= MOST_QUOTED
        and not sentence.endswith(QUESTIONS)
        and language_of(sentence).stands_alone(sentence)
    )


def weights_of(
    sentences: Sequence[Sentence], repeats: Mapping[int, int], earlier: Iterable[str] = ()
) -> Mapping[str, float]:
    """Return the weight of each word of sentences.

    Args:
        repeats: how often each entry was observed again, by its number.
        earlier: the texts of the time before.
    """
    mass = defaultdict[str, float](float)
    for part, number, importance, _ in sentences:
        weight = (importance - TRIVIAL) * (1 + log1p(repeats.get(number, 0)))
        for word in part.stems:
            mass[word] += weight
    now = Counter(chain.from_iterable(sentence.part.stems for sentence in sentences))
    before = Counter(chain.from_iterable(part.stems for text in earlier for part in parts_of(text)))
    return {word: log1p(weight / _ONE * sqrt(now[word] / (now[word] + before[word]))) for word, weight in mass.items()}


def nearness(sentence: Sentence, weights: Mapping[str, float]) -> float:
    """Return how near a sentence is to the centre of a period with these weights of words."""
    return fsum(map(weights.__getitem__, sentence.part.stems)) * sentence.scale  # exact in any order
