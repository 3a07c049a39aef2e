"""Progress of a run: ticks, jobs by kind and source, and the remaining budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from cogitate.hosting.terminal import Terminal
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.clock import clock_time, day_number
from cogitate.scheduler.budget.budget import BudgetView, Cell, figure_of, format_limit, window_of
from cogitate.scheduler.latency.due_ticks import TOO_SLOW
from cogitate.scheduler.tick.tick_iterator import Tick

NO_ANSWER = "not asked (no answer yet)"
PLAIN_EVERY = 240  # game minutes between two lines outside a terminal


class RunProgress:
    """A progress bar on a terminal; elsewhere a line every few game hours."""

    def __init__(self, loop: TickLoop, ticks: int, console: Terminal) -> None:
        self._loop = loop
        self._ticks = ticks
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("ticks,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
        )
        self._task = self._bar.add_task(loop.ledger.run, total=ticks, completed=loop.tick)
        self._tick: Tick | None = None
        self._printed = -1  # the last `PLAIN_EVERY` period with a line
        self._since = f"since tick {loop.tick}: " if loop.tick else ""  # a resumed loop does not count earlier jobs

    @contextmanager
    def drawn(self) -> Iterator[RunProgress]:
        if not self._console.is_terminal:
            yield self
            return
        with Live(get_renderable=self._render, console=self._console, refresh_per_second=8):
            yield self

    def update(self, tick: Tick) -> None:
        """Record a tick. The display refreshes itself."""
        self._tick = tick
        if not self._console.is_terminal and tick.minute // PLAIN_EVERY != self._printed:
            self._printed = tick.minute // PLAIN_EVERY
            self._console.print(f"{_moment(tick)}  tick {tick.number}/{self._ticks}  {self._since}{self._jobs()}")

    def _render(self) -> RenderableType:
        tick = self._tick
        if tick is None:
            return self._bar
        self._bar.update(self._task, completed=tick.number, description=_moment(tick))
        lines = [f"jobs    {self._since}{self._jobs()}"]
        lines += [f"budget  {line}" for line in budget_left(self._loop.state.view, tick)]
        return Group(self._bar, *(Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines))

    def _jobs(self) -> str:
        """Return the numbers of ended jobs; of kinds whose model has not answered yet, it says so."""
        unanswered = {kind for kind, _, reason in self._loop.ended if reason == TOO_SLOW}
        unanswered -= {kind for kind in unanswered if self._loop.state.has_answered(kind)}
        return jobs_line(
            Counter(
                {
                    (kind, source, NO_ANSWER if reason == TOO_SLOW and kind in unanswered else reason): count
                    for (kind, source, reason), count in self._loop.ended.items()
                }
            )
        )


def _moment(tick: Tick) -> str:
    return f"day {day_number(tick.minute)}, {clock_time(tick.minute):>8}"


def jobs_line(ended: Counter[tuple[str, str, str]]) -> str:
    """Return the numbers of ended jobs by kind and source; of degraded ones, by kind and reason."""
    kinds: dict[str, Counter[str]] = {}
    for (kind, source, reason), count in ended.items():
        kinds.setdefault(kind, Counter())[source if reason == "none" else reason] += count
    parts = [
        f"{kind} " + ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
        for kind, found in sorted(kinds.items())
    ]
    return " · ".join(parts) or "none ended yet"


def budget_left(view: BudgetView, tick: Tick) -> list[str]:
    """Return a line for the day and one for the run with the part of each limit that admission may still spend."""
    periods: dict[str, list[str]] = {}
    for name, limit in view.table:
        if name.period == "tick" or name.scope.startswith("owner:") or name.scope.endswith(":*"):
            continue
        cell = Cell(window_of(name.period, tick.number, tick.minute), name.scope)
        room = view.room(name.period, name.scope, name.unit) or 0
        left, limit_text = (
            max(0, room - view.get(cell, name.unit)),
            format_limit(limit, limit - room, figure_of(name.unit)),
        )
        unit = "" if name.unit == "usd_micros" else f" {name.unit}"
        scope = "all jobs " if name.scope == "run" else name.scope.partition(":")[2] + " "
        periods.setdefault(name.period, []).append(f"{scope}{figure_of(name.unit)(left)} of {limit_text}{unit}")
    return [f"left of the {period}: {' · '.join(parts)}" for period, parts in periods.items()]
