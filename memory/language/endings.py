"""Marks that end a sentence, in the scripts that have them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cogitate.memory.language.text import KANA_AND_HAN, WHITE_SPACE

#: Halves of a character class. After a mark of the first a space follows, or the text ends; not so after the second.
SPACED = ".!?…\u061f\u06d4\u0964\u0965\u0589\u1362\u17d4\u104b"
UNSPACED = "。！？｡"
QUESTIONS = ("?", "？", "؟", "\u1367", "\u037e")
_CLOSING = "\"'”’»)\\]」』）”“"  # the last closes German ones
_ENDED = re.compile(rf"[{SPACED}{UNSPACED}][{_CLOSING}]*+$|[{_CLOSING}]$")
_NEEDS_NO_SPACE = re.compile(f"[{UNSPACED}][”’]?$|[」』]$")
_LOOSE = "?？؟,;:、，；：،؛" + WHITE_SPACE
_HAN_LAST = re.compile(f"[{KANA_AND_HAN}]$")
_DANDA_LAST = re.compile("[\u0900-\u09ff]$")  # Devanagari and Bengali
_NO_STOP_LAST = re.compile("[\u0e00-\u0eff]$")  # Thai and Lao: a space, or nothing


def has_end(text: str) -> bool:
    """Return whether a text ends with the mark of a sentence, or with a quotation mark or bracket."""
    return _ENDED.search(text[-8:]) is not None


def with_end(text: str) -> str:
    """Return a text with the full stop of its script, unless it has an end; a question mark gives way."""
    if has_end(text) and not text.endswith(QUESTIONS):
        return text
    bare = text.rstrip(_LOOSE)
    return bare if not bare or has_end(bare) else bare + full_stop(bare)


def joined(sentences: Iterable[str]) -> str:
    """Return sentences as one text: with a space between them, except after a full stop that needs none."""
    parts: list[str] = []
    for sentence in sentences:
        spaced = any(parts) and not _NEEDS_NO_SPACE.search(parts[-1][-2:])
        parts.append(f" {sentence}" if spaced else sentence)
    return "".join(parts)


def full_stop(text: str) -> str:
    """Return the full stop of the script in which a text ends; "" where it has none."""
    if text.isascii():
        return "."
    if _HAN_LAST.search(text):
        return "。"
    if _DANDA_LAST.search(text):
        return "।"
    return "" if _NO_STOP_LAST.search(text) else "."
