"""Failover: which models may answer a job, and which is asked after one whose endpoint fails or may not be called."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.memory.profile import Profile
from cogitate.scheduler.config.endpoints import Endpoint, KindOfModel, Model, upper_bound
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.registry import register
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.attempt import AttemptOutcome, Attempts
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.candidates import NO_ADJUSTMENT, Adjustment, Candidate, candidates_of
from cogitate.workers.jobs.fitting import within_context
from cogitate.workers.llm.replies.failures import Failure, FailureKind, ModelAnswer
from tests.unit.tasks.own_kind_case import Own, Said

USED = Cost(calls=1, tokens=120)
LARGE = Model(name="large", model="l", endpoint="near", input_price=2_000_000, output_price=8_000_000)
SMALL = Model(name="small", model="s", endpoint="far", input_price=1_000_000, output_price=4_000_000)
BESIDE = Model(name="beside", model="b", endpoint="near")
JOB = Job(
    run="town",
    key=JobKey(3, "hum", "agent:ada", 0, 0),
    minute=3,
    due=9,
    reads=(),
    model="large",
    prompt_cap=1_000,
    output_cap=50,
    reserved=upper_bound(LARGE, 1_000, 50),
)
ANSWER = ModelAnswer(usage=USED, value=Said(text="La la la."))


@pytest.fixture(autouse=True)
def own_kind() -> None:
    register(Own(output_cap=50))


class Calls:
    """Calls whose outcome depends on the model."""

    def __init__(self, by_model: Mapping[str, ModelAnswer | Refused]) -> None:
        self.by_model = by_model
        self.asked: list[str] = []

    def context_of(self, model: Model) -> int:
        return 0

    def ask(self, call: Call) -> ModelAnswer | Refused:
        self.asked.append(call.model.name)
        return self.by_model[call.model.name]


def failed(kind: FailureKind) -> ModelAnswer:
    return ModelAnswer(usage=USED, failure=Failure(kind=kind))


def attempts(calls: Calls, *others: Model, tries: int = 1, cap: int = 4) -> AttemptOutcome:
    """The outcome of so many attempts of one worker, each after the one before it."""
    given: Any = calls
    runs = Attempts(FakeRedis(), Settings(endpoints={"near": Endpoint(), "far": Endpoint()}), given)
    adjustment: Adjustment = NO_ADJUSTMENT
    for number in range(1, tries + 1):
        outcome = runs.make(claim(*others, number=number, cap=cap), time.monotonic() + 60, adjustment)
        adjustment = outcome.adjustment
    return outcome


def claim(*others: Model, job: Job = JOB, number: int = 1, cap: int = 4) -> Claim:
    case = Case(job=job, profile=Profile(name="Ada"), world=WorldFacts(), memories={"agent:ada": []})
    return Claim(incarnation="now", token="t", number=number, cap=cap, case=case, model=LARGE, others=others)


@pytest.mark.parametrize(
    "kind",
    ["connection", "timeout", "rate_limited", "server", "overloaded", "no_completion"],
)
def test_after_an_endpoint_fails_the_next_attempt_uses_the_next_model_at_once(kind: FailureKind) -> None:
    calls = Calls({"large": failed(kind), "small": ANSWER})
    first = attempts(calls, BESIDE, SMALL)
    assert (first.result, first.used, first.failure, first.pause) == (None, USED, kind, 0.0)
    outcome = attempts(calls := Calls(calls.by_model), BESIDE, SMALL, tries=2)
    assert calls.asked == ["large", "small"], "the model beside it is at the same endpoint"
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.model) == ("llm", "small")


@pytest.mark.parametrize("why", ["breaker_open", "rate_limited_here", "no_slot"])
def test_a_refused_call_fails_over_in_the_same_attempt(why: str) -> None:
    calls = Calls({"large": Refused(why), "small": ANSWER})
    outcome = attempts(calls, SMALL)
    assert calls.asked == ["large", "small"]
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.model, outcome.used) == ("llm", "small", USED)


@pytest.mark.parametrize("why", ["auth", "forbidden", "quota_exhausted", "model_missing"])
def test_a_refused_model_leaves_others_at_its_endpoint(why: str) -> None:
    calls = Calls({"large": Refused("breaker_open", why), "beside": ANSWER})
    attempts(calls, BESIDE)
    assert calls.asked == ["large", "beside"]


def test_a_limited_model_leaves_others_at_its_endpoint_where_only_it_is_limited() -> None:
    calls = Calls({"large": Refused("rate_limited_here", of_model=True), "beside": ANSWER})
    attempts(calls, BESIDE)
    assert calls.asked == ["large", "beside"]
    calls = Calls({"large": Refused("rate_limited_here"), "beside": ANSWER})
    attempts(calls, BESIDE)
    assert calls.asked == ["large"]


def test_a_model_set_aside_alone_leaves_others_at_its_endpoint() -> None:
    calls = Calls({"large": Refused("breaker_open", "server", of_model=True), "beside": ANSWER})
    attempts(calls, BESIDE)
    assert calls.asked == ["large", "beside"]
    calls = Calls({"large": Refused("breaker_open", "server"), "beside": ANSWER})
    attempts(calls, BESIDE)
    assert calls.asked == ["large"]


@pytest.mark.parametrize(("kind", "third"), [("server", "beside"), ("overloaded", "beside"), ("connection", "large")])
def test_a_server_that_fails_a_job_twice_is_asked_for_another_of_its_models(kind: FailureKind, third: str) -> None:
    calls = Calls({"large": failed(kind), "beside": ANSWER})
    attempts(calls, BESIDE, tries=3)
    assert calls.asked == ["large", "large", third]


@pytest.mark.parametrize(("wait", "second"), [(1.0, "large"), (3_600.0, "beside")])
def test_a_model_limited_beyond_the_deadline_leaves_the_job_to_another_at_its_endpoint(
    wait: float, second: str
) -> None:
    limited = ModelAnswer(usage=USED, failure=Failure(kind="rate_limited", retry_after=wait))
    calls = Calls({"large": limited, "beside": ANSWER})
    attempts(calls, BESIDE, tries=2)
    assert calls.asked == ["large", second]


def test_if_no_model_may_be_called_the_job_names_its_own_reason() -> None:
    calls = Calls({"large": Refused("breaker_open", "auth"), "small": Refused("no_slot")})
    outcome = attempts(calls, SMALL)
    assert outcome.result is not None
    assert (outcome.result.failure, outcome.result.because, outcome.result.model) == ("breaker_open", "auth", "large")


def test_of_several_refusals_the_job_reports_its_models_only() -> None:
    third = Model(name="third", model="t", endpoint="far")
    calls = Calls(
        {
            "large": Refused("no_slot"),
            "small": Refused("breaker_open", "model_missing"),
            "third": Refused("breaker_open", "auth"),
        }
    )
    outcome = attempts(calls, SMALL, third)
    assert calls.asked == ["large", "small", "third"]
    assert outcome.result is not None
    assert (outcome.result.failure, outcome.result.because, outcome.result.model) == ("no_slot", "", "large")


@pytest.mark.parametrize("why", ["stopping", "real_day_spent", "gate_away", "unknown_endpoint"])
def test_failures_without_an_endpoint_cause_do_not_fail_over(why: str) -> None:
    calls = Calls({"large": Refused(why), "small": ANSWER})
    attempts(calls, SMALL, cap=1)
    assert calls.asked == ["large"]


def test_after_the_last_model_the_ladder_starts_again() -> None:
    calls = Calls({"large": failed("server"), "small": failed("overloaded")})
    outcome = attempts(calls, SMALL, tries=3)
    assert calls.asked == ["large", "small", "large"]
    assert outcome.result is None


def test_a_bad_answer_is_repaired_by_the_model_that_gave_it() -> None:
    calls = Calls({"large": failed("server"), "small": failed("not_json")})
    outcome = attempts(calls, SMALL, tries=3)
    assert calls.asked == ["large", "small", "small"]
    assert outcome.result is not None
    assert (outcome.result.source, outcome.result.failure, outcome.result.model) == ("heuristic", "not_json", "small")


def test_a_failure_on_the_last_claim_ends_with_the_heuristic() -> None:
    outcome = attempts(Calls({"large": failed("auth")}), SMALL, cap=1)
    assert outcome.result is not None
    assert (outcome.result.failure, outcome.result.model) == ("auth", "large")


ENDPOINTS = {"near": Endpoint(), "far": Endpoint()}


@pytest.mark.parametrize(
    ("change", "caps"),
    [
        ({}, (1_000, 50)),
        ({"context": 700}, (650, 50)),
        ({"context": 51}, (1, 50)),
        ({"context": 50}, None),
        ({"input_price": 2_000_000, "output_price": 8_000_000}, (1_000, 50)),  # as much as was reserved
        ({"headroom": 1}, None),  # one token more than was reserved
        ({"context": 900, "headroom": 100}, (750, 150)),
        ({"kinds": {"hum": KindOfModel(headroom=0)}, "headroom": 9}, (1_000, 50)),
        ({"output_price": 50_000_000}, None),
        ({"endpoint": "elsewhere"}, None),
    ],
)
def test_a_model_is_tried_only_if_its_cost_fits_the_reservation(
    change: dict[str, Any], caps: tuple[int, int] | None
) -> None:
    other = msgspec.structs.replace(SMALL, **change)
    found = candidates_of(Own(output_cap=50), claim(other), ENDPOINTS)
    assert [(c.prompt_cap, c.output_cap) for c in found] == [(1_000, 50), *([caps] if caps else [])]
    for one in found:
        most = upper_bound(one.model, one.prompt_cap, one.output_cap)
        assert (most.tokens, most.usd_micros) <= (JOB.reserved.tokens, JOB.reserved.usd_micros)


def test_a_learned_context_length_applies_if_it_is_shorter() -> None:
    configured = Candidate(msgspec.structs.replace(SMALL, context=700), 650, 50, 1_000)
    for learned in (700, 701):
        assert within_context(configured, learned) is configured
    shorter = within_context(configured, 699)
    assert (shorter.model.context, shorter.prompt_cap, shorter.output_cap) == (699, 649, 50)
    unknown = Candidate(SMALL, 1_000, 50, 1_000)
    assert within_context(unknown, 2_000) == unknown._replace(model=msgspec.structs.replace(SMALL, context=2_000))
    assert within_context(unknown, 30).prompt_cap == 0


@pytest.mark.parametrize(("correction", "of_another"), [(700, 1_000), (1_300, 1_300)])
def test_estimates_of_another_model_are_never_lowered(correction: int, of_another: int) -> None:
    job = msgspec.structs.replace(JOB, correction=correction)
    found = candidates_of(Own(output_cap=50), claim(SMALL, job=job), ENDPOINTS)
    assert [c.correction.plain for c in found] == [correction, of_another]


MODELS = {name: {"model": name} for name in ("small", "large", "spare")}


def test_the_ladder_has_strong_routine_and_failover_models_in_order() -> None:
    settings = Settings(
        llm="openai",
        models=MODELS,
        tiers={"routine": "small", "strong": "large"},
        failover=["spare", "small"],
        kind_tiers={"act": {"strong": "small"}},
    )
    facts = Facts(models=settings.asked_models(), ladders=settings.ladders())
    below = {
        (kind, name): [model.name for model in facts.below(kind, name)]
        for kind, name in (("plan", "large"), ("plan", "small"), ("plan", "spare"), ("act", "small"), ("act", "large"))
    }
    assert below == {
        ("plan", "large"): ["small", "spare"],
        ("plan", "small"): ["spare"],
        ("plan", "spare"): [],
        ("act", "small"): ["spare"],
        ("act", "large"): [],
    }


def test_a_run_of_one_model_has_no_ladders() -> None:
    assert Settings(llm="openai").ladders() == {}
    assert Settings(models=MODELS, failover=["spare"]).ladders() == {}, "nobody asks a model"


def test_failover_to_a_model_that_is_not_configured_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="failover names the model 'huge'"):
        Settings(models=MODELS, failover=["huge"])
