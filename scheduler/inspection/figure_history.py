"""The history of a run's figures over its last hour or day, or all of it, for charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cogitate.scheduler.config.kept_settings import kept_settings
from cogitate.scheduler.journal.figures import Figures, joined
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import HOUR, KEPT_HOURS, KEPT_TICKS, read_figures

Span = Literal["hour", "day", "run"]
MINUTES: dict[Span, int] = {"hour": HOUR, "day": 24 * HOUR}
MOST_POINTS = 240


def figure_history(store: RunStore, span: Span) -> list[Figures]:
    """Return the figures of a span up to now, in at most `MOST_POINTS` points, oldest first.

    Raises:
        RunMissing: if the run was deleted meanwhile.
    """
    raw, kept = store.state("tick", "settings")
    if raw is None or kept is None:
        raise RunMissing("the run was deleted meanwhile")
    tick = int(raw)
    newest = read_figures(store, [f"t{tick}"])
    if not newest:
        return []
    if span == "run":
        hour = newest[0].minute // HOUR
        fields = [f"h{one}" for one in range(max(0, hour - KEPT_HOURS + 1), hour + 1)]
    else:
        ticks = max(2, kept_settings(kept).game_clock().ticks(MINUTES[span]))
        fields = [f"t{one}" for one in range(max(1, tick - min(ticks, KEPT_TICKS) + 1), tick + 1)]
    return thinned(read_figures(store, fields))


def thinned(points: Sequence[Figures]) -> list[Figures]:
    """Join neighbouring points, the same number in each, until at most `MOST_POINTS` remain."""
    width = -(-len(points) // MOST_POINTS)
    found: list[Figures] = []
    for at, point in enumerate(points):
        if at % width:
            found[-1] = joined(found[-1], point)
        else:
            found.append(point)
    return found
