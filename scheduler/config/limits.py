"""The table of budget limits: period × scope × unit. A limit may be set for any cell.

A cell is written "period.scope.unit", for example "day.run.tokens", "tick.run.calls",
"day.kind:reflect.calls", "day.owner:*.tokens" (each owner separately) or "run.run.usd_micros".
"day.tokens" is short for "day.run.tokens".

Calls are requests to models. Attempts spend calls, tokens and money: the ledger keeps their accounts, and a part of
each limit is reserved for further attempts. The unit "jobs" counts admissions: each job counts once, whether or not it
asks a model and however many attempts it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Literal, NamedTuple, get_args

from cogitate.memory.errors import CogitateError, quoted

Period = Literal["tick", "day", "run"]
Unit = Literal["calls", "tokens", "usd_micros"]  # spent by attempts
LimitUnit = Literal["calls", "tokens", "usd_micros", "jobs"]
PERIODS: tuple[Period, ...] = get_args(Period)
UNITS: tuple[Unit, ...] = get_args(Unit)
LIMIT_UNITS: tuple[LimitUnit, ...] = get_args(LimitUnit)

MAX_LIMIT = 2**53 - 1  # the largest integer that a Lua number holds exactly


class LimitName(NamedTuple):
    """One cell of the table. `scope` is "run", "kind:<kind>", "kind:*", "owner:<owner>" or "owner:*"."""

    period: Period
    scope: str
    unit: LimitUnit

    def text(self) -> str:
        return ".".join(self)

    @property
    def owner(self) -> str:
        """Return the owner that the cell limits; "" if it limits no particular one."""
        return self._named("owner:")

    @property
    def kind(self) -> str:
        """Return the kind that the cell limits; "" if it limits no particular one."""
        return self._named("kind:")

    def _named(self, prefix: str) -> str:
        name = self.scope.removeprefix(prefix) if self.scope.startswith(prefix) else ""
        return "" if name == "*" else name


class LimitError(CogitateError, ValueError):
    """A limit has an invalid name or value; the message shows it and a valid form."""


def parse_limit_name(text: str) -> LimitName:
    """Parse "period.scope.unit" or "period.unit".

    Raises:
        LimitError: naming the unknown part.
    """
    period, dot, rest = text.partition(".")
    scope, dot2, unit = rest.rpartition(".")
    if not dot2:
        scope, unit = "run", rest
    if period not in PERIODS or not dot:
        raise LimitError(f"limit {quoted(text)}: period {quoted(period)} is not one of {', '.join(PERIODS)}")
    if unit not in LIMIT_UNITS:
        near = "".join(f"; did you mean {close!r}?" for close in get_close_matches(unit, LIMIT_UNITS, 1))
        raise LimitError(f"limit {quoted(text)}: unit {quoted(unit)} is not one of {', '.join(LIMIT_UNITS)}{near}")
    if scope != "run" and not (scope.startswith(("kind:", "owner:")) and scope.partition(":")[2]):
        raise LimitError(
            f"limit {quoted(text)}: scope {quoted(scope)} is not run, kind:<kind>, kind:*, owner:<owner> or owner:*"
        )
    return LimitName(period, scope, unit)


class LimitTable:
    """The limits in force, by cell."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits: dict[tuple[Period, str, LimitUnit], int] = {}
        for text, value in limits.items():
            name = parse_limit_name(text)
            if isinstance(value, bool) or not isinstance(value, int):
                raise LimitError(f"limit {quoted(text)}: {quoted(value)} is not an integer")
            if not 0 <= value <= MAX_LIMIT:
                raise LimitError(
                    f"limit {quoted(text)}: {quoted(value)} is not between 0 and {MAX_LIMIT}; use 0 to forbid spending"
                )
            self._limits[name] = value
        self._limited = {(period, scope) for period, scope, _ in self._limits}
        self.names_owners = any(scope.startswith("owner:") for _, scope in self._limited)

    def __iter__(self) -> Iterator[tuple[LimitName, int]]:
        return iter(sorted((LimitName(*name), limit) for name, limit in self._limits.items()))

    def of(self, period: Period, scope: str, unit: LimitUnit) -> int | None:
        """Return the limit of one cell, or None; an exact scope overrides its wildcard."""
        limit = self._limits.get((period, scope, unit))
        if limit is None and ":" in scope:
            limit = self._limits.get((period, scope.partition(":")[0] + ":*", unit))
        return limit

    def limit_of(self, window: str, scope: str, unit: LimitUnit) -> int | None:
        """Return the limit of a cell of the accounts, given its window such as "day:3"."""
        period: Period = window.partition(":")[0]  # type: ignore[assignment]  # only window_of makes windows
        return self.of(period, scope, unit)

    def limited(self, period: Period, scope: str) -> bool:
        """Return whether any unit of this period and scope has a limit."""
        return (period, scope) in self._limited or (
            ":" in scope and (period, scope.partition(":")[0] + ":*") in self._limited
        )
