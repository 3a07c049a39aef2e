"""Full garbage collections in the idle time of a paced host: when, of what, and that the process gets back its own."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from cogitate import Profile, TickLoop
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.tick import garbage as garbage_module
from cogitate.scheduler.tick.garbage import MANY_YOUNG, PUT_OFF, ROOM, WHOLE_AGAIN, WHOLE_AT_LAST, FullCollections
from tests.patience import LONGEST
from tests.unit.scheduler.tick.test_loop import Clock

OWNERS = {"agent:ann": Profile(name="Ann")}
THRESHOLDS = (701, 11, 12)  # of no other test
PUT_OFF_THRESHOLDS = (701, 11, 12 * PUT_OFF)


class Node:
    """Something that can be part of a cycle."""

    other: Node
    ticks: Iterator[None]


@pytest.fixture(autouse=True)
def own_thresholds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin each test with separate thresholds, and leave the collector as it was.

    What the session has frozen stays frozen and counts as Python's own: a walk through it takes half a second.
    """
    gc.collect()  # and end what loops that other tests dropped have changed
    gc.freeze()
    monkeypatch.setattr(garbage_module, "PYTHONS_OWN", gc.get_freeze_count() + 1)
    usual = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    yield
    gc.enable()
    gc.freeze()  # as tests/conftest.py does
    gc.set_threshold(*usual)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def collections(clock: Clock) -> FullCollections:
    return FullCollections(lambda: clock.now)


def cycle() -> weakref.ref[Node]:
    """Make an unreferenced cycle."""
    first, second = Node(), Node()
    first.other, second.other = second, first
    return weakref.ref(first)


def frozen() -> bool:
    """Return whether something else than Python's own objects is frozen."""
    return gc.get_freeze_count() > garbage_module.PYTHONS_OWN


def grow() -> list[list[int]]:
    """Allocate as much as makes Python collect its middle generation, and return it."""
    kept = [[number] for number in range(20_000)]
    assert gc.get_count()[2], "nothing has reached the oldest generation"
    return kept


def test_pythons_own_full_collections_are_put_off_while_a_loop_runs(collections: FullCollections) -> None:
    with collections:
        assert gc.get_threshold() == PUT_OFF_THRESHOLDS
        with collections:
            collections.collect(1.0)
            assert frozen()
        assert gc.get_threshold() == PUT_OFF_THRESHOLDS, "one loop still runs"
    assert gc.get_threshold() == THRESHOLDS
    assert not frozen()


def test_a_loop_that_was_dropped_ends_in_the_collection_that_finds_it(collections: FullCollections) -> None:
    def ticks() -> Iterator[None]:
        with collections:
            yield

    def collect_with_dropped_loop() -> None:
        with collections:
            dropped = Node()
            dropped.ticks = ticks()
            next(dropped.ticks)
            dropped.other = dropped
            del dropped
            collections.collect(1.0)
            assert gc.get_threshold() == PUT_OFF_THRESHOLDS, "one loop still runs"

    collecting = threading.Thread(target=collect_with_dropped_loop, daemon=True)
    collecting.start()
    collecting.join(LONGEST)
    assert not collecting.is_alive(), "the collection waits for itself"
    assert gc.get_threshold() == THRESHOLDS


def test_garbage_is_collected_in_idle_time_if_there_is_enough_of_it(
    collections: FullCollections, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    took = 0.04

    def slow_collect() -> int:
        clock.now += took
        return collect()

    collect = gc.collect
    monkeypatch.setattr(gc, "collect", slow_collect)
    with collections:
        garbage = cycle()
        collections.collect(0.001)
        assert garbage() is None, "how long it takes is not known before the first one"
        kept, garbage = grow(), cycle()
        collections.collect(0.09)
        assert garbage() is None
        kept += grow()
        garbage = cycle()
        collections.collect(ROOM * took - 0.001)
        assert garbage() is not None, "it would have lasted into the next tick"
        collections.collect(ROOM * collections._new)
        assert garbage() is None


def test_nothing_is_collected_when_nothing_is_new(collections: FullCollections, clock: Clock) -> None:
    with collections:
        collections.collect(1.0)
        garbage = cycle()
        collections.collect(1.0)
        assert garbage() is not None


def test_new_objects_that_replace_older_ones_are_collected(collections: FullCollections) -> None:
    cache = deque(([number] for number in range(3 * MANY_YOUNG)), maxlen=3 * MANY_YOUNG)
    with collections:
        collections.collect(1.0)
        cache.extend([number] for number in range(2 * MANY_YOUNG))
        assert not gc.get_count()[2], "Python counts none of them"
        garbage = cycle()
        collections.collect(1.0)
        assert garbage() is None


def test_frozen_objects_are_collected_again(collections: FullCollections, clock: Clock) -> None:
    with collections:
        collections.collect(1.0)
        first, second = Node(), Node()
        first.other, second.other = second, first
        garbage, kept = weakref.ref(first), grow()
        collections.collect(1.0)  # freezes them
        del first, second
        kept += grow()
        collections.collect(1.0)
        assert garbage() is not None, "only what is new is walked"
        clock.now += WHOLE_AGAIN + 1
        collections.collect(1.0)
        assert garbage() is None
        assert kept


def test_all_objects_are_collected_eventually_without_idle_time(
    collections: FullCollections, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []

    def slow_collect() -> int:
        calls.append(clock.now)
        clock.now += 1.0
        return 0

    monkeypatch.setattr(gc, "collect", slow_collect)
    with collections:
        collections.collect(0.1)
        clock.now += WHOLE_AGAIN + 1
        collections.collect(0.1)
        assert len(calls) == 1
        clock.now += WHOLE_AT_LAST - WHOLE_AGAIN
        collections.collect(0.1)
        assert len(calls) == 2


def _disable() -> None:
    gc.disable()


def _never_full() -> None:
    gc.set_threshold(701, 0, 0)


@pytest.mark.parametrize("choose", [_disable, _never_full])
def test_a_program_that_disables_collection_is_left_alone(
    collections: FullCollections, choose: Callable[[], None]
) -> None:
    choose()
    chosen = gc.get_threshold()
    with collections:
        assert gc.get_threshold() == chosen
        garbage = cycle()
        collections.collect(1.0)
        assert not frozen()
        assert garbage() is not None
    assert gc.get_threshold() == chosen


def test_thresholds_that_the_program_sets_meanwhile_stay(collections: FullCollections) -> None:
    with collections:
        gc.set_threshold(999, 9, 9)
    assert gc.get_threshold() == (999, 9, 9)


def test_objects_frozen_by_the_program_stay_frozen(collections: FullCollections) -> None:
    program = [[number] for number in range(100)]
    gc.freeze()
    before = gc.get_freeze_count()
    with collections:
        garbage = cycle()
        collections.collect(1.0)
        assert garbage() is None
    assert frozen()
    assert gc.get_freeze_count() <= before
    assert program


# -- in a run ------------------------------------------------------------------------------------------


def thresholds_in_a_loop(loops: Callable[..., TickLoop], **values: object) -> tuple[int, ...]:
    settings = PinnedSettings.tuned(**{"wait": 0.0, **values})
    with loops(run="garbage", owners=OWNERS, ticks=3, settings=settings) as loop:
        for _ in loop:
            return gc.get_threshold()
    raise AssertionError("it had no tick")


def test_a_paced_loop_puts_them_off_until_it_is_left(cogitate_loop: Callable[..., TickLoop]) -> None:
    assert thresholds_in_a_loop(cogitate_loop, tick_rate=1000) == PUT_OFF_THRESHOLDS
    assert gc.get_threshold() == THRESHOLDS
    assert not frozen()


def test_a_paced_loop_that_fails_gives_them_back(cogitate_loop: Callable[..., TickLoop]) -> None:
    def failing_turn() -> None:
        settings = PinnedSettings(tick_rate=1000, wait=0.0)
        with cogitate_loop(run="garbage", owners=OWNERS, ticks=3, settings=settings) as loop:
            for _ in loop:
                assert gc.get_threshold() == PUT_OFF_THRESHOLDS
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing_turn()
    assert gc.get_threshold() == THRESHOLDS


@pytest.mark.parametrize(
    "values", [{}, {"tick_rate": 1000, "collect_garbage": "python"}], ids=["unpaced", "left alone"]
)
def test_other_loops_leave_the_collector_alone(
    cogitate_loop: Callable[..., TickLoop], values: dict[str, object]
) -> None:
    assert thresholds_in_a_loop(cogitate_loop, **values) == THRESHOLDS


def test_a_paced_loop_collects_in_its_idle_time(
    cogitate_loop: Callable[..., TickLoop], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.scheduler.tick.loop.time", clock.module())
    threads = SimpleNamespace(Event=clock.event, Thread=threading.Thread, RLock=threading.RLock)
    monkeypatch.setattr("cogitate.scheduler.tick.loop.threading", threads)
    offered: list[float] = []
    monkeypatch.setattr(FullCollections, "collect", lambda self, left: offered.append(left))
    settings = PinnedSettings(tick_rate=50, wait=0.0)
    with cogitate_loop(run="garbage", owners=OWNERS, ticks=3, settings=settings) as loop:
        list(loop)
    assert offered == pytest.approx(4 * [1 / 50]), "before and after what is computed ahead"
