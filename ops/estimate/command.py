"""`cogitate estimate`: estimate what a run will take before it starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE
from rich.table import Table

from cogitate.hosting.pace_fit import KindFit, fit_lines, is_paced, known_before, pace_fit
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import (
    LimitTokens,
    LimitUsd,
    Llm,
    SharedOptions,
    check_limited,
    open_state,
)
from cogitate.ops.estimate.demand import DEFAULTS, Demand, Range, demand_of
from cogitate.ops.estimate.estimates import KindDay, RunEstimate, estimate
from cogitate.ops.formatting.charts import figure
from cogitate.ops.formatting.run import price_lines
from cogitate.ops.world_choice import DEFAULT_AGENTS
from cogitate.scheduler.budget.budget import figure_of, format_limit, retry_pool
from cogitate.scheduler.budget.settings_checks import check_limits, check_models, check_prices
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.limits import parse_limit_name
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.endpoint_vitals import usual_seconds
from cogitate.tasks.registry import kinds
from cogitate.workers.llm.requests.address import called_servers


def estimate_run(
    agents: Annotated[int, typer.Option("--agents", metavar="N", min=1, help="The number of agents.")] = DEFAULT_AGENTS,
    days: Annotated[int, typer.Option("--days", metavar="D", min=1, help="The length in game days.")] = 1,
    reflect_every: Annotated[
        int | None, typer.Option(metavar="MINUTES", min=1, help="Game minutes between two reflections of an agent.")
    ] = None,
    llm: Llm = None,
    limit_usd: LimitUsd = None,
    limit_tokens: LimitTokens = None,
    tick_rate: Annotated[
        str | None, typer.Option(metavar="HZ|max", help="Ticks a second: check whether the model is fast enough.")
    ] = None,
    *,
    options: SharedOptions,
) -> int:
    """Estimate a run: calls, tokens and money per day and kind, and what its limits would refuse.

    The estimate uses measurements of earlier runs in the data folder that thought with the same settings. Without such
    runs it uses defaults and says so. It calls no model.
    """
    settings = options.settings(
        llm=llm,
        limit_usd=limit_usd,
        limit_tokens=limit_tokens,
        reflection_interval=reflect_every,
        tick_rate=tick_rate,
    )
    check_limited(settings)
    check_prices(settings)
    load_kinds(settings)
    check_limits(settings, kinds())
    check_models(settings, kinds())
    estimated = estimate(settings, kinds(), _demand(settings), agents=agents, days=days)
    fits = _fits(settings, agents)
    console = Terminal(stderr=options.as_json)
    console.print(f"{agents} agents, {days} game day{'s' * (days > 1)}, thinking by {_thinker(settings)}")
    for title, rows in [("The first day", estimated.first), ("Each further day", estimated.later)][: min(days, 2)]:
        console.print(_table(title, rows))
    for line in [
        *format_estimate(estimated, settings),
        *price_lines(settings.prices()),
        *fit_lines(fits, settings.tick_rate or 0),
    ]:
        console.print(line, soft_wrap=False)  # wrapped to the terminal, like the tables
    if options.as_json:
        more = {"prices": msgspec.to_builtins(settings.prices()), "pace": msgspec.to_builtins(fits)}
        print(json.dumps(estimate_json(estimated, priced=_is_priced(settings)) | more), flush=True)
    return 0


def estimate_json(estimated: RunEstimate, *, priced: bool = True) -> dict[str, object]:
    """Return the estimate with its totals. Ranges are objects with `low`, `likely` and `high`.

    Args:
        priced: whether the price of every model is known; otherwise `usd_micros` is null.
    """
    totals = {what: estimated.total(what) for what in ("requests", "jobs", "calls", "tokens", "usd_micros")}
    facts: dict[str, Any] = msgspec.to_builtins(estimated) | {"total": msgspec.to_builtins(totals)}
    if not priced:
        for part in (facts["total"], *facts["first"], *facts["later"]):
            part["usd_micros"] = None
    return facts


def _is_priced(settings: Settings) -> bool:
    return all(price.origin != "unknown" for price in settings.prices())


def format_estimate(estimated: RunEstimate, settings: Settings) -> list[str]:
    """Return lines about the run's totals, refusals by limits, and the origin of the figures."""
    jobs, calls, tokens, money = (estimated.total(what) for what in ("jobs", "calls", "tokens", "usd_micros"))
    lines = [f"In all {_span(jobs)} jobs"]
    if calls.high:
        lines[0] += f", {_span(calls)} calls of a model, {_span(tokens)} tokens, {_dollars(money, settings)}"
    every = {"the first day": estimated.first} | ({"each further day": estimated.later} if estimated.days > 1 else {})
    for name, rows in every.items():
        by_limits: dict[str, list[str]] = {}
        for one in rows:
            if one.limits:
                named = ", ".join(_limit(limit, settings) for limit in dict.fromkeys(one.limits))
                by_limits.setdefault(named, []).append(f"{one.refused:.0f} of {one.requests.likely:.0f} {one.kind}")
        lines += [
            f"On {name} about {', '.join(jobs)} jobs would be refused by {limits}" for limits, jobs in by_limits.items()
        ]
    kinds_of: dict[str, list[str]] = {}
    tokens_of: dict[str, list[str]] = {}
    for kind, one in sorted({one.kind: one for rows in every.values() for one in rows}.items()):
        kinds_of.setdefault(one.origin, []).append(kind)
        if one.tokens_origin:
            tokens_of.setdefault(one.tokens_origin, []).append(kind)
    for what, origins in (("", kinds_of), ("tokens of a call of ", tokens_of)):
        lines += [
            f"{what}{', '.join(names)}: {_ORIGINS.get(one, f'measured in {one}')}" for one, names in origins.items()
        ]
    return lines


def _limit(name: str, settings: Settings) -> str:
    period, scope, unit = parse_limit_name(name)
    limit = settings.limit_table().of(period, scope, unit)
    if limit is None:
        return name
    return f"{name} = {format_limit(limit, retry_pool(unit, limit, settings.tuning.retry_share), figure_of(unit))}"


_ORIGINS = {
    "default": "measured in the built-in town with a stand-in model",
    "settings": "follows from the settings",
    "caps": "from nothing to the kind's caps",
}


def _thinker(settings: Settings) -> str:
    if settings.llm == "heuristic":
        return "heuristics"
    return ", ".join(sorted({model.model for model in settings.asked_models()}))


def _fits(settings: Settings, agents: int) -> list[KindFit]:
    """Return the fit of a paced run's kinds, from latencies that earlier runs measured at the endpoint."""
    if not is_paced(settings) or settings.tick_rate is None:
        return []
    usual: dict[str, float] = {}
    if not settings.embedded or Path(settings.data_dir).is_dir():
        with open_state(settings) as client:
            usual = usual_seconds(client, called_servers(settings))
    known = known_before(settings, usual, settings.tick_rate)
    return pace_fit(settings, known, tick_rate=settings.tick_rate, agents=agents)


def _demand(settings: Settings) -> dict[str, Demand]:
    if settings.embedded and not Path(settings.data_dir).is_dir():
        return dict(DEFAULTS)
    with open_state(settings) as client:
        return demand_of(client, settings)


def _table(title: str, rows: tuple[KindDay, ...]) -> Table:
    """Return a table within 80 columns, with each amount above its range and without empty columns."""
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1))
    columns: list[tuple[str, Callable[[KindDay], str]]] = [("requests", lambda one: _stacked(one.requests))]
    if any(one.refused >= 0.5 for one in rows):
        columns.append(("refused", lambda one: _short(one.refused) if one.refused >= 0.5 else ""))
        columns.append(("jobs", lambda one: _stacked(one.jobs)))
    columns.append(("calls", lambda one: _stacked(one.calls)))
    columns.append(("tokens", lambda one: _stacked(one.tokens)))
    columns.append(("dollars", lambda one: _stacked(one.usd_micros, 1e-6)))
    table.add_column("kind", no_wrap=True)
    for name, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for one in rows:
        table.add_row(one.kind, *(text(one) for _, text in columns))
    return table


def _stacked(one: Range, scale: float = 1.0) -> str:
    """Return an amount above its range, such as "109k" and "82k–145k"; "" for zero."""
    if not one.high:
        return ""
    likely, low, high = (_short(value * scale) for value in (one.likely, one.low, one.high))
    return likely if low == high else f"{likely}\n{low}–{high}"


def _short(value: float) -> str:
    """Return a number in at most five characters: "0.004", "12", "1.2k", "3.4M"."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}" if value >= 100 * size else f"{value / size:.2g}{unit}"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}" if value >= 0.001 else f"{value:.1g}"


def _span(one: Range) -> str:
    """Return a range such as "120 (60–240)"."""
    likely, low, high = (figure(float(f"{value:.3g}")) for value in (one.likely, one.low, one.high))
    return likely if low == high else f"{likely} ({low}–{high})"


def _dollars(one: Range, settings: Settings) -> str:
    if not _is_priced(settings):
        return "dollars unknown"
    if not one.high:
        return "$0"
    return f"${one.likely / 1e6:,.4f} ({one.low / 1e6:,.4f}–{one.high / 1e6:,.4f})"
