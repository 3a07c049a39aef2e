"""One question to a model: what it takes from the real day and from the gate comes back whatever becomes of it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.gate.endpoint_reports import Entered, Spacing
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.call_layers import Calls, Gating, RealDayLimit
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from tests.integration.workers.llm_case import CAP, MODEL, PROMPT, Mood, claim_of
from tests.patience import LONGEST

JOB = Job(
    run="town",
    key=JobKey(420, "plan", "agent:ada", 0, 0),
    minute=420,
    due=425,
    reads=(),
    model="default",
    output_cap=CAP,
    reserved=Cost(calls=1, tokens=500),
)

USED = Cost(calls=1, tokens=120)
GOOD = ModelAnswer(usage=USED, value=Mood(word="grey", strength=3), text='{"word": "grey", "strength": 3}')


class Models:
    """Clients that give what a test says."""

    def __init__(self, gives: ModelAnswer | Exception) -> None:
        self.gives = gives
        self.asked: list[dict[str, Any]] = []

    def of(self, endpoint: str) -> Models:
        return self

    def context_of(self, model: Any) -> int:
        return 0

    def get_ready(self, *args: Any, **named: Any) -> None:
        pass

    def ask(self, prompt: Any, **named: Any) -> ModelAnswer:
        self.asked.append(named)
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


class Gate:
    """A gate that says what a test says and notes who has left."""

    def __init__(self, says: Refused | None = None) -> None:
        self.says = says
        self.entered: list[dict[str, Any]] = []
        self.left: list[ModelAnswer | None] = []

    def enter(self, endpoint: str, **named: Any) -> Entered | Refused:
        self.entered.append({"endpoint": endpoint, **named})
        return self.says or Entered(
            endpoint=endpoint,
            model=named["model"],
            token="t",
            began=0.0,
            left=0.0,
            first=False,
            tokens=named["tokens"],
            tries_aside=False,
            probes=False,
            spacing=Spacing(0.0, 0.0, 0.0),
            limited=False,
        )

    def leave(self, entered: Entered, answer: ModelAnswer | None, prompt: str = "") -> None:
        self.left.append(answer)

    def close(self) -> None:
        pass


@pytest.fixture
def client() -> FakeRedis:
    return FakeRedis()


def calls_of(client: FakeRedis, models: Models, gate: Gate, **settings: Any) -> tuple[Calls, RealDay]:
    chosen = Settings.tuned(real_day_tokens=1_000, **settings)
    calls = Calls(client, chosen, models, threading.Event())  # type: ignore[arg-type]
    calls.gate.close()
    day = RealDay(client, chosen, lambda: "2026-03-01")
    calls._day_limit, calls._gating = RealDayLimit(day, threading.Event()), Gating(gate)  # type: ignore[arg-type]
    return calls, day


def ask(calls: Calls, response_cache: bool = False) -> ModelAnswer | Refused:
    return calls.ask(Call(claim_of(JOB, response_cache=response_cache), PROMPT, MODEL, CAP, time.monotonic() + 60))


def test_a_call_refused_by_the_gate_charges_no_day(client: FakeRedis) -> None:
    models, gate = Models(GOOD), Gate(Refused(why="breaker_open", because="auth"))
    calls, day = calls_of(client, models, gate)
    for _ in range(3):  # the day has room for two such reservations
        assert ask(calls) == Refused("breaker_open", "auth")
    assert (day.spending().reserved, day.spending().spent, day.spending().refused) == (Cost(), Cost(), 0)
    assert (models.asked, gate.left) == ([], [])


def test_a_call_that_the_day_refuses_does_not_come_to_the_gate(client: FakeRedis) -> None:
    models, gate = Models(GOOD), Gate()
    calls, day = calls_of(client, models, gate)
    day.reserve(Cost(tokens=501))
    assert ask(calls) == Refused("real_day_spent")
    assert (models.asked, gate.entered) == ([], [])


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        ModelAnswer(usage=USED, failure=Failure(kind="server")),
        ModelAnswer(usage=USED, failure=Failure(kind="empty")),
    ],
)
def test_usage_is_charged_to_the_day_and_reported_to_the_gate(client: FakeRedis, answer: ModelAnswer) -> None:
    models, gate = Models(answer), Gate()
    calls, day = calls_of(client, models, gate)
    assert ask(calls) == answer
    assert (day.spending().reserved.tokens, day.spending().spent.tokens) == (0, 120)
    assert gate.left == [answer]
    assert gate.entered[0]["tokens"] == 500, "the most that it may use"
    assert (gate.entered[0]["endpoint"], gate.entered[0]["model"]) == (MODEL.endpoint, MODEL.model)
    assert models.asked[0]["max_output_tokens"] == CAP


def test_a_call_with_an_unknown_end_leaves_the_gate_and_stays_charged(client: FakeRedis) -> None:
    models, gate = Models(RuntimeError("gone")), Gate()
    calls, day = calls_of(client, models, gate)
    with pytest.raises(RuntimeError):
        ask(calls)
    assert gate.left == [None]
    assert day.spending().reserved.tokens == 500


def test_a_cached_answer_costs_neither_day_nor_gate_nor_model(client: FakeRedis) -> None:
    models, gate = Models(GOOD), Gate()
    calls, day = calls_of(client, models, gate)
    assert ask(calls, response_cache=True) == GOOD
    second = claim_of(msgspec.structs.replace(JOB, run="second"), incarnation="other", response_cache=True)
    again = calls.ask(Call(second, PROMPT, MODEL, CAP, time.monotonic() + 60))
    assert again == replace(GOOD, saved=True)
    assert (len(models.asked), len(gate.entered), day.spending().spent.tokens) == (1, 1, 120)


@pytest.mark.parametrize(("first", "then"), [(False, False), (True, False), (False, True)])
def test_a_run_has_no_answer_of_another_unless_both_wish_it(client: FakeRedis, first: bool, then: bool) -> None:
    models, gate = Models(GOOD), Gate()
    calls, _ = calls_of(client, models, gate, response_cache=True)
    assert ask(calls, response_cache=first) == GOOD
    second = claim_of(msgspec.structs.replace(JOB, run="second"), incarnation="other", response_cache=then)
    assert calls.ask(Call(second, PROMPT, MODEL, CAP, time.monotonic() + 60)) == GOOD
    assert len(models.asked) == 2


@pytest.mark.parametrize("other", [{"run": "second"}, {"incarnation": "later"}])
def test_equal_questions_of_two_runs_are_two_calls_also_at_once(client: FakeRedis, other: dict[str, str]) -> None:
    meeting = threading.Barrier(2)

    class Meet(Models):
        def ask(self, prompt: Any, **named: Any) -> ModelAnswer:
            meeting.wait(LONGEST)  # breaks unless both runs call
            return super().ask(prompt, **named)

    models = Meet(GOOD)
    calls, _ = calls_of(client, models, Gate())
    second = msgspec.structs.replace(JOB, run=other.get("run", JOB.run))
    claims = [claim_of(JOB), claim_of(second, incarnation=other.get("incarnation", "now"))]
    with ThreadPoolExecutor(2) as pool:
        deadline = time.monotonic() + 60
        asked = [pool.submit(calls.ask, Call(claim, PROMPT, MODEL, CAP, deadline)) for claim in claims]
        assert [one.result() for one in asked] == [GOOD] * 2
    assert len(models.asked) == 2
