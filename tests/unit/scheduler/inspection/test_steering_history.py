"""What operators asked of a run, as people read it: each request once, the newest first, with what came of it."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.scheduler.config.controls import ControlAnswer, ControlRequest, Retry, SetCadence, SetLimit, SetMode
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.vitals import SteeringStep, steering_history
from cogitate.scheduler.ledger.run_store import RunStore
from tests.unit.scheduler.run_lines_case import store_of

LIMIT, SLOWER, PAUSE = SetLimit("day.run.calls", 3), SetCadence("plan", 500), SetMode("paused")
RETRY = Retry("2/plan/agent:ann/0/0", "agent:ann", (3,))
NEW = "7/plan/agent:ann/0/0"


def asked(answers: list[bytes], controls: list[bytes], step: int | None = 5) -> RunStore:
    store = store_of([])
    if step is not None:
        store.client.hset(store.key("state"), "settings", keep_settings(PinnedSettings(seconds_per_tick=60 * step)))
    for key, lines in (("answers", answers), ("controls", controls)):
        if lines:
            store.client.rpush(store.prefix + key, *lines)
    return store


ANSWERS = [
    msgspec.json.encode(answer)
    for answer in (
        ControlAnswer("a", 4, LIMIT, by="ops"),
        ControlAnswer("b", 6, SLOWER, refused="only reflect can be throttled"),
        ControlAnswer("c", 7, RETRY, job=NEW, by="ann"),
    )
]
CONTROLS = [msgspec.json.encode(request) for request in (ControlRequest("d", PAUSE, "ops"), ControlRequest("e", LIMIT))]


def test_each_request_appears_once_with_its_answer_newest_first() -> None:
    assert steering_history(asked(ANSWERS, CONTROLS), 10, 500) == [
        SteeringStep(id="e", control=LIMIT, by="", state="waits"),
        SteeringStep(id="d", control=PAUSE, by="ops", state="waits"),
        SteeringStep(id="c", control=RETRY, by="ann", state="applied", tick=7, minute=485, job=NEW),
        SteeringStep(
            id="b", control=SLOWER, by="", state="refused", tick=6, minute=480, refused="only reflect can be throttled"
        ),
        SteeringStep(id="a", control=LIMIT, by="ops", state="applied", tick=4, minute=470),
    ]


@pytest.mark.parametrize(("step", "minute"), [(1, 494), (60, 140), (None, 494)])
def test_the_minute_is_that_of_the_tick_that_answered(step: int | None, minute: int) -> None:
    (found,) = steering_history(asked(ANSWERS[:1], [], step), 10, 500)
    assert (found.tick, found.minute) == (4, minute)


def test_an_unreadable_line_hides_no_others() -> None:
    damaged = asked([ANSWERS[0], b"{", b"\xff", ANSWERS[1]], [b"{}", CONTROLS[0], b"x"])
    assert [step.id for step in steering_history(damaged, 10, 500)] == ["d", "b", "a"]
    assert steering_history(asked([], []), 10, 500) == []
