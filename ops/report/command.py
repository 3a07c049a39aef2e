"""`cogitate report`: write one self-contained HTML file of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from redis import Redis

from cogitate.hosting.opening import description_of
from cogitate.hosting.terminal import Terminal
from cogitate.memory.clock import day_and_time
from cogitate.ops.capsule.reading import open_run
from cogitate.ops.command_options import RunOrFile, SharedOptions
from cogitate.ops.formatting.budget import by_unit, format_cost
from cogitate.ops.formatting.run import degraded, ended_jobs
from cogitate.ops.formatting.vitals import print_left_out
from cogitate.ops.operator_requests import format_control
from cogitate.ops.report.estimate_section import Compared, compare, estimate_of, estimate_section
from cogitate.ops.report.page import Page, ReportTable, Section
from cogitate.ops.report.run_figures import RunFigures, run_figures
from cogitate.ops.report.sections import (
    budget_section,
    cadence_section,
    dearest_section,
    latency_section,
    memory_section,
    results_section,
    warnings_section,
)
from cogitate.scheduler.config.endpoints import DEFAULT, Model
from cogitate.scheduler.config.facts import KEPT, kept_settings
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.engine.engine import FIGURES
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.journal.unreadable_entries import unreadable_entries_of
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import real_times, real_times_at


def report(
    run: RunOrFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write (default RUN.html).", show_default=False),
    ] = None,
    *,
    options: SharedOptions,
) -> int:
    """Write one HTML file of a run: budget, results, latency, cadence, memory, costs, warnings and estimate.

    The file loads nothing and runs no script, so that you can mail, keep and print it. It contains no prompt and no
    memory. The command verifies the journal; the exit code is 1 when the journal was changed.
    """
    settings = options.settings()
    load_kinds(settings)
    with open_run(settings, run) as (client, run):
        path = out or Path(f"{run}.html")
        page, figures, compared = run_page(client, run, settings.data_dir)
        left_out = unreadable_entries_of(client, run)
    print_left_out(left_out)
    page.write(path)
    console = Terminal(stderr=options.as_json)
    console.print(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB)")
    if options.as_json:
        print(json.dumps(_facts(run, path, figures, compared)), flush=True)
    return 0


def run_page(client: Redis, run: str, data_dir: Path) -> tuple[Page, RunFigures, list[Compared]]:
    """Return a run's report with its figures.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: when its journal was changed.
    """
    summary = summarise_run(client, run)
    figures = run_figures(client, run, data_dir)
    with summary.clock.in_force():
        return _page(client, summary, figures)


def _page(client: Redis, summary: RunSummary, figures: RunFigures) -> tuple[Page, RunFigures, list[Compared]]:
    endpoints = endpoint_vitals(client)
    estimated, kept = estimate_of(client, summary.run, summary.agents)
    page = Page(f"Run {summary.run}", f"{summary.state} at tick {summary.tick:,}, {day_and_time(summary.minute)}")
    page.sections = [
        _overview(summary, figures),
        run_section(client, summary.run, figures),
        budget_section(summary, figures),
        results_section(summary, figures),
        latency_section(summary, figures, endpoints),
        cadence_section(summary, figures),
        memory_section(summary, figures),
        dearest_section(figures),
        warnings_section(summary, figures),
        *([estimate_section(estimated, kept, figures)] if summary.clock.has_times else []),  # estimates are per day
    ]
    page.footer = f"Digest {summary.digest}. Chain {summary.chain}."
    return page, figures, compare(estimated, figures)


def _overview(summary: RunSummary, figures: RunFigures) -> Section:
    reasons, jobs = degraded(summary)
    facts = [
        ("agents", f"{summary.agents:,}"),
        ("ticks", f"{summary.tick:,}"),
        ("jobs ended", f"{ended_jobs(summary):,}"),
        ("degraded", f"{100 * reasons.total() / jobs:.1f}%" if jobs else "none"),
        *(
            (figure.label, f"{sum(sum(ends.values()) for ends in summary.figures[figure.name].values()):,}")
            for figure in FIGURES
        ),
        ("spent", format_cost(summary.spent)),
        ("warnings", f"{sum(summary.warnings.values()):,}"),
    ]
    texts = []
    if figures.first > 1:
        texts.append(f"The journal and the charts begin with tick {figures.first:,}; the tables count every tick.")
    return Section("At a glance", texts, facts)


def _facts(run: str, path: Path, figures: RunFigures, compared: list[Compared]) -> dict[str, object]:
    return {
        "run": run,
        "out": str(path),
        "bytes": path.stat().st_size,
        "days": {
            str(day): {kind: by_unit(cost) for kind, cost in sorted(kinds.items())}
            for day, kinds in sorted(figures.spent.items())
        },
        "estimate": [msgspec.to_builtins(one) | {"within": one.within} for one in compared],
    }


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
