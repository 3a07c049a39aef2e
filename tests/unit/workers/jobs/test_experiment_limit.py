"""A call at the limit of an experiment: it waits for room, or it is refused and a heuristic follows."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import real_day_key
from cogitate.scheduler.ledger.real_day import EXPERIMENT, Held, RealDay
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.call_layers import RealDayLimit
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.faults.attacked import Eventually
from tests.integration.workers.llm_case import CAP, MODEL, PROMPT, claim_of
from tests.patience import LONGEST

JOB = Job(
    run="c0-r1",
    key=JobKey(420, "plan", "agent:ada", 0, 0),
    minute=420,
    due=425,
    reads=(),
    model="default",
    reserved=Cost(calls=1, tokens=600),
)
ANSWER = ModelAnswer(usage=Cost(calls=1, tokens=100))


def limit(client: FakeRedis, at_limit: str) -> RealDay:
    return RealDay(client, Settings.tuned(real_day_tokens=1_000, experiment=at_limit))


def question(seconds: float = LONGEST) -> Call:
    return Call(claim_of(JOB), PROMPT, MODEL, CAP, time.monotonic() + seconds)


def held_by_another(day: RealDay) -> Held:
    held = day.reserve(Cost(tokens=500))
    assert isinstance(held, Held)
    return held


def test_a_call_waits_until_another_leaves_room(eventually: Eventually) -> None:
    day = limit(FakeRedis(), "stop")
    held = held_by_another(day)
    layer = RealDayLimit(day, threading.Event(), waits=True)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(layer.ask, question(), lambda call: ANSWER)
        eventually(lambda: day.spending().refused >= 2, "two looks for room")
        assert not waiting.done()
        day.settle(held, Cost(tokens=50))
        assert waiting.result(LONGEST) is ANSWER
    spent = day.spending()
    assert (spent.spent.tokens, spent.reserved.tokens, spent.date) == (150, 0, EXPERIMENT)


@pytest.mark.parametrize("ends", ["process", "deadline"])
def test_a_call_without_room_is_left_to_another_attempt(ends: str) -> None:
    day = limit(FakeRedis(), "stop")
    held_by_another(day)
    stopping = threading.Event()
    if ends == "process":
        stopping.set()
    found = RealDayLimit(day, stopping, waits=True).ask(
        question(LONGEST if ends == "process" else 0.0), lambda _: ANSWER
    )
    assert found == Refused("stopping")
    assert day.spending().reserved.tokens == 500


def test_with_heuristics_a_call_without_room_is_refused_at_once() -> None:
    day = limit(FakeRedis(), "heuristics")
    held_by_another(day)
    assert RealDayLimit(day, threading.Event()).ask(question(), lambda _: ANSWER) == Refused("experiment_spent")


def test_the_spending_of_an_experiment_is_kept_for_ever_and_names_the_calls_in_flight() -> None:
    client = FakeRedis()
    day = limit(client, "stop")
    held = held_by_another(day)
    assert day.in_flight() == {f"call:{held.token}"}
    day.settle(held, Cost(tokens=10))
    assert day.in_flight() == set()
    assert client.ttl(real_day_key(EXPERIMENT)) == -1
