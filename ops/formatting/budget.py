"""Formats costs and a run's budget: limits with their part for retries, and a table that folds equal limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import JustifyMethod
from rich.table import Table

from cogitate.scheduler.budget.budget import figure_of, format_limit, format_window
from cogitate.scheduler.budget.budget_lines import WHOLE_RUN, BudgetLine, LimitInForce
from cogitate.scheduler.config.limits import LimitUnit, parse_limit_name
from cogitate.scheduler.inspection.stored_run import Refusal
from cogitate.scheduler.journal.lines import reason_of
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.tasks.job import Cost


def format_cost(cost: Cost) -> str:
    """Return a cost such as "12 calls, 3,456 tokens, $0.0123", without units whose amount is 0."""
    parts = []
    if cost.calls:
        parts.append(f"{cost.calls:,} call{'' if cost.calls == 1 else 's'}")
    if cost.tokens:
        parts.append(f"{cost.tokens:,} tokens")
    if cost.usd_micros:
        parts.append(figure_of("usd_micros")(cost.usd_micros))
    return ", ".join(parts) or "nothing"


def by_unit(cost: Cost) -> dict[str, int]:
    return {unit: getattr(cost, unit) for unit in Cost.__struct_fields__}


def real_day_line(day: DaySpending) -> str:
    """Format as in "Today, 2026-03-01 (UTC), all runs together: 1,200 tokens spent of 5,000; 30 tokens in flight"."""
    limit = format_cost(Cost(tokens=day.limit_tokens or 0, usd_micros=day.limit_usd_micros or 0))
    parts = [f"{format_cost(day.spent)} spent of {limit}"]
    if day.reserved != Cost():
        parts.append(f"{format_cost(day.reserved)} in flight")
    if day.overrun != Cost():
        parts.append(f"{format_cost(day.overrun)} more than reserved")
    if day.refused:
        parts.append(f"{day.refused:,} calls refused; the next day begins at 00:00 UTC")
    return f"Today, {day.date} (UTC), all runs together: {'; '.join(parts)}"


def real_day_json(day: DaySpending) -> dict[str, object]:
    """Return the spending for `--json`; its names are stable."""
    facts: dict[str, object] = msgspec.to_builtins(day)
    return facts | {name: msgspec.structs.asdict(getattr(day, name)) for name in ("reserved", "spent", "overrun")}


COLUMNS = ("window", "scope", "unit", "spent", "in flight", "held", "limit", "overrun")
WRAPPED = ("scope", "limit")  # columns whose cells may take several lines
LEFT_OUT = ("held", "in flight")  # columns that a table drops, in this order, if it is too wide
NARROW = 80  # characters per line
LONGEST = 14  # the longest word of a scope that a narrow table does not break, in characters
NAMED = 3  # the most owners that a folded row names


class BudgetRow(NamedTuple):
    """One limit in the order of `COLUMNS`, and the owners that have used the most of it."""

    window: str
    scope: str
    unit: LimitUnit
    spent: int
    in_flight: int
    held: int
    limit: str
    overrun: int
    most: str = ""  # the owners, if the row folds several


def denied_requests(refused: Mapping[str, int]) -> dict[str, int]:
    """Return the refused requests that the budget or the run's mode refused, without those that were too slow."""
    return {name: count for name, count in refused.items() if reason_of(name) == "denied"}


def format_refusals(refusals: Iterable[Refusal], lines: Iterable[BudgetLine] = ()) -> list[str]:
    """Return a text for each limit that refused requests, with its value then and the number of requests.

    Args:
        lines: the run's budget, which shows whether a limit of the whole run has a rest too small for another job.
    """
    rooms = {f"run.{line.scope}.{line.unit}": line for line in lines if line.window == WHOLE_RUN}
    texts = []
    for one in refusals:
        text, line = f"{named_limit(one)}, {one.requests:,}×", rooms.get(one.limit)
        left = 0 if line is None else line.room - line.counted
        if line is not None and line.limit == one.value and 0 < left < one.reserves:
            figure = figure_of(line.unit)
            text += f"; {figure(left)} left, less than the {figure(one.reserves)} that one more job reserves"
        texts.append(text)
    return texts


def named_limit(refusal: Refusal) -> str:
    """Return the name of a limit that refused requests, with the value that it had then."""
    if refusal.value is None:
        return refusal.limit
    figure = figure_of(parse_limit_name(refusal.limit).unit)
    return f"{refusal.limit} = {format_limit(refusal.value, refusal.for_retries, figure)}"


def limit_lines(limits: Iterable[LimitInForce]) -> list[str]:
    """Return each limit by its name in the settings, with its value."""
    return [f"{name} = {limit}" for name, limit in known_limits(limits).items()]


def known_limits(limits: Iterable[LimitInForce]) -> dict[str, str]:
    """Return the value of each limit in words, by its name in the settings."""
    return {
        one.name: format_limit(one.limit, one.for_retries, figure_of(parse_limit_name(one.name).unit)) for one in limits
    }


def budget_table(
    lines: Iterable[BudgetLine], limits: Iterable[LimitInForce], *, fold: bool = True, width: int = NARROW
) -> Table:
    """Return a table of the limits; its caption names the owners that have used the most.

    The column "overrun" appears only if any spending exceeds its reservation.

    Args:
        width: characters per line; the table drops columns that do not fit, and the caption says so.
    """
    rows = budget_rows(lines, limits, fold=fold)
    named = [f"{row.window}, {unit_of(row.unit)}: most by {row.most}" for row in rows if row.most]
    shown, left_out = _columns_that_fit(rows, width)
    if left_out:
        named.append(f"{', '.join(left_out)}: no room in {width} columns; --json has all")
    table = Table(
        title="Budget",
        title_justify="left",
        caption="\n".join(named) or None,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    least = _least_widths(rows)
    most, spare = dict(least), max(0, width - sum(least[name] + 2 for name in shown) - 1)
    for name in reversed(WRAPPED):  # columns that wrap share the remaining width
        longest = max((len(budget_cells(row)[COLUMNS.index(name)]) for row in rows), default=0)
        extra = min(spare, max(0, longest - least[name]))
        most[name], spare = least[name] + extra, spare - extra
    for name in shown:
        justify: JustifyMethod = "left" if name in COLUMNS[:3] else "right"
        table.add_column(
            name,
            justify=justify,
            overflow="fold",
            no_wrap=name not in WRAPPED,
            min_width=least[name],
            max_width=most[name],
        )
    for row in rows:
        table.add_row(*(cell for name, cell in zip(COLUMNS, budget_cells(row), strict=True) if name in shown))
    return table


def _columns_that_fit(rows: Sequence[BudgetRow], width: int) -> tuple[list[str], list[str]]:
    """Return the columns that fit into a width, and those with amounts that do not fit."""
    least, left_out = _least_widths(rows), []
    shown = [name for name in COLUMNS if name != COLUMNS[-1] or any(row.overrun for row in rows)]
    for name in LEFT_OUT:
        if sum(least[one] for one in shown) + 2 * len(shown) <= width:  # with a space on either side
            break
        if name in shown:
            shown.remove(name)
            left_out.append(name)
    return shown, left_out


def _least_widths(rows: Sequence[BudgetRow]) -> dict[str, int]:
    """Return each column's minimum width: the longest word if it wraps, otherwise the longest cell."""
    columns = list(zip(COLUMNS, *map(budget_cells, rows), strict=True)) if rows else [(name,) for name in COLUMNS]
    widths = {}
    for name, *cells in columns:
        longest = _longest_word(cells) if name in WRAPPED else max(map(len, cells), default=0)
        widths[name] = max(len(name), min(longest, LONGEST) if name == "scope" else longest)
    return widths


def _longest_word(texts: Iterable[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)


def budget_cells(row: BudgetRow) -> tuple[str, ...]:
    """Format a row in the order of `COLUMNS`, with money in dollars."""
    figure = figure_of(row.unit)
    spent, in_flight, held, overrun = map(figure, (row.spent, row.in_flight, row.held, row.overrun))
    return row.window, row.scope, unit_of(row.unit), spent, in_flight, held, row.limit, overrun


def unit_of(unit: LimitUnit) -> str:
    return "$" if unit == "usd_micros" else unit


def budget_rows(lines: Iterable[BudgetLine], limits: Iterable[LimitInForce], *, fold: bool = True) -> list[BudgetRow]:
    """Return a row for each limit.

    Args:
        fold: merge all owners with the same limit into one row, with the figures of the owner that has used the most.
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
    return [_row(group) for group in groups.values()]


def _row(lines: Sequence[BudgetLine]) -> BudgetRow:
    first, most, figure = lines[0], "", figure_of(lines[0].unit)
    scope = first.scope
    if len(lines) > 1:
        fullest = sorted(lines, key=lambda line: (-line.counted, line.scope))
        first = fullest[0]
        scope = f"{first.scope} (most of {len(lines)})"
        most = ", ".join(f"{line.scope.removeprefix('owner:')} {figure(line.counted)}" for line in fullest[:NAMED])
    return BudgetRow(
        format_window(first.window),
        scope,
        first.unit,
        first.spent,
        first.reserved,
        first.held,
        format_limit(first.limit or 0, first.for_retries, figure),
        first.overrun,
        most,
    )
