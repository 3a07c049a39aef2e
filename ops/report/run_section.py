"""The section of a report about a run's origin and settings, and about operators' requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version

from redis import Redis

from cogitate.hosting.opening import description_of
from cogitate.memory.clock import day_and_time
from cogitate.ops.operator_requests import format_control
from cogitate.ops.report.page import ReportTable, Section
from cogitate.ops.report.run_figures import RunFigures
from cogitate.scheduler.config.endpoints import DEFAULT, Model
from cogitate.scheduler.config.facts import KEPT, kept_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import real_times, real_times_at

_WORLD = ("world", "agents", "seed")  # of a run's description
ASKED = ("at", "real time", "asked", "by", "reason", "outcome")
_MODELS = {"models", "embeddings"}  # settings with addresses of endpoints; the facts name the models


def run_section(client: Redis, run: str, figures: RunFigures) -> Section:
    """Return the section about a run's world, models, pace, real time and settings, and about operators' requests."""
    store, known = RunStore.open(client, run), Latencies()
    kept, described, times = store.state_field("settings"), description_of(client, run), real_times(store)
    known.load(store, ())
    rate = known.prior.tick_rate
    facts = [
        ("written", f"{_real(datetime.now(UTC).timestamp())} by Cogitate {version('cogitate')}"),
        *((name, described[name]) for name in _WORLD if name in described),
        ("models", ", ".join(map(_model, kept_settings(kept).asked_models())) or "none: heuristics"),
        ("pace", f"{rate:g} ticks a second" if rate else "as fast as the host runs"),
        *([("real time", f"{_real(times[0])} to {_real(times[1])}")] if times is not None else []),
    ]
    tables = [
        ReportTable(("setting", "value"), list(_changed(kept)), "Settings of the run that differ from the defaults"),
        ReportTable(ASKED, list(_asked(store, figures)), "Operators' newest requests"),
    ]
    return Section("The run", facts=facts, tables=[table for table in tables if table.cells])


def _real(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _changed(kept: bytes) -> Iterator[tuple[str, str]]:
    usual = json.loads(PinnedSettings().model_dump_json(include=set(KEPT)))
    for name, value in sorted(json.loads(kept).items()):
        if name in KEPT - _MODELS and value != usual[name]:
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _model(model: Model) -> str:
    return model.model if model.name == DEFAULT else f"{model.name} ({model.model})"


def _asked(store: RunStore, figures: RunFigures) -> Iterator[tuple[str, ...]]:
    times = real_times_at(store, {one.tick: minute for minute, one in figures.answers})
    for minute, one in reversed(figures.answers):
        effect = one.called_off.text() if one.called_off is not None else "took effect"
        outcome = f"refused: {one.refused}" if one.refused else f"job {one.job}" if one.job else effect
        asked = format_control(one.control)
        real = _real(times[one.tick]) if one.tick in times else "–"
        yield f"{day_and_time(minute)}, tick {one.tick:,}", real, asked, one.by or "–", one.reason or "–", outcome
