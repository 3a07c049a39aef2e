"""Cuts of text by content type (routing, "Truncation Rules"): never in the middle of a word, never above the limit.

The routing design's code cuts at 300 characters and then adds "...", which gives 303; its test wants at most 300 with
"...". Here the limit counts the "..." too. A word is split only where it alone is longer than the limit, and then never
between a letter and its accents or inside an emoji.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import msgspec

from cogitate.memory.language.text import UNSPACED, WHITE_SPACE, is_unspaced

Content = Literal["statement", "reasoning", "result", "other"]

ELLIPSIS = "..."
LEAST = 10  # characters: a smaller limit would leave nothing but dots
_JOINER = "\u200d"  # joins emoji into one
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # regional indicators: two make a flag
_SKIN = (0x1F3FB, 0x1F3FF)  # modify the emoji before them
_VIRAMA = 9  # combining class of what joins two consonants
#: Letters that belong to the letter before them (Thai and Lao am, Korean vowels and finals), or to the one after (Thai
#: and Lao vowels).
_TRAILING = ((0x0E33, 0x0E33), (0x0EB3, 0x0EB3), (0x1160, 0x11FF))
_LEADING = ((0x0E40, 0x0E44), (0x0EC0, 0x0EC4))
_BETWEEN = re.compile(rf"[\s{UNSPACED}]")
_END_MARKS = ".,;:…。、，；：،؛।" + WHITE_SPACE


class Truncation(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of each type of content in characters, the "..." included. Results and other content are never cut.

    Raises:
        ValueError: for a limit below 10.
    """

    statement: int = 300
    reasoning: int = 200
    enabled: bool = True

    def __post_init__(self) -> None:
        for limit in (self.statement, self.reasoning):
            if limit < LEAST:
                raise ValueError(f"a limit of {limit} characters is too small; use {LEAST} or more")

    def cut(self, text: str, content: Content) -> str:
        """Return the text, shortened if its type of content has a limit and truncation is on."""
        limit = {"statement": self.statement, "reasoning": self.reasoning}.get(content)
        return text if limit is None or not self.enabled else shorten(text, limit)


def shorten(text: str, limit: int, ellipsis: str = ELLIPSIS) -> str:
    """Return `text` cut to at most `limit` characters (10 or more), ending in the ellipsis if anything is cut."""
    if len(text) <= limit:
        return text
    most = limit - len(ellipsis)
    end, after = _last_between(text, most), _first_between_words(text, most + 1, most + limit + 2)
    if len(text[end:after].strip()) > limit:  # the word in the way
        end = _whole_characters(text, most)
    kept = text[:end].rstrip(_END_MARKS)
    return (kept or text[:end]) + ellipsis


def first_words(text: str, most: int) -> str:
    """Return the first `most` words of a text, with single spaces; two unspaced characters are one."""
    kept: list[str] = []
    left = 2 * most
    for word in text.split():
        unspaced = sum(map(is_unspaced, word))
        size = unspaced or 2
        if size > left:
            if unspaced and left:
                kept.append(word[: _whole_characters(word, left)])
            break
        kept.append(word)
        left -= size
    return " ".join(kept)


def last_between_words(text: str, most: int, least: int) -> int:
    """Return the last index up to `most`, and above `least`, after a word; else one between two visible characters."""
    end = _last_between(text, most)
    return end if end > least else _whole_characters(text, most)


def _last_between(text: str, most: int) -> int:
    """Return the last index up to `most` at which a cut splits no word, or 0."""
    found = _BETWEEN.search(text[most::-1])
    last = 0 if found is None else min(most, most - found.start() + 1)
    return next((at for at in range(last, 0, -1) if _between_words(text, at)), 0)


def _first_between_words(text: str, least: int, end: int) -> int:
    """Return the first index from `least` on at which a cut splits no word; `end` or the text's end if none is left."""
    end = min(end, len(text))
    found = _BETWEEN.search(text, least - 1, end)
    first = end if found is None else max(least, found.start())
    return next((at for at in range(first, end) if _between_words(text, at)), end)


def _between_words(text: str, at: int) -> bool:
    """Return whether a cut before index `at` splits no word."""
    before, after = text[at - 1], text[at]
    if before.isspace() or after.isspace():
        return True
    return (is_unspaced(before) or is_unspaced(after)) and not _continues(text, at)


def _whole_characters(text: str, at: int) -> int:
    """Return the last index up to `at` at which a cut splits no visible character, or `at`."""
    return next((i for i in range(at, 0, -1) if not _continues(text, i)), at)


def _continues(text: str, at: int) -> bool:
    """Return whether the code point at `at` belongs to the same visible character as the one before it."""
    char = text[at]
    if unicodedata.category(char) in ("Mn", "Mc", "Me") or char == _JOINER or text[at - 1] == _JOINER:
        return True
    if _within(char, (_SKIN, *_TRAILING)) or _within(text[at - 1], _LEADING):
        return True
    if unicodedata.combining(text[at - 1]) == _VIRAMA:
        return True
    if char not in _FLAGS:
        return False
    return (at - len(text[:at].rstrip(_FLAGS))) % 2 == 1


def _within(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)
