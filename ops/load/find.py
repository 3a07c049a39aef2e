"""`cogitate load --find`: raise the load until a service level breaks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cogitate.hosting.terminal import Terminal
from cogitate.ops.formatting.charts import document
from cogitate.ops.load.asserts import check_names, parse
from cogitate.ops.load.figures import LoadRecorder, figures
from cogitate.ops.load.knee import LEVELS, MEASURED, LoadSearch, LoadSearchPlan
from cogitate.ops.load.knee_page import answer_lines, knee_chart, knee_json, knee_page, probe_line
from cogitate.ops.load.profiles import LoadProfile
from cogitate.ops.load.run import LoadTest, load_settings
from cogitate.ops.signals import interruptible
from cogitate.scheduler.journal.private_files import private_file

SLOW = 2.0  # times as long as planned; a test that takes longer is stopped, and its load breaks


def search_plan(levels: list[str], **given: Any) -> LoadSearchPlan:
    """Return the plan of a search.

    Args:
        levels: as given, such as "late_share<=0.1"; none: the usual.
        given: its other fields; None stands for the usual value.

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
    """Runner of the load tests of a search, one after another."""

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
            found = self._test.run()
        if self.stopped:
            raise KeyboardInterrupt
        return {**found, "longest": longest}

    def stop(self) -> None:
        """End the present test, and the search with it."""
        self.stopped = True
        if self._test is None:
            raise KeyboardInterrupt
        self._test.stop()


def find(plan: LoadSearchPlan, *, workers: int, probe_seconds: float | None, out: Path | None, as_json: bool) -> int:
    """Search, write a page and a chart, and return the exit code."""
    console = Terminal(stderr=True)
    prober = _Prober(workers, probe_seconds)
    search = LoadSearch(plan, prober.measure, lambda probe: _say(console, probe_line(search, probe)))
    levels = ", ".join(level.text() for level in plan.levels)
    _say(console, f"from {plan.text(1)} to {plan.text(plan.most)}, until one of these breaks: {levels}")
    with ExitStack() as stack:
        interruption = stack.enter_context(interruptible(lambda text: console.print(text, highlight=False)))
        try:
            with interruption.softened(prober.stop):
                knees = search.run()
        except KeyboardInterrupt:
            return interruption.exit_code
    path = out or Path("load-find.html")
    knee_page(search, knees).write(path)
    chart = path.with_suffix(".svg")
    with private_file(chart) as file:
        file.write(document(knee_chart(search, knees)).encode())
    said = Terminal(stderr=as_json)
    for line in answer_lines(search, knees):
        _say(said, line)
    _say(said, f"wrote {path} and {chart}")
    if as_json:
        print(json.dumps({**knee_json(search, knees), "out": str(path), "chart": str(chart)}), flush=True)
    return 0


def _say(console: Terminal, line: str) -> None:
    console.print(line, highlight=False, soft_wrap=True)
