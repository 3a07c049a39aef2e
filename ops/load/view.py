"""The display of a load test: redrawn on a terminal, elsewhere a line per phase."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table

from cogitate.memory.clock import clock_time
from cogitate.ops.load.figures import TickFigures
from cogitate.ops.load.profiles import LoadProfile, Phase

NEWEST = 30  # ticks that shares cover


class LoadView:
    """A display of the newest ticks."""

    def __init__(self, profile: LoadProfile, console: Console) -> None:
        self._profile = profile
        self._console = console
        self._rows: deque[TickFigures] = deque(maxlen=NEWEST)
        self._sources: Counter[str] = Counter()
        self._queue = 0
        self._phase: Phase | None = None

    @contextmanager
    def drawn(self) -> Iterator[LoadView]:
        """Show the display within the block."""
        if not self._console.is_terminal:
            yield self
            return
        with Live(get_renderable=self._render, console=self._console, refresh_per_second=6):
            yield self

    def update(self, phase: Phase, row: TickFigures) -> None:
        """Record a tick."""
        if phase is not self._phase and not self._console.is_terminal:
            self._console.print(f"{clock_time(row.minute)}  {phase.name}", highlight=False)
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
