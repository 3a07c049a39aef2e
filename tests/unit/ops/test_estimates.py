"""What a run is estimated to take, by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.ops.estimate import demand
from cogitate.ops.estimate.demand import DEFAULTS, Demand, Range
from cogitate.ops.estimate.estimates import KindDay, RunEstimate, estimate
from cogitate.scheduler.config.embedding import MOST_TOKENS, EmbeddingSettings
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost
from cogitate.tasks.registry import kinds


def estimated(agents: int = 25, days: int = 1, **settings: Any) -> RunEstimate:
    return estimate(Settings.tuned(**settings), kinds(), DEFAULTS, agents=agents, days=days)


def kind_of(rows: tuple[KindDay, ...], name: str) -> KindDay:
    return next(row for row in rows if row.kind == name)


def test_all_plans_fall_in_one_tick_whose_limit_cuts_them() -> None:
    plan = kind_of(estimated(limits={"tick.run.jobs": 16}).first, "plan")
    assert (plan.requests.likely, plan.jobs.likely, plan.calls.likely, plan.refused) == (25, 16, 0, 9)
    assert plan.limits == ("tick.run.jobs",)
    model: dict[str, Any] = {"llm": "openai", "limit_tokens": 10**9}
    plan = kind_of(estimated(limits={"tick.run.calls": 20}, **model).first, "plan")  # a fifth of it for retries
    assert (plan.jobs.likely, plan.calls.likely, plan.limits) == (16, 16, ("tick.run.calls",))
    assert kind_of(estimated(limits={"tick.run.calls": 1}).first, "plan").limits == (), "no model is called"


@pytest.mark.parametrize("agents", [1, 100])
def test_the_defaults_refuse_no_requests(agents: int) -> None:
    for model in ({}, {"llm": "openai", "limit_tokens": 10**9}):
        assert not any(row.limits for row in estimated(agents, **model).first)
    few = estimated(agents, llm="openai", limit_tokens=10**9, limits={"day.owner:*.calls": 2}, retry_share=0.0)
    assert "day.owner:*.calls" in kind_of(few.first, "plan").limits
    assert few.total("calls").likely == pytest.approx(2 * agents)


@pytest.mark.parametrize(("interval", "first", "later"), [(720, 1, 2), (360, 2, 4), (1440, 0, 1)])
def test_reflections_follow_from_their_interval(interval: int, first: float, later: float) -> None:
    found = estimated(10, 2, limits={}, reflection_interval=interval)
    day = [row.requests.likely for row in found.first if row.kind == "reflect"]
    assert sum(day) == pytest.approx(10 * first, abs=2)
    assert kind_of(found.later, "reflect").requests.likely == pytest.approx(10 * later, abs=2)


def test_the_first_binding_limit_of_a_kind_and_then_that_of_all_is_named() -> None:
    limits = {"day.kind:reflect.jobs": 10, "day.run.jobs": 50}
    found = estimated(limits=limits, retry_share=0.0)
    reflect = kind_of(found.first, "reflect")
    assert reflect.limits == ("day.kind:reflect.jobs", "day.run.jobs")
    assert sum(row.jobs.likely for row in found.first) == pytest.approx(50)


def test_tokens_and_money_need_a_model_and_stay_under_caps() -> None:
    assert estimated().total("tokens").high == 0
    found = estimated(llm="openai", limit_usd=10, limits={}, input_price=1_000_000, output_price=1_000_000)
    tokens, money = found.total("tokens"), found.total("usd_micros")
    assert 0 < tokens.low < tokens.likely < tokens.high
    assert money.likely == pytest.approx(tokens.likely, rel=0.01), "a micro-dollar a token"
    caps = {kind.name: kind.prompt_cap + kind.output_cap for kind in kinds()}
    assert all(row.tokens.high <= row.calls.high * caps[row.kind] for row in found.first)


def test_vectors_raise_the_upper_bound_unless_measured_tokens_include_them() -> None:
    model: dict[str, Any] = {
        "llm": "openai",
        "limit_tokens": 10**9,
        "limits": {},
        "input_price": 1_000_000,
        "output_price": 1_000_000,
    }
    vectors = EmbeddingSettings(model="e", input_price=2_000_000)
    plan, hybrid = (kind_of(estimated(4, **model, **more).first, "plan") for more in ({}, {"embeddings": vectors}))
    assert (hybrid.tokens.low, hybrid.tokens.likely) == (plan.tokens.low, plan.tokens.likely)
    jobs = plan.calls.high
    assert hybrid.tokens.high - plan.tokens.high == pytest.approx(MOST_TOKENS * jobs)
    assert hybrid.usd_micros.high - plan.usd_micros.high == pytest.approx(2 * MOST_TOKENS * jobs)
    known = {"plan": Demand(tokens=Range.of([900.0]), tokens_origin="town-1")}
    settings = Settings.tuned(**model, embeddings=vectors)
    measured = kind_of(estimate(settings, kinds(), known, agents=4, days=1).first, "plan")
    assert measured.tokens.high == pytest.approx(900 * 1.15 * measured.calls.high)


def test_the_vectors_of_plans_count_in_the_limit_of_their_tick() -> None:
    model: dict[str, Any] = {"llm": "openai", "limit_tokens": 10**9, "limits": {"tick.run.tokens": 12_000}}
    vectors = EmbeddingSettings(model="e")
    plan, hybrid = (kind_of(estimated(**model, **more).first, "plan") for more in ({}, {"embeddings": vectors}))
    assert hybrid.jobs.likely < plan.jobs.likely


def test_a_small_limit_of_the_run_is_seen_before_it_is_spent() -> None:
    found = estimated(days=10, llm="openai", limit_tokens=100_000, limits={})
    assert "run.run.tokens" in kind_of(found.first, "plan").limits
    assert found.total("tokens").likely <= 100_000


def test_repairs_cost_calls_but_need_no_admission() -> None:
    known = {"act": Demand(first=Range.of([2.0]), tokens=Range.of([100.0]), attempts=1.5)}
    settings = Settings(llm="openai", limit_usd=1, limits={"day.kind:act.calls": 30})
    act = kind_of(estimate(settings, kinds(), known, agents=10, days=1).first, "act")
    assert (act.jobs.likely, act.calls.likely, act.tokens.likely) == (20, 30, 3000)
    assert act.limits == ()
    assert act.refused == 0


def test_measured_demand_precedes_defaults_and_survives_json() -> None:
    known = {"act": Demand(first=Range.of([2.0]), tokens=Range.of([100.0]), origin="town-1", tokens_origin="town-1")}
    settings = Settings(llm="openai", limit_usd=1, limits={})
    found = estimate(settings, kinds(), known, agents=10, days=1)
    act = kind_of(found.first, "act")
    assert (act.requests, act.origin) == (Range(17.0, 20.0, 23.0), "town-1")
    assert act.tokens.likely == 2000
    assert typed_json.decode(msgspec.json.encode(found), RunEstimate) == found


def test_jobs_that_shared_requests_cost_their_shares_and_fewer_calls() -> None:
    used = demand._Used(requests=8, jobs=8, cost=Cost(calls=2, tokens=1_600))
    sample = demand._Sample("town-1", 8, Model(name="default", model="m"), [{"act": used}])
    attempt = sample.per_attempt("act")
    assert attempt is not None
    known = {
        "act": Demand(
            first=Range.of([1.0]),
            tokens=Range.of([attempt[0]]),
            attempts=sample.attempts("act"),
            share=sample.share("act"),
        )
    }
    settings = Settings(llm="openai", limit_usd=1, limits={})
    act = kind_of(estimate(settings, kinds(), known, agents=8, days=1).first, "act")
    assert (act.jobs.likely, act.calls.likely, act.tokens.likely) == (8, 2, 1_600)
