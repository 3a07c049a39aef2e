"""Short names: the part of a person's name that replaces it after the first mention."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from cogitate.memory.language.quotations import outside_quotations
from cogitate.memory.language.tables import english
from cogitate.memory.language.text import FUNCTION_WORDS, MARKS, words

_PART = re.compile(rf"[^\W\d_][\w{MARKS}'’-]+")  # of a name, that can stand for a person
_TITLES = english("titles")
#: Words in small letters within a name: "Ludwig van Beethoven".
_PARTICLES = frozenset(words("van von der den de del della di da do dos das du la le y e al el bin ibn zu af ten ter"))


def short_names(called: Iterable[str], known: Collection[str], said: Collection[str] = ()) -> dict[str, str]:
    """Return for each full name its first part, or else its last, if it identifies that person alone.

    Args:
        called: full names.
        known: all names to which a part of a name may refer.
        said: lower-case words of the talk; a name that contains one is a role, such as "Industrial Designer".
    """
    owners = _owners_of_words(frozenset((*known, *called)))
    found: dict[str, str] = {}
    for name in called:
        parts = name.split()
        if len(parts) < 2 or any(part.casefold() in said for part in parts if _PART.fullmatch(part)):
            continue
        if any(part[:1].islower() and part.casefold() not in _PARTICLES for part in parts):
            continue
        short = next((part for part in (parts[0], parts[-1]) if owners[part] == 1 and _is_name(part)), "")
        if short:
            found[name] = short
    return found


@lru_cache(maxsize=64)  # the people of a run
def _owners_of_words(names: frozenset[str]) -> Counter[str]:
    """Return how many names have each word."""
    return Counter(word for name in names for word in {*name.split()})


def _is_name(part: str) -> bool:
    low = part.casefold()
    is_whole = _PART.fullmatch(part) is not None and not part.isupper() and not part[0].islower()
    return is_whole and low not in _TITLES and low not in FUNCTION_WORDS


def with_short_names(text: str, short: Mapping[str, str], named: Collection[str] = ()) -> str:
    """Return a text in which short names replace full names from their second mention on, except in quotations.

    Args:
        named: the full names that were mentioned before the text.
    """
    if not short:
        return text
    before = {*named}

    def told(match: re.Match[str]) -> str:
        name = match[0]
        if name in before:
            return short[name]
        before.add(name)
        return name

    pattern = _any_of(frozenset(short))
    return outside_quotations(text, lambda part: pattern.sub(told, part))


def with_full_names(text: str, short: Mapping[str, str]) -> str:
    """Return a text in which those whom it names in full once are named in full throughout, except in quotations."""
    full = {part: name for name, part in short.items() if name in text}
    if not full:
        return text
    pattern = _any_of(frozenset((*full.values(), *full)))

    def told(match: re.Match[str]) -> str:
        after = match.string[match.end() : match.end() + 2]
        return match[0] if after[:1] == " " and after[1:].isupper() else full.get(match[0], match[0])  # of another name

    return outside_quotations(text, lambda said: pattern.sub(told, said))


@lru_cache(maxsize=64)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
