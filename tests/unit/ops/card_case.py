"""A run as the cards of Flower's first page read it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from cogitate.ops.flower.card import Card
from cogitate.scheduler.budget.budget_lines import BudgetLine
from cogitate.scheduler.budget.forecast import forecast
from cogitate.scheduler.config.limits import LimitUnit
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.overview import RunOverview, Spenders
from cogitate.scheduler.inspection.recent import KindTally, Recent
from cogitate.scheduler.inspection.vitals import SteeringVitals, Window
from cogitate.scheduler.ledger.worker_signs import WorkersSeen

NOON = 12 * 60
STEERING = SteeringVitals(
    mode="running",
    asked=0,
    cadence=1.0,
    interval=720,
    usual=720,
    by="controller",
    causes={},
    pressing=(),
    waiting=0,
    postponed=0,
    lag=0,
    host_ms=3.25,
)
ENDPOINT = EndpointVitals(
    endpoint="default",
    breaker="closed",
    why="",
    changed=None,
    next_probe=None,
    set_aside={},
    held=0.0,
    usual=0.4,
    p50=0.4,
    p95=1.25,
    in_flight=0,
    calls=9,
    requests=9,
    tokens=900,
    estimated=0,
    reasoning=0,
    failures={},
    refused={},
    waits=0,
    waited=0.0,
    openings=0,
)
NO_SPENDERS = Spenders(since=0, owners={})
NOBODY = WorkersSeen(alive=[], missing=[], kinds=[])


def window(name: str = "run:0", unit: LimitUnit = "usd_micros", **figures: Any) -> Window:
    values = {"limit": None, "reserved": 0, "spent": 0, "overrun": 0} | figures
    line = BudgetLine(window=name, scope="run", unit=unit, **values)
    return Window(line=line, forecast=forecast(line, minute=NOON, start=0))


def hour(refused: dict[str, int] | None = None, failures: dict[str, int] | None = None, **kind: Any) -> Recent:
    tally = {name: Counter(counts) for name, counts in kind.items()}
    return Recent(
        first=1,
        last=60,
        minute=NOON,
        kinds={"act": KindTally(**tally)},
        refused=refused or {},
        owners={},
        failures=failures or {},
        failed=(),
    )


NIGHT = hour(ends={}, reasons={})
BAD_MINUTE = hour(ends={"applied": 50}, reasons={"late": 20, "failed": 20}, failures={"timeout": 20})


def run(**changed: Any) -> RunOverview:
    values = {
        "run": "town",
        "status": "running",
        "held": True,
        "host": "vm:7",
        "tick": 60,
        "minute": NOON,
        "asks_model": True,
        "endpoints": ["default"],
        "windows": [],
        "steering": STEERING,
        "open": {},
        "hour": hour(ends={"applied": 9}),
    }
    return RunOverview(**(values | changed))


def endpoint(**changed: Any) -> EndpointVitals:
    return msgspec.structs.replace(ENDPOINT, **changed)


def graded(card: Card) -> tuple[str, str]:
    return card.value, card.grade
