"""The events of the last hour, and the sums of the last minutes, in real time."""

from __future__ import annotations

from typing import Any

import msgspec

from cogitate.scheduler.config.controls import CancelJobs, Retry, SetMode
from cogitate.scheduler.inspection.endpoint_vitals import EndpointChange
from cogitate.scheduler.inspection.events import FEW, GAP, MOST_EVENTS, Event, real_windows, recent_events
from cogitate.scheduler.inspection.vitals import SteeringStep
from cogitate.scheduler.ledger.worker_signs import MissingWorker, WorkersSeen
from cogitate.scheduler.tick.figure_history import Figures

NOW = 1_800_000_000.0
SPAN = 3_600.0
WELL = WorkersSeen(alive=["a"], missing=[], kinds=[])


def point(tick: int, ago: float, **figures: Any) -> Figures:
    return Figures(**{"tick": tick, "minute": 10 * tick, "at": NOW - ago, "sources": {"llm": 4}} | figures)


def said(points: list[Figures], *requests: tuple[SteeringStep, str], **seen: Any) -> list[tuple[str, bool]]:
    return [(one.what, one.bad) for one in events(points, *requests, **seen)]


def events(points: list[Figures], *requests: tuple[SteeringStep, str], **seen: Any) -> list[Event]:
    return recent_events(points, requests, **({"changes": [], "workers": WELL, "now": NOW, "since": NOW - SPAN} | seen))


def test_the_last_minutes_are_summed_by_real_time() -> None:
    points = [
        point(1, 1_000),
        point(60, 600, ticks=59, late=2, sources={"llm": 10, "heuristic": 4}),
        point(61, 200, failed=1, sources={"cached": 1, "heuristic": 1}),
        point(62, 5, refused=3, sources={}),
    ]
    one, five, fifteen = real_windows(points, NOW)
    assert (one.minutes, one.ticks, one.ended, one.refused) == (1, 1, 0, 3)
    assert (five.ticks, five.ended, five.thought, five.failed) == (2, 2, 1, 1)
    assert (fifteen.ticks, fifteen.ended, fifteen.thought, fifteen.late) == (61, 16, 11, 2)


def test_past_failures_are_still_events() -> None:
    points = [point(1, 400), point(2, 300, failed=FEW), point(3, 299), point(4, 200, sources={}), point(5, 100)]
    assert said(points)[:2] == [("jobs no longer fail", False), ("many jobs fail", True)]
    assert [one.minute for one in events(points)][:2] == [50, 20], "a minute without jobs shows nothing"
    few = [point(1, 400), point(2, 300, failed=FEW - 1), point(3, 200)]
    assert "many jobs fail" not in [what for what, _ in said(few)]


def test_limits_that_refuse_are_an_event_without_any_end() -> None:
    points = [point(1, 130, sources={}), point(2, 70, refused=1, sources={}), point(3, 5, sources={})]
    assert [what for what, _ in said(points) if "limits" in what] == [
        "limits no longer refuse requests",
        "limits refuse requests",
    ]


def test_a_refusal_within_a_minute_is_dated_after_its_cause() -> None:
    points = [point(1, 119, sources={}), point(2, 90, sources={}), point(3, 80, refused=1, sources={})]
    limit = SteeringStep(id="1", control=SetMode("paused"), by="ann", state="applied", tick=2, minute=20)
    found = events(points, (limit, "limit run.usd"))
    assert [(one.what, NOW - one.at) for one in found] == [("limits refuse requests", 80), ("ann: limit run.usd", 90)]


def test_ticks_after_a_gap_and_a_request_have_their_real_time() -> None:
    points = [*(point(at, 300 - at) for at in range(1, 10)), point(10, 200)]
    step = SteeringStep(id="1", control=SetMode("paused"), by="ann", state="applied", tick=2, minute=20)
    refused = msgspec.structs.replace(step, refused="it is paused", state="refused", tick=9)
    old = msgspec.structs.replace(step, tick=0, state="waits")
    found = events(points, (step, "pause"), (refused, "pause"), (old, "pause"))
    assert [(one.what, NOW - one.at) for one in found] == [
        ("ticks continue after 91 s without one", 200),
        ("ann: pause, refused: it is paused", 291),
        ("ann: pause", 298),
    ]
    first, second = (point(1, 9, epoch=2), point(2, 8, epoch=3))
    assert said([first, second]) == [("ticks continue with a new host", False)], "however soon it came"
    assert said([point(1, 9), second]) == [], "an older version did not write which host it was"
    slow = [point(at, 3_000 - 2 * GAP * at) for at in range(1, 10)]
    assert said(slow) == [], "a run whose ticks take that long is well"


def test_a_steering_event_has_its_reason_and_outcome() -> None:
    step = SteeringStep(
        id="1",
        control=CancelJobs(("1/plan/agent:ann/0/0",)),
        by="ann",
        reason="it hangs",
        state="applied",
        tick=2,
        called_off="1 cancelled",
    )
    points = [point(tick, 10 - tick) for tick in range(1, 4)]
    assert "ann: cancel it (it hangs), 1 cancelled" in [what for what, _ in said(points, (step, "cancel it"))]


def test_similar_steering_requests_are_one_event() -> None:
    points = [point(1, 300), point(2, 100)]
    steps = [
        SteeringStep(
            id=str(job),
            control=Retry(job=f"{job}", owner="a", numbers=(job,)),
            by="ann",
            state="applied",
            tick=2,
            minute=20,
        )
        for job in range(4)
    ]
    steps[1] = msgspec.structs.replace(steps[1], state="refused", refused="no room")
    requests = [(step, f"retry {step.id}") for step in steps]
    assert [what for what, _ in said(points, *requests) if "ann" in what] == [
        "ann: retry 0, and 2 more of this kind",
        "ann: retry 1, refused: no room",
    ]


def test_breakers_and_missing_workers_are_events_at_the_game_time_of_then() -> None:
    points = [point(1, 300), point(2, 100), point(3, 1)]
    changes = [
        EndpointChange("default", NOW - 90, "opened", "overloaded 503"),
        EndpointChange("default", NOW - 60, "closed"),
        EndpointChange("default", NOW - 50, "opened", "timeout"),
        EndpointChange("other", NOW - 20, "set_aside", "model_missing", "tiny"),
        EndpointChange("other", NOW - 10, "asked_again", model="tiny"),
    ]
    workers = WorkersSeen(alive=[], missing=[MissingWorker(worker="w", seconds=150.0)], kinds=[])
    found = events(points, changes=changes, workers=workers)
    assert [(one.what, one.minute, one.bad) for one in found if "ticks continue" not in one.what] == [
        ("other asks tiny again", 20, False),
        ("other no longer asks tiny (model_missing)", 20, True),
        ("breaker of default opened (timeout)", 20, True),
        ("breaker of default closed", 20, False),
        ("breaker of default opened (overloaded 503)", 20, True),
        ("last sign of worker w", 10, True),
    ]


def test_a_change_of_the_number_of_workers_is_an_event() -> None:
    counts = [None, 2, 2, 0, None, 1]
    points = [point(at, 20 - at, workers=count) for at, count in enumerate(counts)]
    assert [(one.what, one.minute, one.bad) for one in events(points)] == [
        ("workers alive: 1, before 0", 50, False),
        ("workers alive: 0, before 2", 30, True),
    ]


def test_events_are_bounded_in_number_and_age() -> None:
    flapping = [point(at, 3_500 - 60 * at, failed=FEW * (at % 2)) for at in range(1, 58)]
    assert len(said(flapping)) == MOST_EVENTS
    assert said([]) == []
    long_ago = EndpointChange("default", NOW - SPAN - 1, "closed")
    assert not [what for what, _ in said([point(1, 5)], changes=[long_ago]) if "breaker" in what]
