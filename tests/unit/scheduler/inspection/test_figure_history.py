"""The history of a run's figures: bounded, whole after a restart, and equal to the journal."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cogitate import Observation, Profile, TickLoop
from cogitate.memory import typed_json
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Core, EndNote, TickNotes
from cogitate.scheduler.ledger.claims import Tried
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.throttle import ThrottleState
from cogitate.scheduler.tick import figure_history as written
from cogitate.scheduler.tick.figure_history import (
    Figures,
    Span,
    figure_history,
    figures_of,
    joined,
    last_tick_before,
    real_times_at,
    thinned,
)
from cogitate.tasks.job import Cost, JobKey
from tests.unit.scheduler.run_lines_case import store_of

Loops = Callable[..., TickLoop]

ADA = "agent:ada"
OWNERS = {ADA: Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}
TICKS = 150


def lived(loops: Loops, ticks: int = TICKS, **more: Any) -> RunStore:
    loop = loops(**({"owners": OWNERS, "ticks": TICKS, "start_minute": 300} | more))
    for tick in loop:
        loop.observe(ADA, Observation(text=f"The bell struck {tick.number}.", minute=tick.minute, importance=9))
        if tick.number % 20 == 0:
            loop.request("reflect", ADA)
        if tick.number == ticks:
            break
    loop.close()
    return loop.ledger.store


def test_the_history_matches_the_journal(cogitate_loop: Loops) -> None:
    store = lived(cogitate_loop)
    lines = list(read_journal(store, 1, TICKS))
    sources: dict[str, int] = {}
    for note in (note for line in lines for note in line.notes.ended):
        sources[note.source] = sources.get(note.source, 0) + 1
    assert sources
    day, run = figure_history(store, "day"), figure_history(store, "run")
    assert [(one.tick, one.minute) for one in day] == [(line.core.tick, line.core.minute) for line in lines]
    for points in (day, run):
        whole = points[0]
        for point in points[1:]:
            whole = joined(whole, point)
        assert (whole.sources, whole.ticks, whole.tick) == (sources, TICKS, TICKS)
    assert [point.tick for point in figure_history(store, "hour")] == list(range(TICKS - 59, TICKS + 1))
    assert [point.minute // 60 for point in run] == sorted({line.core.minute // 60 for line in lines})
    assert all(point.cadence == 1000 and point.host_us is not None and point.age is not None for point in day)


def test_an_hour_in_which_the_host_changed_has_every_tick_once(cogitate_loop: Loops) -> None:
    left = lived(cogitate_loop, ticks=70)
    store = lived(cogitate_loop, client=left.client, owners={}, exist="resume")
    points = figure_history(store, "run")
    assert sum(point.ticks for point in points) == TICKS
    assert [point.minute // 60 for point in points] == sorted({point.minute // 60 for point in points})


def test_the_history_is_bounded(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "KEPT_TICKS", 10)
    monkeypatch.setattr(written, "KEPT_HOURS", 2)
    store = lived(cogitate_loop)
    fields = {raw.decode() for raw in store.fields("history")}
    assert fields == {f"t{tick}" for tick in range(TICKS - 9, TICKS + 1)} | {"h6", "h7"}
    assert [point.minute // 60 for point in figure_history(store, "run")] == [6, 7]


def test_a_damaged_point_is_left_out_and_stops_no_host(cogitate_loop: Loops) -> None:
    left = lived(cogitate_loop, ticks=70)
    left.client.hset(left.key("history"), mapping={"t60": "no", "h6": "{}"})
    store = lived(cogitate_loop, client=left.client, owners={}, exist="resume")
    ticks = [point.tick for point in figure_history(store, "day")]
    assert ticks == [tick for tick in range(1, TICKS + 1) if tick != 60]


def test_many_points_become_fewer_with_the_same_sums() -> None:
    points = [Figures(tick=at, minute=at, tokens={"plan": at}, age=at % 7) for at in range(1, 1_001)]
    found = thinned(points)
    assert len(found) == 200
    assert sum(one.tokens["plan"] for one in found) == sum(range(1, 1_001))
    assert [found[0].ticks, found[0].tick, found[0].age] == [5, 5, 5]


def test_calls_of_ended_jobs_are_counted_with_their_time() -> None:
    def note(owner: str, *tries: tuple[int, str]) -> EndNote:
        made = tuple(Tried(at, ms, Cost(), "m", failure) for at, (ms, failure) in enumerate(tries, start=1))
        return EndNote(key=JobKey(1, "plan", owner, 0, 0), source="llm", tries=made)

    one = figures_of(
        Core(tick=1, minute=1), TickNotes(epoch=1, ended=(note("a", (900, "timeout"), (300, "")), note("b", (500, ""))))
    )
    assert (one.calls, one.failed_calls, one.call_ms, one.longest_ms) == (3, 1, 800, 500)
    failed = figures_of(Core(tick=2, minute=2), TickNotes(epoch=2, ended=(note("a", (7_000, "timeout")),)))
    both = joined(one, failed)
    assert (both.calls, both.failed_calls, both.call_ms, both.longest_ms, both.epoch) == (4, 2, 800, 500, 2)


@pytest.mark.parametrize(
    ("instant", "tick"),
    [(0, 0), (1_000, 0), (1_001, 60), (2_560, 1_560), (2_561, 1_560), (2_600, 1_599), (9_000, 3_000)],
)
def test_the_last_tick_before_an_instant_is_known_by_tick_and_before_that_by_hour(instant: float, tick: int) -> None:
    store = store_of([], tick=3_000)
    kept_hours = {f"h{at}": Figures(tick=60 * at + 60, minute=60 * at + 59, at=1_000.0 + at) for at in range(26)}
    ticks = {
        f"t{at}": Figures(tick=at, minute=at, at=1_000.0 + at) for at in range(3_000 - written.KEPT_TICKS + 1, 3_001)
    }
    fields = {name: msgspec.json.encode(figures) for name, figures in (kept_hours | ticks).items()}
    store.client.hset(store.key("history"), mapping=fields)  # type: ignore[arg-type]
    assert last_tick_before(store, instant) == tick
    times = real_times_at(store, {3_000: 3_000, 90: 89, 5_000: 4_999})
    assert times == {3_000: 4_000.0, 90: 1_001.0}, "one has neither a tick nor an hour"


def test_every_tick_has_its_real_time(cogitate_loop: Loops) -> None:
    began = time.time()
    store = lived(cogitate_loop)
    times = [point.at for point in figure_history(store, "day")]
    assert times == sorted(times, key=lambda at: at or 0.0)
    assert last_tick_before(store, began - 1) == 0
    assert last_tick_before(store, time.time() + 1) == TICKS


def kept(step: int, *, tick: int = 3_000, hours: int = 3_000) -> RunStore:
    """A run that a host has kept the figures of, also of more ticks and hours than are shown."""
    store = store_of([], tick=tick, settings=keep_settings(PinnedSettings(seconds_per_tick=60 * step)))
    ticks = {f"t{at}": Figures(tick=at, minute=60 * hours) for at in range(tick + 1)}
    of_hours = {f"h{at}": Figures(tick=at, minute=60 * at) for at in range(hours + 2)}
    fields = {name: msgspec.json.encode(figures) for name, figures in (ticks | of_hours).items()}
    store.client.hset(store.key("history"), mapping=fields)  # type: ignore[arg-type]
    return store


@pytest.mark.parametrize(
    ("span", "step", "ticks"),
    [
        ("hour", 1, 60),
        ("hour", 7, 8),
        ("hour", 20, 3),
        ("hour", 30, 2),
        ("hour", 60, 2),
        ("day", 60, 24),
        ("day", 7, 205),
        ("day", 1, 1_440),
        ("day", 2, 720),
    ],
)
def test_an_hour_or_a_day_has_the_newest_ticks_that_it_takes(span: Span, step: int, ticks: int) -> None:
    points = figure_history(kept(step), span)
    assert sum(point.ticks for point in points) == ticks
    assert (points[0].tick - points[0].ticks, points[-1].tick) == (3_000 - ticks, 3_000)
    assert len(points) <= 240


@pytest.mark.parametrize(("hours", "first"), [(0, 0), (3, 0), (2_399, 0), (2_400, 1), (3_000, 601)])
def test_a_whole_run_has_its_newest_hours(hours: int, first: int) -> None:
    points = figure_history(kept(60, hours=hours), "run")
    assert sum(point.ticks for point in points) == hours - first + 1
    assert (points[0].tick - points[0].ticks + 1, points[-1].tick) == (first, hours)


def test_a_young_run_has_all_its_ticks() -> None:
    assert [point.tick for point in figure_history(kept(1, tick=3), "hour")] == [1, 2, 3]
    assert [point.tick for point in figure_history(kept(1, tick=3), "day")] == [1, 2, 3]


@pytest.mark.parametrize("field", ["tick", "settings"])
def test_a_deleted_run_has_no_history(field: str) -> None:
    store = kept(60, tick=3, hours=3)
    store.client.hdel(store.key("state"), field)
    with pytest.raises(RunMissing, match="the run was deleted meanwhile"):
        figure_history(store, "hour")


@pytest.mark.parametrize(("points", "shown"), [(0, 0), (1, 1), (240, 240), (241, 121), (480, 240), (481, 161)])
def test_at_most_240_points_are_shown(points: int, shown: int) -> None:
    assert len(thinned([Figures(tick=at, minute=at) for at in range(points)])) == shown


def written_by(history: written.FigureHistory, tick: int, minute: int) -> tuple[Any, ...]:
    """The figures of a tick without a job, and of its hour, as they are written; and what is removed."""
    throttle = SimpleNamespace(state=ThrottleState(factor=500, causes={"late": 9}))
    state: Any = SimpleNamespace(steering=SimpleNamespace(throttle=throttle), open={})
    kept, over = history.take_writes(Core(tick=tick, minute=minute), TickNotes(epoch=1), state, 70)
    assert (kept.command, kept.key, over.command, over.key) == ("HSET", "history", "HDEL", "history")
    name, raw, hour, of_hour = kept.args
    return name, typed_json.decode(raw, Figures), hour, typed_json.decode(of_hour, Figures), over.args


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> float:
    """The real time at which ticks are written."""
    monkeypatch.setattr(written, "time", SimpleNamespace(time=lambda: 1_000.25))
    return 1_000.25


def test_a_tick_is_written_and_added_to_its_hour(now: float) -> None:
    history = written.FigureHistory(Figures(tick=3, minute=59, ticks=3))
    own: dict[str, Any] = {"cadence": 500, "causes": {"late": 9}, "host_us": 70, "age": 0, "at": now, "epoch": 1}
    for tick, minute, hour, ticks, host_us, over in (
        (2_000, 59, 0, 4, None, ("t560",)),
        (2_001, 60, 1, 1, 70, ("t561", "h-2399")),
        (2_002, 119, 1, 2, 140, ("t562",)),
        (2_003, 240, 4, 1, 70, ("t563", "h-2398", "h-2397", "h-2396")),
    ):
        assert written_by(history, tick, minute) == (
            f"t{tick}",
            Figures(tick=tick, minute=minute, **own),
            f"h{hour}",
            Figures(tick=tick, minute=minute, ticks=ticks, **(own | {"host_us": host_us})),
            over,
        )


def test_a_hosts_first_tick_starts_a_new_hour(now: float) -> None:
    assert written_by(written.FigureHistory(), 5, 7_000)[2:] == (
        "h116",
        Figures(tick=5, minute=7_000, cadence=500, causes={"late": 9}, host_us=70, age=0, at=now, epoch=1),
        ("t-1435", "h-2284"),
    )
