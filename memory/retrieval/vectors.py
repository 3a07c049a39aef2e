"""Vectors of texts, packed into one byte per number, and their cosine.

The number with the largest magnitude becomes 127 or -127. The norm in these units comes first: number / norm is the
number of the unit vector.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable
from operator import mul

_NORM = struct.Struct("<f")
_LARGEST = 127


def packed(numbers: Iterable[float]) -> bytes:
    """Return a vector in packed form.

    Raises:
        ValueError: if it is not a list of finite numbers, at least one of them not 0.
    """
    given = array("d", numbers)
    largest = max(map(abs, given), default=0.0)
    if not all(map(math.isfinite, given)) or not largest:
        raise ValueError("a vector is a list of finite numbers, not all 0")
    small = array("b", (round(number / largest * _LARGEST) for number in given))
    return _NORM.pack(math.sqrt(sum(map(mul, small, small)))) + small.tobytes()


def dimensions(vector: bytes) -> int:
    """Return the number of dimensions of a packed vector."""
    return len(vector) - _NORM.size


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two packed vectors, in [-1, 1] but for rounding; 0 if they differ in dimensions."""
    if len(one) != len(other):
        return 0.0
    dot: int = sum(map(mul, _numbers(one), _numbers(other)))
    (norm,), (other_norm,) = _NORM.unpack_from(one), _NORM.unpack_from(other)
    return float(dot / (norm * other_norm))


def _numbers(vector: bytes) -> memoryview:
    return memoryview(vector)[_NORM.size :].cast("b")
