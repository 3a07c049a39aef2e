"""The history of a run's figures: bounded, whole after a restart, and equal to the journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cogitate import Observation, Profile, TickLoop
from scheduler.inspection import figure_history as read
from scheduler.inspection.figure_history import figure_history, thinned
from scheduler.journal.figures import Figures, joined
from scheduler.journal.history import read_journal
from scheduler.ledger.run_store import RunStore
from scheduler.tick import figure_history as written

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


def test_the_history_says_what_the_journal_says(cogitate_loop: Loops) -> None:
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
    store = lived(cogitate_loop, client=left.client, owners={}, resume=True)
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


def test_of_a_run_without_a_history_the_journal_says_what_it_can(
    cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = lived(cogitate_loop)
    known = figure_history(store, "day")
    store.client.delete(store.key("history"))
    monkeypatch.setattr(read, "MOST_LINES", 100)
    points = figure_history(store, "run")
    assert [point.sources for point in points] == [point.sources for point in known[-100:]]
    assert all((point.cadence, point.age, point.host_us) == (None, None, None) for point in points)


def test_a_damaged_point_is_left_out_and_stops_no_host(cogitate_loop: Loops) -> None:
    left = lived(cogitate_loop, ticks=70)
    left.client.hset(left.key("history"), mapping={"t60": "no", "h6": "{}"})
    store = lived(cogitate_loop, client=left.client, owners={}, resume=True)
    ticks = [point.tick for point in figure_history(store, "day")]
    assert ticks == [tick for tick in range(1, TICKS + 1) if tick != 60]


def test_many_points_become_fewer_with_the_same_sums() -> None:
    points = [Figures(tick=at, minute=at, tokens={"plan": at}, age=at % 7) for at in range(1, 1_001)]
    found = thinned(points)
    assert len(found) == 200
    assert sum(one.tokens["plan"] for one in found) == sum(range(1, 1_001))
    assert [found[0].ticks, found[0].tick, found[0].age] == [5, 5, 5]
