"""Derives choices from integers and names by hashing: stateless, and the same in every process."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A short series of choices for one occasion, identified by `parts` (seed, purpose, owner, time)."""

    __slots__ = ("_key", "_turn")

    def __init__(self, *parts: int | str) -> None:
        self._key = "/".join(map(str, parts))
        self._turn = 0

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1 (64 hashed bits modulo `bound`: the bias is below 2**-50)."""
        self._turn += 1
        digest = blake2b(f"{self._key}#{self._turn}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % bound

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def percent(self, share: int) -> bool:
        """Return True in `share` of 100 cases."""
        return self.below(100) < share

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return the options in a chosen order (Fisher-Yates)."""
        result = list(options)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result
