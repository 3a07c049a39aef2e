"""The history of a run's figures, for charts: kept with each tick, bounded, and decided on by nothing.

    history  hash  "t<tick>" -> figures of a tick, of the newest `KEPT_TICKS`;
                   "h<hour>" -> those of an hour of game time, of the newest `KEPT_HOURS`

Each field is written as a whole by the step that commits the tick, so that a restart loses and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.figures import Figures, figures_of, joined
from cogitate.scheduler.journal.lines import Core, TickNotes
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore

KEPT_TICKS = 1_440
KEPT_HOURS = 2_400  # a hundred days
HOUR = 60  # game minutes

_FIGURES = typed_json.decoder(Figures)


class FigureHistory:
    """The writer of the history."""

    def __init__(self, hour: Figures | None = None) -> None:
        """Go on from the figures of the present hour, if a host has written some."""
        self._hour = hour

    @classmethod
    def load(cls, store: RunStore, minute: int) -> FigureHistory:
        """Return the history of a run that is at game time `minute`."""
        return cls(next(iter(read_figures(store, [f"h{minute // HOUR}"])), None))

    def take_writes(self, core: Core, notes: TickNotes, state: RunState, host_us: int) -> list[Write]:
        """Return the commands that add a tick."""
        figures = figures_of(core, notes)
        throttle = state.steering.throttle.state
        figures.cadence, figures.causes, figures.host_us = throttle.factor, throttle.causes, host_us
        open_jobs = ((key.tick, one) for key, one in state.open.items() if one.admitted and one.answered is None)
        waiting = (tick for tick, one in open_jobs if one.job.at <= core.tick)  # others are asked ahead, as plans are
        figures.age = core.tick - min(waiting, default=core.tick)
        hour, before = core.minute // HOUR, self._hour
        same = before is not None and before.minute // HOUR == hour
        self._hour = joined(before, figures) if before is not None and same else figures
        values = (f"t{core.tick}", msgspec.json.encode(figures), f"h{hour}", msgspec.json.encode(self._hour))
        over = [f"t{core.tick - KEPT_TICKS}"]
        if not same:
            last = before.minute // HOUR if before is not None else hour - 1
            over += [f"h{old - KEPT_HOURS}" for old in range(max(last, hour - KEPT_HOURS) + 1, hour + 1)]
        return [Write("HSET", "history", values), Write("HDEL", "history", tuple(over))]


def read_figures(store: RunStore, fields: Iterable[str]) -> list[Figures]:
    """Return what the history has of these fields; one that cannot be read is left out, since nothing hangs on it."""
    found = []
    for raw in store.some_fields("history", *fields):
        try:
            found += [_FIGURES.decode(raw)] if raw is not None else []
        except msgspec.DecodeError:
            continue
    return found
