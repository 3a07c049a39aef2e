"""`cogitate load`: measure a run under load, faults and limits, in figures and as a page."""

from __future__ import annotations

import json
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.live import Live
from rich.table import Table

from cogitate.hosting import logs
from cogitate.hosting.pace_fit import fit_lines, known_before, pace_fit
from cogitate.hosting.terminal import Terminal
from cogitate.memory.clock import clock_time
from cogitate.ops.command_options import LimitTokens, LimitUsd, SharedOptions, open_state, read_settings
from cogitate.ops.load.figures import (
    Expectation,
    LoadRecorder,
    TickFigures,
    check_names,
    failures,
    figures,
    numbers,
    parse,
)
from cogitate.ops.load.page import load_page
from cogitate.ops.load.profiles import PROFILES, LoadProfile, Phase, profile_of, recorded_profile, run_profile
from cogitate.ops.load.run import LoadTest, load_settings
from cogitate.ops.load.sweep import COLUMNS, Measured, Sweep, SweepResult, parse_sweep
from cogitate.ops.signals import Interruption, interruptible
from cogitate.scheduler.config.endpoints import DEFAULT
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.simulation.story.story import AGENTS


def load(
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help=f"One of {', '.join(PROFILES)} (default steady).")
    ] = None,
    demand: Annotated[
        Path | None, typer.Option("--demand", metavar="FILE", help="Use the load of a recorded job_demand.csv instead.")
    ] = None,
    from_run: Annotated[
        str | None, typer.Option("--from-run", metavar="RUN", help="Use the load of an earlier run, from its journal.")
    ] = None,
    agents: Annotated[
        int | None, typer.Option("--agents", metavar="N", min=1, max=1000, help="The number of agents.")
    ] = None,
    story: Annotated[bool, typer.Option("--story", help="Run the story instead of a town.")] = False,
    tick_rate: Annotated[
        float | None, typer.Option("--tick-rate", metavar="HZ", min=0.1, help="Ticks a second.")
    ] = None,
    cadence: Annotated[
        float | None,
        typer.Option("--cadence", min=0.001, max=1, help="Pin the reflections to this share of the usual cadence."),
    ] = None,
    spread: Annotated[
        int | None,
        typer.Option("--spread", metavar="M", min=0, max=240, help="Game minutes over which agents plan; 0: one tick."),
    ] = None,
    latency: Annotated[
        float | None, typer.Option("--latency", metavar="SECONDS", min=0, help="The latency of an answer.")
    ] = None,
    error_rate: Annotated[
        float | None,
        typer.Option("--error-rate", min=0, max=1, help="Share of requests that get a 503 in every phase."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", metavar="W", min=1, help="Worker processes.")] = 2,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="URL", help="The base URL of your own endpoint; this needs a limit."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model at that endpoint.")] = None,
    limit_usd: LimitUsd = None,
    limit_tokens: LimitTokens = None,
    swept: Annotated[
        str | None,
        typer.Option(
            "--sweep",
            metavar="WHAT=VALUES",
            help='Repeat the test at each value of cadence, agents or latency: "cadence=1,0.5,0.25,0.125".',
        ),
    ] = None,
    expected: Annotated[
        list[str] | None,
        typer.Option(
            "--assert", metavar="EXPR", help='An assertion such as "late_share<0.05"; an unknown name lists all.'
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The report to write (default load-PROFILE.html).")
    ] = None,
    *,
    options: SharedOptions,
) -> int:
    """Load-test a town with its own server and workers, and a stand-in for a model that fails as the profile says.

    This writes one HTML report. The exit code is 1 when an assertion does not hold, 2 when one names an unknown figure.
    Without --data-dir the run is deleted afterwards; with --from-run, --data-dir names the folder of that run. --sweep
    tests each value in a separate run; assertions apply to each run, and a limit is divided equally among the runs.
    """
    logs.configure(options.verbose)
    chosen = _profile(profile, demand, from_run, options.data_dir)
    if agents is not None and story:
        raise ConfigurationError(f"--story has a fixed cast: give --agents {agents} or --story, not both")
    if story:
        chosen = replace(chosen, story=True, agents=len(AGENTS))
    if agents is not None:
        chosen = replace(chosen, agents=agents)
    if tick_rate is not None:
        chosen = replace(chosen, tick_rate=tick_rate)
    if spread is not None:
        chosen = replace(chosen, spread=spread)
    changes: dict[str, Any] = {} if cadence is None else {"cadence": cadence}
    changes |= {} if latency is None else {"latency": latency}
    changes |= {} if error_rate is None else {"faults": {"503": error_rate} if error_rate else {}}
    chosen = replace(chosen, phases=[replace(phase, **changes) for phase in chosen.phases])
    sweep = None if swept is None else parse_sweep(swept)
    if sweep is not None and story and sweep.parameter == "agents":
        raise ConfigurationError("--story has a fixed cast: sweep cadence or latency")
    slowed = latency is not None or bool(error_rate) or (sweep is not None and sweep.parameter == "latency")
    own = _own_endpoint(chosen, against, model, limit_usd, limit_tokens, slowed)
    if sweep is not None and limit_usd is not None:
        own["limit_usd"] = limit_usd / len(sweep.values)
    if sweep is not None and limit_tokens is not None:
        own["limit_tokens"] = limit_tokens // len(sweep.values)
    asserted = [parse(text) for text in expected or ()]
    check_names(asserted, numbers(figures(chosen, LoadRecorder(), open_reflections=0, waiting=(), interval=60)))
    with ExitStack() as stack:
        kept = options.data_dir if from_run is None else None
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cogitate-load-")))
        tester = _Tester(folder, workers, own, asserted)
        stack.enter_context(tester.interruptible())
        if sweep is None:
            return _single(tester, chosen, limit_tokens, out or Path(f"load-{chosen.name}.html"), options.as_json)
        return _sweep(tester, sweep, chosen, out or Path(f"load-{chosen.name}-{sweep.parameter}.html"), options.as_json)


class _Tester:
    """Runs the load tests of a command, one after another."""

    def __init__(self, folder: Path, workers: int, settings: dict[str, Any], asserted: list[Expectation]) -> None:
        self.console = Terminal(stderr=True)
        self.broken: list[str] = []  # a line for each assertion that does not hold
        self.rows: list[TickFigures] = []  # of the last test
        self._folder = folder
        self._workers = workers
        self._settings = settings
        self._asserted = asserted
        self._interruption: Interruption

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let Ctrl-C end a test after its tick."""
        with interruptible(self.console.print) as self._interruption:
            yield

    @property
    def exit_code(self) -> int:
        """Return the exit code of tests that ran to their end."""
        return 1 if self.broken else 0

    def run(self, profile: LoadProfile, name: str = "") -> dict[str, Any] | None:
        """Run a test and check the assertions.

        Args:
            name: names one test among several, in its folder and its messages.

        Returns:
            The figures, or None if the user stopped the test before the first tick.
        """
        settings = load_settings(profile, self._folder / name, workers=self._workers, **self._settings)
        view = LoadView(profile, self.console)
        test = LoadTest(profile, settings, view.update)
        for line in _fit(profile, settings):
            self.console.print(line)
        try:
            with self._interruption.softened(test.stop), view.drawn():
                figures = test.run()
        except KeyboardInterrupt:
            return None
        self.rows = test.recorder.rows
        prefix = f"{name}: " if name else ""
        if not figures["warm"]:
            self.console.print(
                f"{prefix}{profile.phases[0].name} began before the run was warm: jobs were late or failed, or the "
                "cadence was slower, in the interval before it; try fewer agents or a lower --tick-rate"
            )
        self.broken += [prefix + line for line in failures(self._asserted, numbers(figures))]
        return figures

    def stopped(self, profile: LoadProfile) -> bool:
        """Return whether the last test ended before its last tick."""
        return len(self.rows) < profile.ticks

    def stopped_at(self, profile: LoadProfile) -> str:
        """Return the part that the figures cover, if the user stopped the test; "" if it ran to its end."""
        if not self.stopped(profile):
            return ""
        return f"stopped after {len(self.rows):,} of {profile.ticks:,} ticks: the figures cover these only"

    @property
    def signalled(self) -> int:
        """Return the exit code of an interrupted test."""
        return self._interruption.exit_code

    def print_broken(self) -> None:
        for line in self.broken:
            self.console.print(f"assertion failed: {line}")


def _single(tester: _Tester, profile: LoadProfile, limit_tokens: int | None, path: Path, as_json: bool) -> int:
    """Run one test, write its report, and return the exit code."""
    result = tester.run(profile)
    if result is None:
        return tester.signalled
    partial = tester.stopped_at(profile)
    load_page(profile, tester.rows, result, tester.broken, limit_tokens, partial).write(path)
    console = Terminal(stderr=as_json)
    if partial:
        console.print(partial)
    for name, value in numbers(result).items():
        if "." not in name:
            console.print(f"{name:<20} {'-' if value is None else f'{value:,g}'}")
    console.print(f"wrote {path}")
    tester.print_broken()
    if as_json:
        about = {"complete": not partial, "out": str(path), "failed_asserts": tester.broken}
        print(json.dumps({**result, **about}), flush=True)
    return tester.exit_code or (tester.signalled if partial else 0)


def _sweep(tester: _Tester, sweep: Sweep, profile: LoadProfile, path: Path, as_json: bool) -> int:
    """Run a test at each value, write the report, and return the exit code.

    After an interruption, it reports the values whose tests ran to their end.
    """
    measured: list[Measured] = []
    for value in sweep.values:
        tested = sweep.profile(profile, value)
        result = tester.run(tested, f"{sweep.parameter}-{value:g}")
        if result is None or tester.stopped(tested):
            break
        measured.append(Measured(value, result))
    if not measured:
        return tester.signalled
    swept = SweepResult(sweep, sweep.usual(profile), measured)
    swept.page(profile).write(path)
    console = Terminal(stderr=as_json)
    table = Table(sweep.parameter, box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading, _ in COLUMNS:
        table.add_column(heading, justify="right")
    for row in swept.rows():
        table.add_row(*row)
    console.print(table)
    for line in (swept.about(profile), *swept.lines(), f"wrote {path}"):
        console.print(line)
    tester.print_broken()
    if as_json:
        print(json.dumps({**swept.json(), "out": str(path), "failed_asserts": tester.broken}), flush=True)
    return tester.exit_code or (tester.signalled if len(measured) < len(sweep.values) else 0)


def _fit(profile: LoadProfile, settings: Settings) -> list[str]:
    """Return lines that compare the model's latency with the ticks of the first phase."""
    first = profile.phases[0]
    rate = profile.tick_rate * first.speed
    usual = {DEFAULT: first.latency + first.jitter / 2} if settings.base_url is None else {}
    known = known_before(settings, usual, rate)
    return fit_lines(pace_fit(settings, known, tick_rate=rate, agents=profile.agents), rate)


def _profile(name: str | None, demand: Path | None, run: str | None, data_dir: Path | None) -> LoadProfile:
    given = {"--profile": name, "--demand": demand, "--from-run": run}
    named = [f"{option} {value}" for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise ConfigurationError(f"give {' or '.join(named)}, not both")
    if run is not None:
        settings = read_settings(data_dir=data_dir)
        with open_state(settings) as client:
            return run_profile(client, Path(settings.data_dir), run)
    return recorded_profile(demand) if demand is not None else profile_of(name or "steady")


def _own_endpoint(
    profile: LoadProfile,
    against: str | None,
    model: str | None,
    limit_usd: float | None,
    limit_tokens: int | None,
    faulty: bool,
) -> dict[str, Any]:
    """Return the settings of the user's endpoint, if any; it cannot fail on request, and may cost money."""
    limits = {"limit_usd": limit_usd, "limit_tokens": limit_tokens}
    given = {name: value for name, value in limits.items() if value is not None}
    if against is None:
        if model is not None:
            raise ConfigurationError(f"--model {model} needs an endpoint: give --against too")
        return given
    if not given:
        raise ConfigurationError("--against may cost money: give --limit-usd or --limit-tokens with it")
    if profile.own_faults or faulty:
        raise ConfigurationError(
            f"{against} cannot be slowed, fail or be limited on request, as this test needs: omit --against, "
            "or use the profile steady or day-boundary-storm without --latency and --error-rate"
        )
    return given | {"base_url": against} | ({} if model is None else {"model": model})


NEWEST = 30  # the number of newest ticks that the display covers


class LoadView:
    """A display of the newest ticks."""

    def __init__(self, profile: LoadProfile, console: Terminal) -> None:
        self._profile = profile
        self._console = console
        self._rows: deque[TickFigures] = deque(maxlen=NEWEST)
        self._sources: Counter[str] = Counter()
        self._queue = 0
        self._phase: Phase | None = None

    @contextmanager
    def drawn(self) -> Iterator[LoadView]:
        if not self._console.is_terminal:
            yield self
            return
        with Live(get_renderable=self._render, console=self._console, refresh_per_second=6):
            yield self

    def update(self, phase: Phase, row: TickFigures) -> None:
        if phase is not self._phase and not self._console.is_terminal:
            self._console.print(f"{clock_time(row.minute)}  {phase.name}")
        self._phase = phase
        self._rows.append(row)
        self._sources += row.sources
        self._queue = self._queue if row.queue is None else row.queue

    def _render(self) -> RenderableType:
        table = Table(title=f"Load test: {self._profile.name}", title_justify="left", show_header=False)
        if self._phase is None or not self._rows:
            table.add_row("waiting for workers")
            return table
        last = self._rows[-1]
        ended = sum(row.ended for row in self._rows)
        late, failed = (sum(getattr(row, name) for row in self._rows) for name in ("late", "failed"))
        table.add_row("phase", f"{self._phase.name}, {clock_time(last.minute)}")
        table.add_row("tick", f"{last.tick:,} of {self._profile.ticks:,}, {last.behind:.1f} behind the pace")
        table.add_row("cadence", f"{last.cadence:g} of the usual")
        table.add_row("queue", f"the oldest job has waited {self._queue:,} ticks")
        table.add_row("newest jobs", f"{ended:,}: {late:,} late, {failed:,} failed")
        table.add_row("by source", ", ".join(f"{name} {count:,}" for name, count in sorted(self._sources.items())))
        table.add_row("host", f"{1000 * last.host:.1f} ms at the last tick")
        return table
