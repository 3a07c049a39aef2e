"""A cache of values computed from texts, for texts that are searched again.

A recall reads all live entries of an owner, in order. A cache that evicts the least recently used value loses
everything to such a scan once there are more entries than it holds. This cache evicts texts regardless of their use,
so it still holds the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value", bound=Sized)

_STRIDE = 7_919  # a prime, so that evictions follow no order of texts


class TextCache(Generic[Value]):
    """The results of `make` by text. Thread-safe.

    Args:
        make: computes the value of a text, deterministically. Callers share the value and must not change it.
        most: the largest number of items in all values together; each text counts as one more.
    """

    def __init__(self, make: Callable[[str], Value], *, most: int) -> None:
        self._make = make
        self._most = most
        self._values: dict[str, Value] = {}
        self._texts: list[str] = []
        self._items = 0
        self._next = 0
        self._lock = Lock()

    def of(self, text: str) -> Value:
        """Return the value of a text."""
        value = self._values.get(text)
        return value if value is not None else self._add(text)

    def _add(self, text: str) -> Value:
        value = self._make(text)
        size = len(value) + 1
        with self._lock:
            if text not in self._values and size <= self._most:
                while self._items + size > self._most:
                    self._evict_one()
                self._values[text] = value
                self._texts.append(text)
                self._items += size
        return value

    def _evict_one(self) -> None:
        self._next += _STRIDE
        at = self._next % len(self._texts)
        self._texts[at], self._texts[-1] = self._texts[-1], self._texts[at]
        self._items -= len(self._values.pop(self._texts.pop())) + 1
