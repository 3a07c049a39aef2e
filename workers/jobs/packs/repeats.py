"""Texts of cases without what all of them say, and without dates that the line above has. `restored` undoes it.

Only lines outside tags are said for all: what an owner remembers stays in its own case, even if others remember it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

NAME = "…"  # stands for the name of a case's character in a line of all cases

_DATED = re.compile(r"- \[(?P<date>[^\[\],]+, )?(?=\d)")  # as in "- [day 1, 9:02 AM] "
_NAME = re.compile(r"[^,.]+")


class Condensed(NamedTuple):
    """Texts of cases, and the lines that stand before the first tag and at the end of each of them."""

    before: str
    after: str
    cases: tuple[str, ...]


def condensed(cases: Sequence[str]) -> Condensed:
    """Return the cases without their repeats. Those that `restored` does not return as they were must not use it."""
    names, parts = _names(cases), [_parts([*_undated(case.split("\n"))]) for case in cases]
    ends = [[line.replace(name, NAME) for line in end] for (*_, end), name in zip(parts, names, strict=True)]
    before, after = _common_end([start[1:] for start, *_ in parts]), _common_end(ends)
    short = [
        [*start[: len(start) - len(before)], *fenced, *end[: len(end) - len(after)]] for start, fenced, end in parts
    ]
    return Condensed("\n".join(before), "\n".join(after), tuple(map("\n".join, short)))


def restored(found: Condensed) -> list[str]:
    """Return the cases as they were."""
    before, after = (text.split("\n") if text else [] for text in found[:2])
    cases = []
    for case, name in zip(found.cases, _names(found.cases), strict=True):
        start, fenced, end = _parts(case.split("\n"))
        own = [line.replace(NAME, name) for line in after]
        cases.append("\n".join(_dated([*start, *before, *fenced, *end, *own])))
    return cases


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


def _dated(lines: Sequence[str]) -> Iterator[str]:
    date = ""
    for line in lines:
        found = _DATED.match(line)
        date = "" if found is None else found["date"] or date
        yield line if found is None or found["date"] else f"- [{date}{line[found.end() :]}"
