"""Quotations in a text: the words between quotation marks are another's and stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable

from cogitate.memory.language.sentences import SPACED, UNSPACED, has_end

#: A quotation that the text opens and closes, or, as a part of a longer text, only opens or only closes.
_NO_MARK = '[^“”„"«»「」]*+'
#: The mark opens quotations in Finnish and Hebrew, and closes them in other languages.
_OPENING = r"(?:(?<![^\s(\[])”(?=\S)|[“„\"«「])"
_QUOTED = re.compile(
    rf"({_OPENING}{_NO_MARK}[”“\"»」]|{_OPENING}{_NO_MARK}$|^{_NO_MARK}(?:(?<![\s(\[])”|”(?!\S)|[»」])|^{_NO_MARK}\"(?=$))"
)
_WHOLE = re.compile(rf"{_OPENING}\s?({_NO_MARK})[”“\"»」]")
_STOPS = SPACED + UNSPACED
_STOP = re.compile(rf"[{_STOPS}]+[\"'”’»)\]」』“]*|\n")
_MARKS = re.compile('[“”„"«»「」]')


def outside_quotations(text: str, change: Callable[[str], str]) -> str:
    """Return `text` with `change` applied to every part outside quotation marks."""
    parts = _QUOTED.split(text)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def within_quotations(text: str, change: Callable[[str, str], str]) -> str:
    """Return `text` with `change` applied to each quotation, which also gets the text before the quotation."""
    return _WHOLE.sub(lambda said: said[0].replace(said[1], change(said[1], text[: said.start()])), text)


def without_quotations(text: str) -> str:
    """Return `text` without its quotations."""
    return _QUOTED.sub(" ", text)


def excerpt(part: str, text: str) -> str:
    """Return a part of a text as it stands there, with an ellipsis where it is cut out of a sentence."""
    bare = part.rstrip(_STOPS)
    start = text.find(part) if part in text else text.find(bare)
    if start < 0:
        return part
    before, after = text[:start].rstrip(" \t"), text[start + len(bare) :]
    stop = _STOP.match(after)
    opens = "" if not before or before.endswith("\n") or has_end(before) else "…"
    ends = stop[0].rstrip("\n") if stop else "…" if after.strip() else ""
    return f"{opens}{bare}{ends}"


def quotations_in(text: str) -> list[str]:
    """Return the quotations that `text` opens and closes, without their marks."""
    return [said.rstrip() for said in _WHOLE.findall(text)]


def without_marks(text: str) -> str:
    """Return `text` without quotation marks."""
    return _MARKS.sub("", text)
