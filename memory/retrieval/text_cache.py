"""A cache of values computed from texts, for texts that are searched again.

A recall reads all live entries of an owner, in order. A cache that drops what was used least recently loses everything
to such a scan as soon as there are more entries than it holds; here the text that makes room is chosen regardless
of its use, so that the others are still found.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from threading import Lock
from typing import Generic, TypeVar

Made = TypeVar("Made", bound=Sized)

_STRIDE = 7_919  # a prime: which text makes room follows no order of texts


class TextCache(Generic[Made]):
    """The results of `make` by text. Thread-safe.

    Args:
        make: computes the value of a text, deterministically. Callers share the value and must not change it.
        most: the number of items in all that is kept, one more for each text.
    """

    def __init__(self, make: Callable[[str], Made], *, most: int) -> None:
        self._make = make
        self._most = most
        self._kept: dict[str, Made] = {}
        self._texts: list[str] = []
        self._items = 0
        self._turn = 0
        self._lock = Lock()

    def of(self, text: str) -> Made:
        """Return the value of a text."""
        found = self._kept.get(text)
        return found if found is not None else self._take_in(text)

    def _take_in(self, text: str) -> Made:
        made = self._make(text)
        size = len(made) + 1
        with self._lock:
            if text not in self._kept and size <= self._most:
                while self._items + size > self._most:
                    self._drop_one()
                self._kept[text] = made
                self._texts.append(text)
                self._items += size
        return made

    def _drop_one(self) -> None:
        self._turn += _STRIDE
        at = self._turn % len(self._texts)
        self._texts[at], self._texts[-1] = self._texts[-1], self._texts[at]
        self._items -= len(self._kept.pop(self._texts.pop())) + 1
