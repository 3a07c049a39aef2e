"""Patterns of words in any script."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cogitate.memory.language.text import MARKS, UNSPACED

WORD = rf"[\w{MARKS}]"
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_IS_KOREAN = re.compile("[\uac00-\ud7a3]")


def alternatives(ways: Iterable[str]) -> str:
    """Return a pattern for any of several texts, the longest first, with either apostrophe."""
    return "|".join(re.escape(way).replace("'", "['’]") for way in sorted(ways, key=lambda way: (-len(way), way)))


def runs_on(text: str) -> bool:
    """Return whether words of a text may stand within other words: in scripts without spaces, and in Korean."""
    return _IS_UNSPACED.search(text) is not None or _IS_KOREAN.search(text) is not None
