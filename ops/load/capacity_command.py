"""`cogitate capacity`: raise the load of test runs until a service level breaks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, Verbose
from cogitate.ops.formatting.charts import document
from cogitate.ops.load.figures import LoadRecorder, check_names, figures, parse
from cogitate.ops.load.knee import (
    LEVELS,
    MEASURED,
    USUAL_MOST,
    LoadSearch,
    LoadSearchPlan,
    answer_lines,
    knee_chart,
    knee_json,
    knee_page,
    probe_line,
)
from cogitate.ops.load.profiles import MOST_AGENTS, LoadProfile
from cogitate.ops.load.run import LoadTest, load_settings
from cogitate.ops.report.page import write_page
from cogitate.ops.signals import interruptible

SLOW = 2.0  # a test that takes this many times its planned duration is stopped, and its load counts as breaking


def capacity(
    agents: Annotated[
        int | None, typer.Option("--agents", metavar="N", min=1, max=1000, help="The number of agents to begin with.")
    ] = None,
    tick_rate: Annotated[
        float | None, typer.Option("--tick-rate", metavar="HZ", min=0.1, help="Ticks a second.")
    ] = None,
    latency: Annotated[
        float | None, typer.Option("--latency", metavar="SECONDS", min=0, help="The latency of an answer.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", metavar="W", min=1, help="Worker processes.")] = 2,
    raised: Annotated[
        list[str] | None,
        typer.Option("--raise", metavar="WHAT", help="agents (default), cadence or latency; repeat for several."),
    ] = None,
    up_to: Annotated[
        float | None,
        typer.Option("--up-to", metavar="FACTOR", min=1, max=1000, help="The highest load, times the first."),
    ] = None,
    levels: Annotated[
        list[str] | None,
        typer.Option("--level", metavar="EXPR", help=f"A level to hold (default {' and '.join(LEVELS)})."),
    ] = None,
    minutes: Annotated[
        int | None, typer.Option("--minutes", metavar="M", min=60, help="Game minutes to measure (default 240).")
    ] = None,
    probe_seconds: Annotated[
        float | None, typer.Option("--probe-seconds", metavar="S", min=1, help="The most time that one load may take.")
    ] = None,
    past_knee: Annotated[
        bool, typer.Option("--past-knee", help="Continue to --up-to, for the chart; this takes long.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The report to write (default capacity.html).")
    ] = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Raise the load of a town until a service level breaks, and report the highest load that holds.

    Each load is a run with its own server, workers and stand-in for a model. This writes an HTML page and an SVG chart.
    """
    logs.configure(verbose)
    plan = search_plan(
        levels or [],
        agents=agents,
        tick_rate=tick_rate,
        latency=latency,
        raised=tuple(raised) if raised else None,
        most=_most(agents, raised) if up_to is None else up_to,
        minutes=minutes,
        past_knee=past_knee,
    )
    return _search(plan, workers=workers, probe_seconds=probe_seconds, out=out, as_json=as_json)


def _most(agents: int | None, raised: list[str] | None) -> float:
    """Return the default for the highest load, bounded by the town's number of agents."""
    if raised and "agents" not in raised:
        return USUAL_MOST
    return min(USUAL_MOST, MOST_AGENTS / (agents or LoadSearchPlan.agents))


def search_plan(levels: list[str], **given: Any) -> LoadSearchPlan:
    """Return the plan of a search.

    Args:
        levels: texts such as "late_share<=0.1"; empty: the defaults.
        given: the plan's other fields; None: the default.

    Raises:
        ConfigurationError: when a level names no figure, or a field is invalid.
    """
    plan = LoadSearchPlan(
        levels=[parse(text, "--level") for text in levels or LEVELS],
        **{name: value for name, value in given.items() if value is not None},
    )
    empty = figures(plan.profile(1.0), LoadRecorder(), open_reflections=0, waiting=(), interval=60)
    check_names(list(plan.levels), empty["phases"][MEASURED], "--level")
    return plan


class _Prober:
    """Runs the load tests of a search, one after another."""

    def __init__(self, workers: int, longest: float | None) -> None:
        self._workers = workers
        self._longest = longest
        self._test: LoadTest | None = None
        self.stopped = False

    def measure(self, profile: LoadProfile, controller: bool) -> Mapping[str, Any]:
        """Run a profile on a separate server with its workers."""
        longest = self._longest or SLOW * profile.ticks / profile.tick_rate
        with tempfile.TemporaryDirectory(prefix="cogitate-load-") as folder:
            settings = load_settings(
                profile,
                Path(folder),
                workers=self._workers,
                throttle_auto=controller,
                adaptive_latency=False,  # jobs refused as too slow would hide late ones
            )
            self._test = LoadTest(profile, settings, longest=longest)
            figures = self._test.run()
        if self.stopped:
            raise KeyboardInterrupt
        return {**figures, "longest": longest}

    def stop(self) -> None:
        """End the current test and the search."""
        self.stopped = True
        if self._test is None:
            raise KeyboardInterrupt
        self._test.stop()


def _search(plan: LoadSearchPlan, *, workers: int, probe_seconds: float | None, out: Path | None, as_json: bool) -> int:
    """Search, write a page and a chart, and return the exit code."""
    console = Terminal(stderr=True)
    prober = _Prober(workers, probe_seconds)
    search = LoadSearch(plan, prober.measure, lambda probe: console.print(probe_line(search, probe)))
    levels = ", ".join(level.text() for level in plan.levels)
    console.print(f"from {plan.text(1)} to {plan.text(plan.most)}, until one of these breaks: {levels}")
    with ExitStack() as stack:
        interruption = stack.enter_context(interruptible(console.print))
        try:
            with interruption.softened(prober.stop):
                knees = search.run()
        except KeyboardInterrupt:
            return interruption.exit_code
    path = out or Path("capacity.html")
    knee_page(search, knees).write(path)
    chart = path.with_suffix(".svg")
    write_page(document(knee_chart(search, knees)), chart)
    out_console = Terminal(stderr=as_json)
    for line in answer_lines(search, knees):
        out_console.print(line)
    out_console.print(f"wrote {path} and {chart}")
    if as_json:
        print(json.dumps({**knee_json(search, knees), "out": str(path), "chart": str(chart)}), flush=True)
    return 0
