"""The service tier of a call: flex where the answer may wait, the standard tier otherwise or after a refusal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost
from cogitate.workers.gate.endpoint_reports import verdict_of
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.service_tiers import ANSWER, LEAST, SPARED, ServiceTiers, marked
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from tests.unit.workers.jobs.packs.pack_case import RESERVED, call_of

AUTO = Model(
    name="default",
    model="m",
    input_price=150_000,
    output_price=600_000,
    service_tier="auto",
    service_tiers={"flex": 50},
)
ANSWERED = ModelAnswer(usage=Cost(1, 100, 20))
Said = ModelAnswer | Refused


class Clock:
    """A clock that only tests move."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("cogitate.workers.jobs.service_tiers.time", found)
    return found


class Layers:
    """The layers behind: each tier answers in turn, and takes a while."""

    def __init__(self, clock: Clock, flex: Sequence[Said] = (), standard: Sequence[Said] = (), took: float = 0) -> None:
        self.clock, self.flex, self.standard, self.took = clock, [*flex], [*standard], took
        self.asked: list[str] = []
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> Said:
        self.asked.append(call.service_tier)
        self.calls.append(call)
        self.clock.now += self.took
        answers = self.flex if call.service_tier else self.standard
        answer = answers.pop(0) if answers else ANSWERED
        return marked(answer) if call.service_tier and isinstance(answer, ModelAnswer) else answer


def failed(kind: FailureKind, usage: Cost | None = None, **named: Any) -> ModelAnswer:
    return ModelAnswer(usage=Cost(calls=1) if usage is None else usage, failure=Failure(kind=kind, **named))


def tiers(**settings: Any) -> ServiceTiers:
    return ServiceTiers(Settings(**settings))


def call(owner: str = "ada", **options: Any) -> Call:
    return call_of(owner, **{"model": AUTO} | options)


def test_a_host_that_waits_has_its_answers_from_flex_with_time_left_for_the_standard_tier(clock: Clock) -> None:
    layers, asked = Layers(clock), call()._replace(deadline=clock.now + 60)
    assert tiers().ask(asked, layers) == ANSWERED
    assert layers.asked == ["flex"]
    assert asked.deadline - layers.calls[0].deadline == pytest.approx(SPARED * ANSWER, abs=0.01)


@pytest.mark.parametrize(
    "options",
    [
        {"model": msgspec.structs.replace(AUTO, parameters='{"service_tier": "priority"}')},
        {"number": 2},
    ],
)
def test_a_model_or_an_attempt_without_a_choice_is_asked_as_it_is(clock: Clock, options: dict[str, Any]) -> None:
    layers, asked = Layers(clock), call(**options)
    tiers().ask(asked, layers)
    assert layers.calls == [asked]


def test_the_last_attempt_of_a_job_is_not_risked(clock: Clock) -> None:
    layers, asked = Layers(clock), call()
    tiers().ask(asked._replace(claim=msgspec.structs.replace(asked.claim, cap=1)), layers)
    assert layers.asked == [""]


@pytest.mark.parametrize(
    ("due", "rate", "tier"),
    [
        (5 + 30, 1.0, "flex"),  # 30 ticks between its claim and the boundary: 30 s
        (5 + 24, 1.0, ""),  # 24 s: less than the least time of flex and what the standard tier needs
        (5 + 30, 4.0, ""),
        (5 + 100, 4.0, "flex"),
    ],
)
def test_at_a_real_pace_flex_needs_time_before_the_boundary(clock: Clock, due: int, rate: float, tier: str) -> None:
    assert LEAST + SPARED * ANSWER == 25
    layers = Layers(clock)
    tiers(tick_rate=rate).ask(call(due=due), layers)
    assert layers.asked == [tier]


def test_without_a_pace_or_a_wait_the_pace_is_measured(clock: Clock) -> None:
    layers, chooser = Layers(clock), tiers(wait=0)
    asked = call(due=200)
    chooser.ask(asked, layers)  # nothing is known yet
    clock.now += 10
    later = asked._replace(claim=msgspec.structs.replace(asked.claim, tick=34), deadline=clock.now + 60)
    chooser.ask(later, layers)  # 3 ticks a second, 165 ticks left: 55 s
    near = later._replace(claim=msgspec.structs.replace(later.claim, tick=150))
    chooser.ask(near, layers)
    assert layers.asked == ["", "flex", ""]


REFUSALS: list[tuple[FailureKind, dict[str, Any]]] = [
    ("rate_limited", {"status": 429}),
    ("overloaded", {"status": 498}),
    ("quota_exhausted", {"status": 429}),
    ("bad_request", {"status": 400}),
    ("unsupported", {"status": 400}),
    ("model_missing", {"status": 404}),
    ("server", {"status": 500}),
]


@pytest.mark.parametrize(("kind", "named"), REFUSALS)
def test_after_a_refusal_the_same_attempt_asks_in_the_standard_tier_and_costs_what_that_cost(
    clock: Clock, kind: FailureKind, named: dict[str, Any]
) -> None:
    layers, asked = Layers(clock, flex=[failed(kind, **named)]), call()
    assert tiers().ask(asked, layers) == ANSWERED
    assert layers.asked == ["flex", ""]
    assert layers.calls[1] == asked


def test_a_refusal_of_flex_is_no_evidence_about_the_endpoint() -> None:
    for kind, named in REFUSALS:
        refused = marked(failed(kind, **named)).failure
        assert refused is not None
        assert verdict_of(refused) == "silent"
    gone = marked(failed("connection")).failure
    assert gone is not None
    assert verdict_of(gone) == "failing"


def test_a_flex_request_that_runs_out_of_its_time_may_have_been_charged_and_ends_the_attempt(clock: Clock) -> None:
    timeout = failed("timeout", usage=RESERVED)
    layers, chooser = Layers(clock, flex=[timeout]), tiers()
    answer = chooser.ask(call(), layers)
    assert answer == marked(timeout)
    assert isinstance(answer, ModelAnswer)
    assert answer.usage == RESERVED
    chooser.ask(call("ben", number=2), layers)
    assert layers.asked == ["flex", ""]


def test_a_flex_request_that_was_never_sent_costs_nothing_and_falls_back(clock: Clock) -> None:
    layers = Layers(clock, flex=[failed("no_time", usage=Cost())])
    assert tiers().ask(call(), layers) == ANSWERED


@pytest.mark.parametrize(
    ("found", "tried"),
    [
        (failed("auth", status=401), ["flex"]),
        (failed("connection", usage=RESERVED), ["flex"]),
        (failed("wrong_schema", usage=Cost(1, 50, 5)), ["flex"]),
        (Refused("stopping"), ["flex"]),
        (Refused("breaker_open"), ["flex", ""]),
    ],
)
def test_a_failure_common_to_both_tiers_is_not_retried_in_the_standard_tier(
    clock: Clock, found: Said, tried: list[str]
) -> None:
    layers = Layers(clock, flex=[found])
    answer = tiers().ask(call(), layers)
    assert layers.asked == tried
    assert answer == (found if len(tried) == 1 else ANSWERED)


def test_flex_without_capacity_is_left_out_for_growing_pauses_until_it_answers(clock: Clock) -> None:
    busy = failed("rate_limited", status=429)
    layers, chooser = Layers(clock, flex=[busy, busy, ANSWERED, busy]), tiers()

    def tried_after(seconds: float) -> bool:
        clock.now += seconds
        before = layers.asked.count("flex")
        chooser.ask(call()._replace(deadline=clock.now + 60), layers)
        return layers.asked.count("flex") > before

    assert [tried_after(seconds) for seconds in (0, 4.9, 0.2)] == [True, False, True]
    assert [tried_after(seconds) for seconds in (9.9, 0.2)] == [False, True], "it answers"
    assert [tried_after(seconds) for seconds in (0, 4.9, 0.2)] == [True, False, True], "the first pause again"


def test_a_model_without_flex_is_asked_in_it_once_an_hour(clock: Clock) -> None:
    missing = failed("bad_request", status=400)
    layers, chooser = Layers(clock, flex=[missing]), tiers()
    for seconds in (0, 3_500, 200):
        clock.now += seconds
        chooser.ask(call()._replace(deadline=clock.now + 60), layers)
    assert layers.asked == ["flex", "", "", "flex"]


def test_a_prompt_that_both_tiers_refuse_does_not_close_flex_to_others(clock: Clock) -> None:
    refused = failed("bad_request", status=400)
    layers, chooser = Layers(clock, flex=[refused], standard=[refused]), tiers()
    assert chooser.ask(call(), layers) == refused
    chooser.ask(call("ben"), layers)
    assert layers.asked == ["flex", "", "flex"]


def test_flex_that_usually_takes_long_is_not_asked_when_less_time_is_left(clock: Clock) -> None:
    layers, chooser = Layers(clock, took=30.0), tiers()
    chooser.ask(call(), layers)
    layers.took = 0.0
    chooser.ask(call()._replace(deadline=clock.now + 55), layers)  # 40 s for flex, and 45 s are needed
    chooser.ask(call()._replace(deadline=clock.now + 60), layers)
    assert layers.asked == ["flex", "", "flex"]
