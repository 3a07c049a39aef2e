"""Sentences of a text in any script."""

from __future__ import annotations

import re

from cogitate.memory.language.endings import SPACED, UNSPACED

#: Words after which a full stop ends no sentence.
_ABBREVIATIONS = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "approx", "dept"})
_MAY_END = frozenset({"a.m", "p.m", "etc", "no", "inc"})
_END = re.compile(rf"(?<![{SPACED}])[{SPACED}]++[\"'”’»)\]]*+(?=\s|$)|[{UNSPACED}]++[”」』）]*+|\n++")
_NO_SPACE = re.compile(r"\S")
_INITIAL = re.compile(r"(?!I)[^\W\d_]\.")  # "J."


def split_sentences(text: str) -> list[str]:
    """Return the trimmed sentences of `text` in order, by the full stops of its script and line ends."""
    found: list[str] = []
    start = seen = 0  # where the sentence begins, and up to where its words were looked at
    last = ""  # word of the sentence so far
    for match in _END.finditer(text):
        last = (text[seen : match.end()].rsplit(None, 1) or [last])[-1]
        seen = match.end()
        word = last.lstrip("(\"'")
        short = word.rstrip(".").casefold()
        if short in _ABBREVIATIONS or _INITIAL.fullmatch(word) or (short in _MAY_END and _goes_on(text, seen)):
            continue
        if last:
            found.append(text[start:seen].strip())
        start, last = seen, ""
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _goes_on(text: str, at: int) -> bool:
    """Tell whether the next word after an index begins with a small letter."""
    following = _NO_SPACE.search(text, at)
    return following is not None and following[0].islower()
