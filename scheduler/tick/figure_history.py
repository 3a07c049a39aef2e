"""A bounded history of the figures of ticks, for charts; no decision depends on it.

    history  hash  "t<tick>" -> figures of a tick, for the newest `KEPT_TICKS`;
                   "h<hour>" -> figures of an hour of game time, for the newest `KEPT_HOURS`

The step that commits a tick writes whole fields, so a restart neither loses nor doubles anything.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.engine.open_jobs import OpenJobs
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.lines import Core, TickNotes, reason_of
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore

KEPT_TICKS = 1_440
KEPT_HOURS = 2_400  # a hundred days
HOUR = 60  # game minutes
MOST_POINTS = 240
Span = Literal["hour", "day", "run"]
MINUTES: dict[Span, int] = {"hour": HOUR, "day": 24 * HOUR}


class Figures(msgspec.Struct, array_like=True, kw_only=True):
    """The figures of one tick, or of several consecutive ones."""

    tick: int  # the last tick
    minute: int  # game time of the last tick, total minutes
    ticks: int = 1
    tokens: dict[str, int] = {}  # by kind, at the tick at which they became known
    usd_micros: dict[str, int] = {}  # likewise
    sources: dict[str, int] = {}  # ended jobs by source
    late: int = 0  # ended jobs that were late
    cadence: int | None = None  # of reflections after the last tick, in thousandths of the usual; None: unknown
    causes: dict[str, int] = {}  # pressure on the cadence, in percent
    age: int | None = None  # age of the oldest job without an answer, in ticks; the maximum over all ticks
    host_us: int | None = None  # microseconds of the host's own work, summed over all ticks
    at: float | None = None  # real time of the last tick, seconds since 1970; None: unknown
    failed: int = 0  # ended jobs whose model failed for good, or that were given up
    refused: int = 0  # requests that limits refused
    calls: int = 0  # attempts of ended jobs that asked a model
    failed_calls: int = 0  # failed ones of these
    call_ms: int = 0  # total milliseconds of the successful ones, from claim to outcome
    longest_ms: int = 0  # milliseconds of the longest successful one
    workers: int | None = None  # workers alive at the last tick; None: not counted
    epoch: int = 0  # of the host that committed the last tick; 0: unknown


def figures_of(core: Core, notes: TickNotes) -> Figures:
    """Return the figures of a journal line, without those of steering and pace."""
    tokens, usd_micros = Counter[str](), Counter[str]()
    for spent in spending(notes):
        tokens[spent.key.kind] += spent.cost.tokens
        usd_micros[spent.key.kind] += spent.cost.usd_micros
    tries = [attempt for note in notes.ended for attempt in note.tries]
    answered = [attempt.ms for attempt in tries if not attempt.failure]
    return Figures(
        tick=core.tick,
        minute=core.minute,
        tokens=dict(+tokens),
        usd_micros=dict(+usd_micros),
        sources=dict(Counter(note.source for note in notes.ended)),
        late=sum(ended.reason == "late" for ended in core.ended),
        failed=sum(ended.reason in ("failed", "dead") for ended in core.ended),
        refused=sum(bool(line.refused) and reason_of(line.refused) == "denied" for line in core.decided),
        calls=len(tries),
        failed_calls=len(tries) - len(answered),
        call_ms=sum(answered),
        longest_ms=max(answered, default=0),
        epoch=notes.epoch,
    )


def joined(earlier: Figures, later: Figures) -> Figures:
    """Return the figures of two consecutive spans together."""
    return Figures(
        tick=later.tick,
        minute=later.minute,
        ticks=earlier.ticks + later.ticks,
        tokens=dict(Counter(earlier.tokens) + Counter(later.tokens)),
        usd_micros=dict(Counter(earlier.usd_micros) + Counter(later.usd_micros)),
        sources=dict(Counter(earlier.sources) + Counter(later.sources)),
        late=earlier.late + later.late,
        cadence=later.cadence,
        causes=later.causes,
        age=max((age for age in (earlier.age, later.age) if age is not None), default=None),
        host_us=None if earlier.host_us is None or later.host_us is None else earlier.host_us + later.host_us,
        at=later.at,
        failed=earlier.failed + later.failed,
        refused=earlier.refused + later.refused,
        calls=earlier.calls + later.calls,
        failed_calls=earlier.failed_calls + later.failed_calls,
        call_ms=earlier.call_ms + later.call_ms,
        longest_ms=max(earlier.longest_ms, later.longest_ms),
        workers=later.workers,
        epoch=later.epoch,
    )


_FIGURES = typed_json.decoder(Figures)


class FigureHistory:
    """Writes the history.

    Args:
        hour: the figures of the present hour that an earlier host has written.
    """

    def __init__(self, hour: Figures | None = None) -> None:
        self._hour = hour

    @classmethod
    def load(cls, store: RunStore, minute: int) -> FigureHistory:
        """Return the history of a run that is at game time `minute`."""
        return cls(next(iter(read_figures(store, [f"h{minute // HOUR}"])), None))

    def take_writes(
        self, core: Core, notes: TickNotes, state: RunState, host_us: int, workers: int | None = None
    ) -> list[Write]:
        """Return the commands that add a tick to the history.

        Args:
            workers: number of living workers; None: not counted.
        """
        figures = figures_of(core, notes)
        throttle = state.steering.throttle.state
        figures.cadence, figures.causes, figures.host_us = throttle.factor, throttle.causes, host_us
        figures.workers = workers
        figures.at = round(time.time(), 3)
        figures.age = core.tick - _oldest_waiting(state.open, core.tick)
        hour, before = core.minute // HOUR, self._hour
        same = before is not None and before.minute // HOUR == hour
        self._hour = joined(before, figures) if before is not None and same else figures
        values = (f"t{core.tick}", msgspec.json.encode(figures), f"h{hour}", msgspec.json.encode(self._hour))
        over = [f"t{core.tick - KEPT_TICKS}"]
        if not same:
            last = before.minute // HOUR if before is not None else hour - 1
            over += [f"h{old - KEPT_HOURS}" for old in range(max(last, hour - KEPT_HOURS) + 1, hour + 1)]
        return [Write("HSET", "history", values), Write("HDEL", "history", tuple(over))]


def _oldest_waiting(jobs: OpenJobs, tick: int) -> int:
    """Return the tick that admitted the oldest job without an answer; the given tick if no job waits."""
    oldest = tick
    for key, item in jobs.items():
        if key.tick < oldest and item.grant is not None and item.answered is None and item.job.at <= tick:
            oldest = key.tick  # a job with a later `at`, such as a plan, was requested in advance
    return oldest


def read_figures(store: RunStore, fields: Iterable[str]) -> list[Figures]:
    """Return these fields of the history; unreadable ones are skipped, because nothing depends on them."""
    figures = []
    for raw in store.some_fields("history", *fields):
        try:
            figures += [_FIGURES.decode(raw)] if raw is not None else []
        except msgspec.DecodeError:
            continue
    return figures


def figure_history(store: RunStore, span: Span) -> list[Figures]:
    """Return the figures of a span up to now, in at most `MOST_POINTS` points, oldest first."""
    raw, kept = store.kept_state("tick", "settings")
    tick = int(raw)
    newest = read_figures(store, [f"t{tick}"])
    if not newest:
        return []
    if span == "run":
        hour = newest[0].minute // HOUR
        fields = [f"h{number}" for number in range(max(0, hour - KEPT_HOURS + 1), hour + 1)]
    else:
        ticks = max(2, kept_settings(kept).game_clock().ticks(MINUTES[span]))
        fields = [f"t{number}" for number in range(max(1, tick - min(ticks, KEPT_TICKS) + 1), tick + 1)]
    return thinned(read_figures(store, fields))


def newest_figures(store: RunStore, since: float) -> list[Figures]:
    """Return the figures since an instant, oldest first: whole hours of game time, then single ticks.

    The hour in which the single ticks begin lacks its earlier ticks.

    Args:
        since: seconds since 1970; at most the newest `MOST_POINTS` hours are read.
    """
    tick = store.tick()
    ticks = read_figures(store, [f"t{number}" for number in range(max(1, tick - KEPT_TICKS + 1), tick + 1)])
    if not ticks:
        return []
    hour = ticks[-1].minute // HOUR
    hours = read_figures(store, [f"h{number}" for number in range(max(0, hour - MOST_POINTS + 1), hour + 1)])
    points = [*(point for point in hours if point.tick < ticks[0].tick), *ticks]
    return [point for point in points if point.at is not None and point.at > since]


def ticks_since(store: RunStore, instant: float, most: int) -> int:
    """Return how many of the newest ticks, at most `most`, followed an instant, in seconds since 1970."""
    tick = store.tick()
    newest = read_figures(store, [f"t{number}" for number in range(max(1, tick - most + 1), tick + 1)])
    return sum(point.at is not None and point.at > instant for point in newest)


def last_tick_before(store: RunStore, instant: float) -> int:
    """Return the last tick before an instant, in seconds since 1970; 0: unknown.

    Of ticks older than the newest `KEPT_TICKS`, the history has only the last one of each hour of game time.
    """
    return max((tick for tick, at in _real_times(store) if at < instant), default=0)


def real_times(store: RunStore) -> tuple[float, float] | None:
    """Return the first and the last known real time of a run's ticks, in seconds since 1970; None: unknown."""
    times = [at for _, at in _real_times(store)]
    return (min(times), max(times)) if times else None


def real_times_at(store: RunStore, ticks: Mapping[int, int]) -> dict[int, float]:
    """Return the real times of ticks, in seconds since 1970; if only an hour's figures remain, the end of the hour.

    Args:
        ticks: tick -> its game time in total minutes.
    """
    exact = {point.tick: point.at for point in read_figures(store, (f"t{tick}" for tick in ticks))}
    hours = {minute // HOUR for tick, minute in ticks.items() if tick not in exact}
    ends = {point.minute // HOUR: point.at for point in read_figures(store, (f"h{hour}" for hour in sorted(hours)))}
    times = {tick: exact.get(tick, ends.get(minute // HOUR)) for tick, minute in ticks.items()}
    return {tick: at for tick, at in times.items() if at is not None}


def _real_times(store: RunStore) -> list[tuple[int, float]]:
    tick = store.tick()
    newest = read_figures(store, [f"t{tick}"])
    hour = newest[0].minute // HOUR if newest else 0
    fields = [f"t{number}" for number in range(max(1, tick - KEPT_TICKS + 1), tick + 1)]
    fields += [f"h{number}" for number in range(max(0, hour - KEPT_HOURS + 1), hour + 1)]
    return [(point.tick, point.at) for point in read_figures(store, fields) if point.at is not None]


def thinned(points: Sequence[Figures]) -> list[Figures]:
    """Join neighbouring points, the same number in each, until at most `MOST_POINTS` remain."""
    width = -(-len(points) // MOST_POINTS)
    joined_points: list[Figures] = []
    for at, point in enumerate(points):
        if at % width:
            joined_points[-1] = joined(joined_points[-1], point)
        else:
            joined_points.append(point)
    return joined_points
