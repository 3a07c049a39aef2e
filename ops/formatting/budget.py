"""Formatting of a run's budget: limits with their part for retries, and a table that folds owners' equal limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.table import Table

from scheduler.budget.budget import format_limit, format_window
from scheduler.budget.budget_lines import BudgetLine, LimitInForce
from scheduler.journal.lines import reason_of

COLUMNS = ("window", "scope", "unit", "spent", "in flight", "held", "limit", "overrun")
NAMED = 3  # owners that a folded row names


class BudgetRow(NamedTuple):
    """One limit in the order of `COLUMNS`, and the owners that have used most of it."""

    window: str
    scope: str
    unit: str
    spent: int
    in_flight: int
    held: int
    limit: str
    overrun: int
    most: str = ""  # the owners, where the row folds several


def denied_requests(refused: Mapping[str, int]) -> dict[str, int]:
    """Return what the budget or the run's mode refused, without the requests that no model was fast enough for."""
    return {name: count for name, count in refused.items() if reason_of(name) == "denied"}


def format_refusals(refused: Mapping[str, int], limits: Iterable[LimitInForce]) -> list[str]:
    """Return a text for each limit that refused requests: its present value, and how many it refused."""
    known = {one.name: format_limit(one.limit, one.for_retries) for one in limits}
    return [f"{name}{f' = {known[name]}' if name in known else ''}, {count}×" for name, count in refused.items()]


def limit_lines(limits: Iterable[LimitInForce]) -> list[str]:
    """Return each limit by its name in the settings, with its value."""
    return [f"{one.name} = {format_limit(one.limit, one.for_retries)}" for one in limits]


def budget_table(lines: Iterable[BudgetLine], limits: Iterable[LimitInForce], *, fold: bool = True) -> Table:
    """Return a table of the lines that have a limit; its caption names the owners that have used most."""
    rows = budget_rows(lines, limits, fold=fold)
    named = [f"{row.window}, {row.scope}, {row.unit}: most by {row.most}" for row in rows if row.most]
    table = Table(title="Budget", title_justify="left", caption="\n".join(named) or None, caption_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in COLUMNS[:3] else "right", overflow="fold")
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in row[: len(COLUMNS)]))
    return table


def budget_rows(lines: Iterable[BudgetLine], limits: Iterable[LimitInForce], *, fold: bool = True) -> list[BudgetRow]:
    """Return a row for each line that has a limit.

    Args:
        fold: make one row of all owners with the same limit; its figures are those of the owner that has used most.
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
    return [_row(found) for found in groups.values()]


def _row(lines: Sequence[BudgetLine]) -> BudgetRow:
    first, most = lines[0], ""
    scope = first.scope
    if len(lines) > 1:
        fullest = sorted(lines, key=lambda line: (-line.counted, line.scope))
        first, scope = fullest[0], f"owner:* ({len(lines)})"
        most = ", ".join(f"{line.scope.removeprefix('owner:')} {line.counted:,}" for line in fullest[:NAMED])
    return BudgetRow(
        format_window(first.window), scope, first.unit, first.spent, first.reserved, first.held,
        format_limit(first.limit or 0, first.for_retries), first.overrun, most,
    )  # fmt: skip
