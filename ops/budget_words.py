"""A run's budget in words and as a table: limits with what is kept of them for retries, owners' own limits folded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

from scheduler.budget import limit_in_words, window_in_words
from scheduler.budget_lines import BudgetLine, LimitInForce

COLUMNS = ("window", "scope", "unit", "spent", "in flight", "held", "limit", "overrun")
NAMED = 3  # owners of one limit for each of them, in one line

Row = tuple[str, str, str, int, int, int, str, int]


def refused_in_words(refused: Mapping[str, int], limits: Iterable[LimitInForce]) -> list[str]:
    """Return what refused requests, each limit with what it is now, and how often it did."""
    known = {one.name: limit_in_words(one.limit, one.for_retries) for one in limits}
    return [f"{name}{f' = {known[name]}' if name in known else ''}, {count}×" for name, count in refused.items()]


def limit_lines(limits: Iterable[LimitInForce]) -> list[str]:
    """Return each limit as the settings name it, with what it comes to."""
    return [f"{one.name} = {limit_in_words(one.limit, one.for_retries)}" for one in limits]


def budget_table(lines: Iterable[BudgetLine], limits: Iterable[LimitInForce], *, fold: bool = True) -> Table:
    """Return the lines that have a limit as a table."""
    table = Table(title="Budget", title_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in COLUMNS[:3] else "right")
    for row in budget_rows(lines, limits, fold=fold):
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in row))
    return table


def budget_rows(lines: Iterable[BudgetLine], limits: Iterable[LimitInForce], *, fold: bool = True) -> list[Row]:
    """Return the lines that have a limit, in the order of `COLUMNS`.

    Args:
        fold: make one row of owners that have the same limit each; its figures are those of whoever has used most.
    """
    own = {one.name for one in limits}
    groups: dict[tuple[str, ...], list[BudgetLine]] = {}
    for line in lines:
        if line.limit is None:
            continue
        period, scope = line.window.partition(":")[0], line.scope
        if fold and scope.startswith("owner:") and f"{period}.{scope}.{line.unit}" not in own:
            scope = "owner:*"
        groups.setdefault((line.window, scope, line.unit), []).append(line)
    return [_row(scope, found) for (_, scope, _), found in groups.items()]


def _row(scope: str, lines: Sequence[BudgetLine]) -> Row:
    first = lines[0]
    if len(lines) == 1:
        scope = first.scope
    else:
        fullest = sorted(lines, key=lambda line: (-line.counted, line.scope))
        first = fullest[0]
        named = ", ".join(f"{line.scope.removeprefix('owner:')} {line.counted:,}" for line in fullest[:NAMED])
        scope = f"{scope}: {len(lines)}, most {named}"
    return (
        window_in_words(first.window), scope, first.unit, first.spent, first.reserved, first.held,
        limit_in_words(first.limit or 0, first.for_retries), first.overrun,
    )  # fmt: skip
