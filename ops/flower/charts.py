"""The charts of a run over a span of game time, from the figures that its host stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from cogitate.memory.clock import Clock
from cogitate.scheduler.tick.figure_history import Figures

SOURCES = ("llm", "cached", "heuristic", "none")
CAUSES = ("late", "failed", "budget")
HIGHEST = 100.0  # percent of pressure that is drawn: the pace of a budget may be many times that

Value = float | None
Counts = Callable[[Figures], dict[str, int]]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One chart: its lines, each with a value for every point."""

    name: str
    title: str
    unit: str  # "$", or the suffix of a value
    note: str
    series: dict[str, list[Value]]
    totals: dict[str, int] = {}  # sum over the span, where it is meaningful


def charts_of(points: Sequence[Figures], clock: Clock) -> list[Chart]:
    """Return all charts of these points, the oldest first."""

    unit, length = clock.unit
    per = f"{'an' if unit == 'hour' else 'a'} {unit}"

    def rates(counts: Counts, names: Sequence[str], scale: float = 1.0) -> dict[str, list[Value]]:
        spans = [point.ticks * clock.minutes_per_tick / length for point in points]
        return {
            name: [counts(point).get(name, 0) / scale / span for point, span in zip(points, spans, strict=True)]
            for name in names
        }

    tokens, money = _total(points, lambda one: one.tokens), _total(points, lambda one: one.usd_micros)
    sources = _total(points, lambda one: one.sources)
    late, failed = sum(point.late for point in points), sum(point.failed for point in points)
    ended = sum(sources.values())
    return [
        Chart(
            name="tokens",
            title=f"Tokens {per}",
            unit="",
            note=f"by kind; {sum(tokens.values()):,} in all",
            series=rates(lambda one: one.tokens, sorted(tokens)),
            totals=tokens,
        ),
        Chart(
            name="money",
            title=f"Money {per}",
            unit="$",
            note=f"by kind; ${sum(money.values()) / 1e6:,.4f} in all",
            series=rates(lambda one: one.usd_micros, sorted(money), 1e6),
            totals=money,
        ),
        Chart(
            name="sources",
            title=f"Results {per}",
            unit="",
            note=f"by source; {ended:,} in all",
            series=rates(lambda one: one.sources, [name for name in SOURCES if name in sources]),
            totals=sources,
        ),
        Chart(
            name="late",
            title="Late and failed share",
            unit="%",
            note=f"of the jobs that ended; {late:,} late and {failed:,} failed of {ended:,} in all",
            series={
                "late": [_percent(point.late, sum(point.sources.values())) for point in points],
                "failed": [_percent(point.failed, sum(point.sources.values())) for point in points],
            },
            totals={"late": late, "failed": failed, "ended": ended},
        ),
        Chart(
            name="cadence",
            title="Cadence and its pressures",
            unit="%",
            note="reflections, of the usual; late results, failed jobs and the budget's pace press on them, "
            "drawn up to 100%",
            series={"cadence": [None if point.cadence is None else point.cadence / 10 for point in points]}
            | {cause: [_cause(point, cause) for point in points] for cause in CAUSES},
        ),
        Chart(
            name="age",
            title="Queue age",
            unit=" ticks",
            note="since the oldest open job was admitted, of those not asked ahead",
            series={"oldest": [point.age for point in points]},
        ),
        Chart(
            name="host",
            title="Host, ms a tick",
            unit=" ms",
            note="the host's work; waiting and the world excluded",
            series={"host": [None if one.host_us is None else one.host_us / 1_000 / one.ticks for one in points]},
        ),
    ]


def _total(points: Sequence[Figures], counts: Counts) -> dict[str, int]:
    found: dict[str, int] = {}
    for point in points:
        for name, amount in counts(point).items():
            found[name] = found.get(name, 0) + amount
    return dict(sorted(found.items()))


def _percent(count: int, total: int) -> Value:
    return 100 * count / total if total else None


def _cause(point: Figures, cause: str) -> Value:
    return None if point.cadence is None else min(HIGHEST, point.causes.get(cause, 0))
