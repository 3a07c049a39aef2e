"""Checks of the single values that a host passes: integers, strings and lists of strings."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from itertools import islice

from cogitate.memory.errors import InputError, quoted
from cogitate.memory.language.hidden_characters import is_blank

MAX_LABEL = 500  # characters of a place, a subject, a tag, …
MAX_NAMES = 1_000  # strings in a list: traits, tags, …


def check_integer(what: str, value: object, least: int, most: int) -> int:
    """Return an integer within bounds.

    Raises:
        InputError: naming the value and the bounds.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]  # or TypeError
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise InputError(f"{what} is {quoted(value)}: give an integer from {least:,} to {most:,}")
    return number


def check_text(what: str, value: object, most: int, *, blank: bool = False) -> str:
    """Return a string without lone surrogates, within a length, and not blank unless allowed.

    Raises:
        InputError: naming the value.
    """
    if not isinstance(value, str):
        raise InputError(f"{what} is {quoted(value)}: give a string")
    text = str.__str__(value)  # of a subclass, such as an enumeration, only the string
    if len(text) > most:
        raise InputError(f"{what} has {len(text):,} characters, at most {most:,} fit: {quoted(text)}")
    if not text.isascii() and not _encodable(text):
        raise InputError(f"{what} is {quoted(text)}: it has a lone surrogate; remove it")
    if not blank and is_blank(text):
        raise InputError(f"{what} is {quoted(text)}: it must not be blank")
    return text


def check_texts(what: str, values: object, *, most: int = MAX_LABEL, count: int = MAX_NAMES) -> tuple[str, ...]:
    """Return several strings, each checked as `check_text` does.

    Raises:
        InputError: naming the values; a single string is no list.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{what} are {quoted(values)}: give a list of strings")
    texts = tuple(islice(values, count + 1))
    if len(texts) > count:
        raise InputError(f"{what} are more than {count:,}")
    return tuple(check_text(f"one of {what}", text, most) for text in texts)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
