"""Assertions of load tests: the name of a figure, a comparison and a number, such as "late_share<0.05"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cogitate.scheduler.config.settings import ConfigurationError

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*([\w.-]+?)\s*(<=|>=|==|!=|<|>)\s*(-?\d+(?:\.\d+)?(?:[eE]-?\d+)?)\s*")


class Expectation(NamedTuple):
    """An assertion on one figure."""

    name: str
    comparison: str
    value: float

    def text(self) -> str:
        """Return the assertion as the user wrote it."""
        return f"{self.name}{self.comparison}{self.value:g}"


def parse(text: str, option: str = "--assert") -> Expectation:
    """Parse an assertion, given as this option of the command.

    Raises:
        ConfigurationError: when the text is not an assertion.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ConfigurationError(
            f"{option} {text[:80]!r}: write a figure, one of {' '.join(_COMPARISONS)} and a number, "
            'such as "late_share<0.05"'
        )
    return Expectation(found[1], found[2], float(found[3]))


def numbers(figures: Mapping[str, Any], prefix: str = "") -> dict[str, float | None]:
    """Return the figures by name, those of phases as "outage.late_share"; None without a value."""
    found: dict[str, float | None] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            found |= numbers(value, f"{prefix}{name}." if name not in ("phases",) else prefix)
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            found[prefix + name] = value
    return found


def check_names(expected: list[Expectation], known: Mapping[str, object], option: str = "--assert") -> None:
    """Check that each assertion names a figure.

    Raises:
        ConfigurationError: naming an unknown figure and the known ones.
    """
    for one in expected:
        if one.name not in known:
            names = ", ".join(sorted(name for name in known if "." not in name))
            phases = ", ".join(sorted(name for name in known if name.endswith(".late_share")))
            raise ConfigurationError(
                f"{option}: unknown figure {one.name!r}; known: {names}"
                + (f"; and those of phases, such as {phases}" if phases else "")
            )


def failures(expected: list[Expectation], known: Mapping[str, float | None]) -> list[str]:
    """Return a line for each assertion that does not hold."""
    lines = []
    for one in expected:
        value = known[one.name]
        if value is None:
            lines.append(f"{one.text()}: the figure has no value")
        elif not _COMPARISONS[one.comparison](value, one.value):
            lines.append(f"{one.text()}: it is {value:g}")
    return lines
