"""The texts of an answer, at any depth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_DIGITS = re.compile(r"\d+(?:st|nd|rd|th)?")
TIME = re.compile(r"\d{1,2}(:\d\d)? ?([ap]\.?m\.?)?", re.IGNORECASE)


def texts_of(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts of an answer's value, each with its field as a constraint names it, such as "items.place"."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from texts_of(part, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of(part, field)


def lists_of(value: Any, choices: frozenset[str]) -> Iterator[list[str]]:
    """Yield the texts of each list of objects: one per object, without times, figures and choices."""
    if isinstance(value, dict):
        for part in value.values():
            yield from lists_of(part, choices)
    elif isinstance(value, list) and value:
        rows = [
            " ".join(
                _DIGITS.sub("", t.casefold()) for _, t in texts_of(part) if t not in choices and not TIME.fullmatch(t)
            )
            for part in value
        ]
        if any(rows):
            yield rows
