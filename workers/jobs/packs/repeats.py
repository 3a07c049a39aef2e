"""Condensing of cases: several cases share one copy of a text, and dates do not repeat. `restored` undoes it.

Lines outside tags with which all cases end come once, before the cases. An item that several cases list, such as an
available action, comes once with a number, and each case has only the number. An action that one case lists gets its
number in that case, so that the model can answer with it. Memories stay in their owner's case, even if other owners
share them. A line omits the date, AM or PM that it shares with the line above. Only the first line of a case names its
character; other lines have `NAME` instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

NAME = "@"  # replaces the name of a case's character, except in the first line of the case

_TIMED = re.compile(r"- \[(?P<date>[^\[\],]+, )?(?P<time>\d[^\[\]]*?)(?P<half> [AP]M)?\] ")  # "- [day 1, 9:02 AM] "
_NAME = re.compile(r"[^,.]+")
_AS_NAME = re.compile(rf"(?<!\w){NAME}(?!\w)")
_NUMBER = re.compile(r"#\d+")
_DASH = "- "  # precedes the bracket of a timed line; condensed cases omit it
_OFFERED = "Available actions: "  # prefix of a list between tags
_LISTED = "- "  # prefix of a list before the first tag
_REMEMBERED = "- ["  # prefix of a memory
_BETWEEN = "; "  # separates the items of a list
_SHORTEST = 12  # characters of an item that is worth a number


class Condensed(NamedTuple):
    """Condensed cases, and the texts that they share."""

    before: str  # lines that end the part before the first tag of each case
    after: str  # lines that end each case
    cases: tuple[str, ...]
    repeated: tuple[str, ...] = ()  # items that the numbers from 1 on replace in the cases


def condensed(cases: Sequence[str]) -> Condensed:
    """Return the cases without their repeats. Use them only if `restored` returns the original cases."""
    unnamed = [_unnamed(_undated(case.split("\n")), name) for case, name in zip(cases, _names(cases), strict=True)]
    parts = [_parts(_without_dashes(lines)) for lines in unnamed]
    before, after = _common_end([start[1:] for start, *_ in parts]), _common_end([end for *_, end in parts])
    short = [
        [*start[: len(start) - len(before)], *fenced, *end[: len(end) - len(after)]] for start, fenced, end in parts
    ]
    repeated = _repeated(short)
    numbers = {text: numbered(index) for index, text in enumerate(repeated)}
    others = [text for text in _long(short, _OFFERED) if text not in numbers]
    numbers |= {text: f"{numbered(index)} {text}" for index, text in enumerate(dict.fromkeys(others), len(repeated))}
    return Condensed(
        "\n".join(before), "\n".join(after), tuple("\n".join(_replaced(lines, numbers)) for lines in short), repeated
    )


def restored(packed: Condensed) -> list[str]:
    """Return the original cases."""
    before, after = (text.split("\n") if text else [] for text in packed[:2])
    cases = []
    for case, name in zip(packed.cases, _names(packed.cases), strict=True):
        texts = {text: full for _, text, full in _numbers(case, packed.repeated)}
        start, fenced, end = _parts(_replaced(case.split("\n"), texts))
        lines = _named([*start, *before, *fenced, *end, *after], name)
        cases.append("\n".join(_dated(_with_dashes(lines))))
    return cases


def numbered(index: int) -> str:
    """Return the number that replaces the item at this index."""
    return f"#{index + 1}"


def texts_by_number(packed: Condensed) -> list[dict[str, str]]:
    """Return the full texts of each case by their short forms: items by number, the character's name by `NAME`."""
    return [
        {NAME: name} | {short: with_name(full, name) for short, _, full in _numbers(case, packed.repeated)}
        for case, name in zip(packed.cases, _names(packed.cases), strict=True)
    ]


def with_name(text: str, name: str) -> str:
    """Return a text with a character's name in place of `NAME`."""
    return _AS_NAME.sub(lambda _: name, text)


def agreement(texts: Sequence[Sequence[str]]) -> int:
    """Return the length of the longest common prefix, in characters or lines."""
    return sum(1 for _ in takewhile(lambda place: len({*place}) == 1, zip(*texts, strict=False)))


def _parts(lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Split lines into those before the first tag, from the first to the last tag, and after the last tag."""
    tags = [at for at, line in enumerate(lines) if line.startswith("<")] or [len(lines), len(lines) - 1]
    return lines[: tags[0]], lines[tags[0] : tags[-1] + 1], lines[tags[-1] + 1 :]


def _common_end(texts: Sequence[list[str]]) -> list[str]:
    """Return the longest common suffix of these lists of lines."""
    backwards = [lines[::-1] for lines in texts]
    return backwards[0][: agreement(backwards)][::-1]


def _names(cases: Sequence[str]) -> list[str]:
    """Return the name in each case's first line: from the first word that differs, up to a comma or a full stop."""
    firsts = [case.partition("\n")[0] for case in cases]
    at = firsts[0].rfind(" ", 0, agreement(firsts)) + 1
    return [found[0] if (found := _NAME.match(first, at)) else NAME for first in firsts]


def _listed(lines: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the index, the prefix and the items of each line that is a list."""
    before, _, _ = _parts([*lines])
    for index, line in enumerate(lines):
        prefix = _LISTED if index < len(before) else _OFFERED
        if line.startswith(prefix) and not line.startswith(_REMEMBERED):
            yield index, prefix, line.removeprefix(prefix).split(_BETWEEN)


def _repeated(cases: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the items that more than one case lists, sorted."""
    counts = Counter(text for lines in cases for text in {*_long([lines])})
    return tuple(sorted(text for text, times in counts.items() if times > 1))


def _long(cases: Iterable[Sequence[str]], *prefixes: str) -> Iterator[str]:
    """Yield the items that are worth a number, of all lists or of those with one of these prefixes."""
    for lines in cases:
        for _, prefix, listed in _listed(lines):
            if not prefixes or prefix in prefixes:
                yield from (text for text in listed if len(text) >= _SHORTEST)


def _numbers(case: str, repeated: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each number in a case, the item that contains it, and the full text of that item."""
    texts = {numbered(index): text for index, text in enumerate(repeated)}
    for _, prefix, listed in _listed(case.split("\n")):
        for text in listed:
            number, _, own = text.partition(" ")
            if text in texts:
                yield text, text, texts[text]
            elif prefix == _OFFERED and own and number not in texts and _NUMBER.fullmatch(number):
                yield number, text, own


def _replaced(lines: Sequence[str], replacements: Mapping[str, str]) -> list[str]:
    """Return lines with their list items replaced as this mapping says."""
    changed = [*lines]
    for index, prefix, listed in _listed(lines):
        changed[index] = prefix + _BETWEEN.join(replacements.get(text, text) for text in listed)
    return changed


def _unnamed(lines: Iterable[str], name: str) -> Iterator[str]:
    """Yield lines with `NAME` in place of a name, except in the first line."""
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for index, line in enumerate(lines):
        yield named.sub(NAME, line) if index and name in line else line


def _named(lines: Iterable[str], name: str) -> list[str]:
    return [with_name(line, name) if index and NAME in line else line for index, line in enumerate(lines)]


def _undated(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines without the date, AM or PM that they share with the line above."""
    date = half = ""
    for line in lines:
        if (found := _TIMED.match(line)) is None:
            date = half = ""
            yield line
            continue
        own, part = found["date"] or "", found["half"] or ""
        yield _timed("" if own == date else own, found["time"], "" if part == half else part, line[found.end() :])
        date, half = own or date, part or half


def _without_dashes(lines: Iterable[str]) -> list[str]:
    return [line.removeprefix(_DASH) if line.startswith(f"{_DASH}[") else line for line in lines]


def _with_dashes(lines: Iterable[str]) -> list[str]:
    return [f"{_DASH}{line}" if line.startswith("[") else line for line in lines]


def _dated(lines: Sequence[str]) -> Iterator[str]:
    date = half = ""
    for line in lines:
        if (found := _TIMED.match(line)) is None:
            date = half = ""
            yield line
            continue
        date, half = found["date"] or date, found["half"] or half
        yield _timed(date, found["time"], half, line[found.end() :])


def _timed(date: str, time: str, half: str, text: str) -> str:
    return f"- [{date}{time}{half}] {text}"
