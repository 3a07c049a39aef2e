"""Texts of cases without what several of them say, and without dates that the line above has. `restored` undoes it.

A line outside tags that all cases have is said once, before them. A listed text that several have, such as an available
action, is told once under a number, and stands in each case as that number. What an owner remembers stays in its own
case, even if others remember it too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

NAME = "…"  # stands for the name of a case's character in a line of all cases

_DATED = re.compile(r"- \[(?P<date>[^\[\],]+, )?(?=\d)")  # as in "- [day 1, 9:02 AM] "
_NAME = re.compile(r"[^,.]+")
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
    names, parts = _names(cases), [_parts(_without_dashes(_undated(case.split("\n")))) for case in cases]
    ends = [[line.replace(name, NAME) for line in end] for (*_, end), name in zip(parts, names, strict=True)]
    before, after = _common_end([start[1:] for start, *_ in parts]), _common_end(ends)
    short = [
        [*start[: len(start) - len(before)], *fenced, *end[: len(end) - len(after)]] for start, fenced, end in parts
    ]
    told = _told(short)
    numbers = {text: numbered(index) for index, text in enumerate(told)}
    return Condensed(
        "\n".join(before), "\n".join(after), tuple("\n".join(_replaced(lines, numbers)) for lines in short), told
    )


def restored(found: Condensed) -> list[str]:
    """Return the cases as they were."""
    before, after = (text.split("\n") if text else [] for text in found[:2])
    texts, cases = {numbered(index): text for index, text in enumerate(found.told)}, []
    for case, name in zip(found.cases, _names(found.cases), strict=True):
        start, fenced, end = _parts(_replaced(case.split("\n"), texts))
        own = [line.replace(NAME, name) for line in after]
        cases.append("\n".join(_dated(_with_dashes([*start, *before, *fenced, *end, *own]))))
    return cases


def numbered(index: int) -> str:
    """Return how the text with this index stands in a case."""
    return f"#{index + 1}"


def numbered_in(case: str, told: Sequence[str]) -> dict[str, str]:
    """Return the texts that stand in a case as numbers, by these numbers."""
    texts = {numbered(index): text for index, text in enumerate(told)}
    return {text: texts[text] for _, _, listed in _listed(case.split("\n")) for text in listed if text in texts}


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
    having = Counter(text for lines in cases for text in {text for _, _, listed in _listed(lines) for text in listed})
    return tuple(sorted(text for text, times in having.items() if times > 1 and len(text) >= _SHORTEST))


def _replaced(lines: Sequence[str], instead: Mapping[str, str]) -> list[str]:
    """Return lines with other texts instead of these listed ones."""
    changed = [*lines]
    for index, beginning, listed in _listed(lines):
        changed[index] = beginning + _BETWEEN.join(instead.get(text, text) for text in listed)
    return changed


def _undated(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines without a date that the line above has."""
    date = ""
    for line in lines:
        found = _DATED.match(line)
        if found is None or found["date"] is None:
            yield line
            date = date if found else ""
        else:
            yield line if found["date"] != date else f"- [{line[found.end() :]}"
            date = found["date"]


def _without_dashes(lines: Iterable[str]) -> list[str]:
    return [line.removeprefix(_DASH) if line.startswith(f"{_DASH}[") else line for line in lines]


def _with_dashes(lines: Iterable[str]) -> list[str]:
    return [f"{_DASH}{line}" if line.startswith("[") else line for line in lines]


def _dated(lines: Sequence[str]) -> Iterator[str]:
    date = ""
    for line in lines:
        found = _DATED.match(line)
        date = "" if found is None else found["date"] or date
        yield line if found is None or found["date"] else f"- [{date}{line[found.end() :]}"
