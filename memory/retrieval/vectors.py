"""Vectors of texts with one byte a number, and their cosine.

The largest number becomes 127 or -127, and the vector's length in these units comes first: number / length is that of
the vector of length 1.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable
from operator import mul

_LENGTH = struct.Struct("<f")
_LARGEST = 127


def packed(numbers: Iterable[float]) -> bytes:
    """Return a vector in this form.

    Raises:
        ValueError: if it is not a list of finite numbers, at least one of them not 0.
    """
    given = array("d", numbers)
    largest = max(map(abs, given), default=0.0)
    if not all(map(math.isfinite, given)) or not largest:
        raise ValueError("a vector is a list of finite numbers, not all 0")
    small = array("b", (round(number / largest * _LARGEST) for number in given))
    return _LENGTH.pack(math.sqrt(sum(map(mul, small, small)))) + small.tobytes()


def dimensions(vector: bytes) -> int:
    """Return how many numbers a packed vector has."""
    return len(vector) - _LENGTH.size


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two packed vectors, in [-1, 1] but for rounding; 0 if they differ in dimensions."""
    if len(one) != len(other):
        return 0.0
    dot: int = sum(map(mul, _numbers(one), _numbers(other)))
    (length,), (its,) = _LENGTH.unpack_from(one), _LENGTH.unpack_from(other)
    return float(dot / (length * its))


def _numbers(vector: bytes) -> memoryview:
    return memoryview(vector)[_LENGTH.size :].cast("b")
