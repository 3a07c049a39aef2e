"""Vectors of English words, and how frequent a word is: a question about a raise finds what is said of a salary.

`word_vectors.txt` holds the stems of the most frequent words of GloVe (Pennington, Socher and Manning 2014; 6B, 100
dimensions, in the public domain by PDDL 1.0), the most frequent first, each with its first principal components as
bytes in base 64. `python -m bench word-vectors` makes it. A text's vector is the weighed mean of those of its words
(Arora, Liang and Ma 2017, "A simple but tough-to-beat baseline for sentence embeddings"). Vectors are whole numbers,
and what makes them is rounded alike on every machine. In other languages all is silent.
"""

from __future__ import annotations

import math
from array import array
from base64 import b64decode
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from operator import mul
from typing import TypeAlias

Vector: TypeAlias = "array[int]"  # 127 times the numbers of a vector of length 1; empty without a word that has one

_UNIT = 127
#: The rank of the word that counts half. A word of rank r counts r / (r + this): by Zipf's law that is the weight
#: a / (a + p) of the paper for a word of probability p = 0.1 / r, with an a of 1.7e-4.
_HALF = 600


def rarity(stem: str) -> float:
    """Return how rare a word is in English, from about 0 for "say" to 1 for words that are not among the frequent."""
    places = _places()
    count = len(places)
    return math.log(2 + places.get(stem, count)) / math.log(2 + count)


def mean_vector(stems: Iterable[str]) -> Vector:
    """Return the weighed mean of the vectors of different words; empty if none has a vector."""
    places, vectors = _places(), _vectors()
    total = [0.0] * (len(vectors[0]))
    for stem in dict.fromkeys(stems):
        place = places.get(stem)
        if place is not None:
            weight = (place + 1) / (place + 1 + _HALF)
            total = [value + weight * number for value, number in zip(total, vectors[place], strict=True)]
    length = math.sqrt(math.fsum([value * value for value in total]))
    return array("b", [round(_UNIT * value / length) for value in total] if length else ())


def cosine(first: Vector, second: Vector) -> float:
    """Return the cosine of two vectors; 0 where one is empty."""
    product: int = sum(map(mul, first, second))
    return product / _UNIT**2


@cache
def _lines() -> tuple[tuple[str, str], ...]:
    text = (resources.files(__package__) / "word_vectors.txt").read_text(encoding="ascii")
    return tuple((stem, numbers) for stem, _, numbers in (line.partition(" ") for line in text.splitlines()))


@cache
def _places() -> Mapping[str, int]:
    return {stem: place for place, (stem, _) in enumerate(_lines())}


@cache
def _vectors() -> tuple[array[int], ...]:
    return tuple(array("b", b64decode(numbers)) for _, numbers in _lines())
