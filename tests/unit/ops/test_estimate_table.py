"""What `cogitate estimate` prints and its defaults: they fit a terminal, and runs that were measured."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cogitate.ops.estimate.command import _short, _table, format_estimate
from cogitate.ops.estimate.demand import DEFAULTS
from cogitate.ops.estimate.estimates import RunEstimate, estimate
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.registry import kinds


def estimated(agents: int, days: int, **over: object) -> tuple[RunEstimate, Settings]:
    settings = Settings.tuned(**{"llm": "openai", "limit_usd": 1000.0, "limits": {}, **over})
    return estimate(settings, kinds(), DEFAULTS, agents=agents, days=days), settings


@pytest.mark.parametrize(("agents", "dollars"), [(3, 1000.0), (25, 0.01), (1000, 0.5), (1000, 1000.0)])
def test_tables_fit_80_columns_and_cut_nothing(agents: int, dollars: float) -> None:
    found, _ = estimated(agents, 7, limit_usd=dollars)
    for rows in (found.first, found.later):
        out = io.StringIO()
        Console(file=out, width=80, legacy_windows=False).print(_table("A day", rows))
        text = out.getvalue()
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= 80
        assert all(kind.kind in text for kind in rows)
        refused = any(one.refused >= 0.5 for one in rows)
        assert ("refused" in text, "jobs" in text) == (refused, refused)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0004, "0.0004"),
        (0.0123, "0.012"),
        (3.125, "3.1"),
        (27.5, "28"),
        (999, "999"),
        (1234, "1.2k"),
        (109_000, "109k"),
        (3_890_000, "3.9M"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert _short(value) == text


#: Requests of runs of the built-in town by heuristics: (agents, days), kind, and how many.
MEASURED = [
    ((8, 3), {"act": 178, "plan": 24, "prune": 20, "reflect": 40, "summarise": 20}),
    ((25, 3), {"act": 557, "plan": 75, "prune": 175, "reflect": 125, "summarise": 154}),
    ((5, 7), {"act": 256, "plan": 35, "prune": 63, "reflect": 65, "summarise": 34}),
]


@pytest.mark.parametrize(("run", "asked"), MEASURED)
def test_measured_requests_of_several_days_are_within_the_estimate(run: tuple[int, int], asked: dict[str, int]) -> None:
    found, _ = estimated(*run)
    for kind, actual in asked.items():
        rows = [one for day in range(run[1]) for one in found.of_day(day) if one.kind == kind]
        low, likely, high = (sum(getattr(one.requests, end) for one in rows) for end in ("low", "likely", "high"))
        assert low <= actual <= high + 0.5, kind
        assert abs(actual / likely - 1) < 0.65, kind


def test_a_range_is_narrow_enough_to_decide_by() -> None:
    found, settings = estimated(25, 7)
    tokens, money = found.total("tokens"), found.total("usd_micros")
    assert tokens.high < 4 * tokens.low
    assert money.high < 2 * money.likely
    assert len([line for line in format_estimate(found, settings) if line.startswith("tokens of a call")]) == 1
