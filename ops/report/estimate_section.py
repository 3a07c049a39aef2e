"""The section of a report that compares a run with its estimate."""

from __future__ import annotations

import msgspec
from redis import Redis

from cogitate.hosting.opening import description_of
from cogitate.memory import typed_json
from cogitate.memory.clock import DAY
from cogitate.ops.estimate.demand import DEFAULTS, Range
from cogitate.ops.estimate.estimates import KEPT, KindDay, RunEstimate, estimate
from cogitate.ops.report.page import Cell, ReportTable, Section
from cogitate.ops.report.run_figures import RunFigures
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost
from cogitate.tasks.registry import kinds

WHAT = ("requests", "jobs", "calls", "tokens", "usd_micros")


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """An estimated and an actual amount of one kind over full days."""

    kind: str
    what: str  # one of `WHAT`
    estimated: Range
    actual: float

    @property
    def within(self) -> bool:
        """Return whether the actual amount, rounded, is within the estimate."""
        return round(self.estimated.low) <= self.actual <= round(self.estimated.high + 0.5)


def estimate_of(client: Redis, run: str, agents: int) -> tuple[RunEstimate, bool]:
    """Return the estimate that a run stored at its start, or one from its settings; and whether it was stored.

    Raises:
        RunMissing: if the run does not exist.
    """
    kept = description_of(client, run).get(KEPT)
    if kept is not None:
        return typed_json.decode(kept, RunEstimate), True
    raw = RunStore.open(client, run).field("state", "settings")
    return estimate(kept_settings(raw or b""), kinds(), DEFAULTS, agents=max(1, agents), days=1), False


def compare(estimated: RunEstimate, figures: RunFigures) -> list[Compared]:
    """Compare the estimate with the actual figures of a run's full days, or of the first day if none is full."""
    first, days = _first_day(figures), range(max(1, _full_days(figures)))
    expected: dict[str, list[KindDay]] = {}
    for day in days:
        for one in estimated.of_day(day):
            expected.setdefault(one.kind, []).append(one)
    lived = {kind for day in days for kind in figures.asked.get(first + day, ())}
    rows = []
    for kind in sorted(expected.keys() | lived):
        for what in WHAT:
            likely = Range(0.0, 0.0, 0.0)
            for one in expected.get(kind, ()):
                likely = likely.plus(getattr(one, what))
            actual = sum(_actual(figures, first + day, kind, what) for day in days)
            if likely.high or actual:
                rows.append(Compared(kind=kind, what=what, estimated=likely, actual=actual))
    return rows


def estimate_section(estimated: RunEstimate, kept: bool, figures: RunFigures) -> Section:
    """Return the comparison as a table."""
    full_days = _full_days(figures)
    of = f"For {full_days} full game day{'s' * (full_days > 1)}." if full_days else "The run has no full day yet."
    origin = "The estimate was stored when the run began." if kept else "The estimate is computed for this report."
    by_kind: dict[str, dict[str, Compared]] = {}
    for one in compare(estimated, figures):
        by_kind.setdefault(one.kind, {})[one.what] = one
    rows: list[list[Cell]] = [
        [kind, *(_cell(amounts[what]) if what in amounts else "" for what in WHAT)] for kind, amounts in by_kind.items()
    ]
    outside = sum(not one.within for amounts in by_kind.values() for one in amounts.values())
    verdict = f"{outside} amounts are outside their range." if outside else "Every amount is within its range."
    head = ("kind", "requests", "jobs", "calls", "tokens", "dollars")
    return Section("Estimate and actual amounts", [f"{of} {origin} {verdict}"], tables=[ReportTable(head, rows)])


def _first_day(figures: RunFigures) -> int:
    """Return the game day on which a run began."""
    return (figures.minute - figures.clock.minutes(max(0, figures.last - 1))) // DAY


def _full_days(figures: RunFigures) -> int:
    """Return the number of game days that a run has completed."""
    return figures.minute // DAY - _first_day(figures)


def _cell(one: Compared) -> str:
    """Return an actual amount with its estimate, such as "184 of 178 (150–230)"."""
    scale = 1e6 if one.what == "usd_micros" else 1
    low, likely, high, actual = (
        f"{value / scale:,.4f}" if scale > 1 else f"{round(value):,}"
        for value in (one.estimated.low, one.estimated.likely, one.estimated.high, one.actual)
    )
    return f"{actual} of {likely} ({low}–{high}){'' if one.within else ', outside'}"


def _actual(figures: RunFigures, day: int, kind: str, what: str) -> float:
    asked = figures.asked[day][kind]
    if what == "requests":
        return asked
    if what == "jobs":
        return asked - figures.denied[day][kind]
    cost = figures.spent.get(day, {}).get(kind, Cost())
    amount: int = getattr(cost, what)
    return amount
