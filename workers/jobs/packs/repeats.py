"""Texts of cases without what several of them say, and without the dates of the lines above. `restored` undoes it.

A line outside tags that all cases have is said once, before them. A listed text that several have, such as an available
action, is told once under a number, and stands in each case as that number; an action of one case alone has a number
there, by which it is answered. What an owner remembers stays in its own case, even if others remember it too. In
a case, its character is named in the first line alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

NAME = "@"  # stands for the name of a case's character, but in the first line of the case

_TIMED = re.compile(r"- \[(?P<date>[^\[\],]+, )?(?P<time>\d[^\[\]]*?)(?P<half> [AP]M)?\] ")  # "- [day 1, 9:02 AM] "
_NAME = re.compile(r"[^,.]+")
_AS_NAME = re.compile(rf"(?<!\w){NAME}(?!\w)")
_NUMBER = re.compile(r"#\d+")
_DASH = "- "  # before the bracket in which such a line begins; a case needs none
_OFFERED = "Available actions: "  # begins the line of listed texts between tags
_LISTED = "- "  # begins such a line before the first tag
_REMEMBERED = "- ["  # begins the line of a memory
_BETWEEN = "; "  # between two of them
_SHORTEST = 12  # characters of a text that is worth a number


class Condensed(NamedTuple):
    """Texts of cases, and the lines that stand before the first tag and at the end of each of them."""

    before: str
    after: str
    cases: tuple[str, ...]
    told: tuple[str, ...] = ()  # texts that stand in the cases as the numbers from 1 on


def condensed(cases: Sequence[str]) -> Condensed:
    """Return the cases without their repeats. Those that `restored` does not return as they were must not use it."""
    unnamed = [_unnamed(_undated(case.split("\n")), name) for case, name in zip(cases, _names(cases), strict=True)]
    parts = [_parts(_without_dashes(lines)) for lines in unnamed]
    before, after = _common_end([start[1:] for start, *_ in parts]), _common_end([end for *_, end in parts])
    short = [
        [*start[: len(start) - len(before)], *fenced, *end[: len(end) - len(after)]] for start, fenced, end in parts
    ]
    told = _told(short)
    numbers = {text: numbered(index) for index, text in enumerate(told)}
    others = [text for text in _long(short, _OFFERED) if text not in numbers]
    numbers |= {text: f"{numbered(index)} {text}" for index, text in enumerate(dict.fromkeys(others), len(told))}
    return Condensed(
        "\n".join(before), "\n".join(after), tuple("\n".join(_replaced(lines, numbers)) for lines in short), told
    )


def restored(found: Condensed) -> list[str]:
    """Return the cases as they were."""
    before, after = (text.split("\n") if text else [] for text in found[:2])
    cases = []
    for case, name in zip(found.cases, _names(found.cases), strict=True):
        texts = {text: full for _, text, full in _numbers(case, found.told)}
        start, fenced, end = _parts(_replaced(case.split("\n"), texts))
        lines = _named([*start, *before, *fenced, *end, *after], name)
        cases.append("\n".join(_dated(_with_dashes(lines))))
    return cases


def numbered(index: int) -> str:
    """Return how the text with this index stands in a case."""
    return f"#{index + 1}"


def texts_by_number(found: Condensed) -> list[dict[str, str]]:
    """Return the texts that have numbers in each case by these, and the name of its character by what stands for it."""
    return [
        {NAME: name} | {short: with_name(full, name) for short, _, full in _numbers(case, found.told)}
        for case, name in zip(found.cases, _names(found.cases), strict=True)
    ]


def with_name(text: str, name: str) -> str:
    """Return a text with the name of a character in place of what stands for it."""
    return _AS_NAME.sub(lambda _: name, text)


def agreement(texts: Sequence[Sequence[str]]) -> int:
    """Return how many characters or lines all of these begin with."""
    return sum(1 for _ in takewhile(lambda found: len({*found}) == 1, zip(*texts, strict=False)))


def _parts(lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the lines before the first tag, from it to the last one, and after that."""
    tags = [at for at, line in enumerate(lines) if line.startswith("<")] or [len(lines), len(lines) - 1]
    return lines[: tags[0]], lines[tags[0] : tags[-1] + 1], lines[tags[-1] + 1 :]


def _common_end(texts: Sequence[list[str]]) -> list[str]:
    """Return the lines with which all of these end."""
    backwards = [lines[::-1] for lines in texts]
    return backwards[0][: agreement(backwards)][::-1]


def _names(cases: Sequence[str]) -> list[str]:
    """Return the name in the first line of each case: what differs there, up to a comma or a full stop."""
    firsts = [case.partition("\n")[0] for case in cases]
    at = firsts[0].rfind(" ", 0, agreement(firsts)) + 1
    return [found[0] if (found := _NAME.match(first, at)) else NAME for first in firsts]


def _listed(lines: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the index, the beginning and the texts of each line that lists some."""
    before, _, _ = _parts([*lines])
    for index, line in enumerate(lines):
        begins = _LISTED if index < len(before) else _OFFERED
        if line.startswith(begins) and not line.startswith(_REMEMBERED):
            yield index, begins, line.removeprefix(begins).split(_BETWEEN)


def _told(cases: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the listed texts that more than one case has, sorted."""
    having = Counter(text for lines in cases for text in {*_long([lines])})
    return tuple(sorted(text for text, times in having.items() if times > 1))


def _long(cases: Iterable[Sequence[str]], *beginnings: str) -> Iterator[str]:
    """Yield the texts that are worth a number, of all lists or of those with one of these beginnings."""
    for lines in cases:
        for _, beginning, listed in _listed(lines):
            if not beginnings or beginning in beginnings:
                yield from (text for text in listed if len(text) >= _SHORTEST)


def _numbers(case: str, told: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each number in a case, the text in which it stands, and the text that it means."""
    texts = {numbered(index): text for index, text in enumerate(told)}
    for _, beginning, listed in _listed(case.split("\n")):
        for text in listed:
            short, _, own = text.partition(" ")
            if text in texts:
                yield text, text, texts[text]
            elif beginning == _OFFERED and own and short not in texts and _NUMBER.fullmatch(short):
                yield short, text, own


def _replaced(lines: Sequence[str], instead: Mapping[str, str]) -> list[str]:
    """Return lines with other texts instead of these listed ones."""
    changed = [*lines]
    for index, beginning, listed in _listed(lines):
        changed[index] = beginning + _BETWEEN.join(instead.get(text, text) for text in listed)
    return changed


def _unnamed(lines: Iterable[str], name: str) -> Iterator[str]:
    """Yield lines with what stands for a name in its place, but in the first line."""
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for index, line in enumerate(lines):
        yield named.sub(NAME, line) if index and name in line else line


def _named(lines: Iterable[str], name: str) -> list[str]:
    return [with_name(line, name) if index and NAME in line else line for index, line in enumerate(lines)]


def _undated(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines without a date, and without AM or PM, that the line above has."""
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
