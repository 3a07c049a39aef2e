"""Counts of the terms of texts, kept for texts that are searched again.

A recall reads all live entries of an owner, in order. A cache that drops what was used least recently loses everything
to such a scan as soon as there are more entries than it holds; here a text makes room that any text may have had, so
that the others are still found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock

from memory.language.concepts import THEMES
from memory.language.text import stems

MOST = 500_000  # terms in all texts together: some 50 MB
_STRIDE = 7_919  # a prime: which text makes room follows no order of texts


class TermCounts:
    """The terms of texts with their counts: stems of words, and the themes of these. Threads may share it.

    Args:
        with_themes: whether themes count as terms.
        most: the number of terms that are kept.
    """

    def __init__(self, *, with_themes: bool, most: int = MOST) -> None:
        self._with_themes = with_themes
        self._most = most
        self._counts: dict[str, Mapping[str, int]] = {}
        self._texts: list[str] = []
        self._terms = 0
        self._turn = 0
        self._lock = Lock()

    def of(self, text: str) -> Mapping[str, int]:
        """Return the counts of a text's terms. They are shared: do not change them."""
        found = self._counts.get(text)
        return found if found is not None else self._take_in(text)

    def _take_in(self, text: str) -> Mapping[str, int]:
        terms = stems(text)
        if self._with_themes:
            terms += [theme for word in terms for theme in THEMES.get(word, ())]
        counts = dict(Counter(terms))
        size = len(counts) + 1
        with self._lock:
            if text not in self._counts and size <= self._most:
                while self._terms + size > self._most:
                    self._drop_one()
                self._counts[text] = counts
                self._texts.append(text)
                self._terms += size
        return counts

    def _drop_one(self) -> None:
        self._turn += _STRIDE
        at = self._turn % len(self._texts)
        self._texts[at], self._texts[-1] = self._texts[-1], self._texts[at]
        self._terms -= len(self._counts.pop(self._texts.pop())) + 1
