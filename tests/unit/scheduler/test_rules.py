"""What a run is made of its settings: constants, rules and admission's view. Each setting arrives where it decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.clock import DAY
from memory.limits import MemoryLimits
from scheduler.budget.rules import Rules, check_models, facts_of, rules_of, throttle_rules, view_of
from scheduler.config.facts import Facts
from scheduler.config.settings import ConfigurationError, Settings
from tasks.kind import Location
from tasks.registry import kinds

MODEL: dict[str, Any] = {"llm": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "any", "limit_tokens": 9}


def rules(**settings: Any) -> Rules:
    return rules_of(Settings(**settings), kinds(), {})


def latency(kind: str, **settings: Any) -> int:
    return rules(**settings).latency(kind)


def test_each_constant_of_a_run_is_what_its_settings_say() -> None:
    usual = facts_of(Settings(), (), 0)
    assert usual == Facts(
        locations=(), limits=MemoryLimits(), minutes_per_tick=Settings().minutes_per_tick, start_minute=0,
        morning=Settings().morning, act_interval=Settings().act_interval, models=(),
    )  # fmt: skip
    mill = Location(id="mill", name="Mill")
    changed = facts_of(Settings(minutes_per_tick=3, morning=301, act_interval=17, max_plans=9, **MODEL), (mill,), 77)
    assert (changed.locations, changed.start_minute, changed.minutes_per_tick) == ((mill,), 77, 3)
    assert (changed.morning, changed.act_interval, changed.limits.max_plans) == (301, 17, 9)
    assert [model.name for model in changed.models] == ["default"]


@pytest.mark.parametrize(
    ("settings", "of", "usual", "other"),
    [
        ({"coalesce": False}, lambda rules: rules.coalesce, True, False),
        ({"max_text": 1234}, lambda rules: rules.max_text, Settings().max_text, 1234),
        ({"disable": ["act"]}, lambda rules: rules.disabled, frozenset(), frozenset({"act"})),
        ({"wait": 0.0}, lambda rules: rules.waits, True, False),
        ({"tick_rate": 5.0}, lambda rules: rules.waits, True, False),
        ({"throttle_auto": False}, lambda rules: rules.throttle.auto, True, False),
        ({"throttle_interval": 30}, lambda rules: rules.throttle.interval, 60, 30),
        ({"throttle_least": 0.25}, lambda rules: rules.throttle.least, 125, 250),
        ({"latency": {"plan": 9}}, lambda rules: rules.latency("plan"), 5, 9),
    ],
)
def test_each_rule_of_a_run_is_what_its_settings_say(
    settings: dict[str, Any], of: Callable[[Rules], object], usual: object, other: object
) -> None:
    assert (of(rules()), of(rules(**settings))) == (usual, other)


def test_repairs_and_ratings_by_a_model_are_for_runs_that_ask_one() -> None:
    asking, not_asking = rules(**MODEL, repair_from=1100, rate_share=0.5), rules(repair_from=1100, rate_share=0.5)
    assert (asking.repair_from, asking.rate_share) == (1100, 0.5)
    assert (not_asking.repair_from, not_asking.rate_share) == (1440, 0.0)
    assert rules(**MODEL, rate_share=0.5, disable=["rate"]).rate_share == 0.0


def test_a_summary_is_due_before_the_cells_run_out_wherever_somebody_has_cells() -> None:
    usual = latency("summarise")
    assert usual > 2
    assert latency("summarise", policy="cells", cells=2) == 2
    assert latency("summarise", policies={"npc:smith": "cells"}, cells=2) == 2
    assert latency("summarise", cells=2) == usual, "nobody has any"
    assert latency("summarise", policy="cells", cells=99) == usual
    assert latency("plan", policy="cells", cells=2) == latency("plan"), "the other kinds fill none"
    assert latency("summarise", policy="cells", cells=2, latency={"summarise": 4}) == 4


def test_a_kind_asks_the_models_of_its_tier_the_strong_one_first() -> None:
    models = {name: {"model": name, "endpoint": "default"} for name in ("big", "small")}
    settings = Settings(**MODEL, models=models, tiers={"routine": "small", "strong": "big"})
    made = rules_of(settings, kinds(), {})
    plan = next(kind for kind in kinds() if kind.name == "plan")
    assert [offer.model for offer in made.offers_of(plan, "strong")] == ["big", "small"]
    assert [offer.model for offer in made.offers_of(plan, "routine")] == ["small"]
    (offer,) = made.offers_of(plan, "routine")
    assert (offer.cost.calls, offer.cost.tokens >= plan.output_cap) == (1, True)
    prune = next(kind for kind in kinds() if kind.name == "prune")
    assert [(offer.model, offer.cost.calls) for offer in made.offers_of(prune, "strong")] == [("", 0)]
    assert [offer.model for offer in rules().offers_of(plan, "strong")] == [""], "without a model none is asked"


def test_admission_begins_with_the_limits_and_shares_of_the_settings() -> None:
    settings = Settings(
        limits={"day.run.calls": 100}, retry_share=0.1, guarantees={"plan": 0.2}, last_call={"plan": 600},
    )  # fmt: skip
    view = view_of(settings)
    assert (view.retry_share, view.held) == (0.1, {})
    assert view.room("day", "run", "calls") == 90
    assert {name: tuple(guarantee) for name, guarantee in view._guarantees.items()} == {"plan": (0.2, 600)}
    assert throttle_rules(settings).auto


@pytest.mark.parametrize("kind", ["dream", "Plan"])
def test_tiers_are_for_kinds_that_there_are(kind: str) -> None:
    check_models(Settings(kind_tiers={"plan": {"routine": "default"}}), kinds())
    with pytest.raises(ConfigurationError, match=kind):
        check_models(Settings(kind_tiers={kind: {"routine": "default"}}), kinds())


@pytest.mark.parametrize(("spare", "fits"), [(999, False), (1_000, True)])
def test_a_model_must_leave_a_kind_a_thousand_tokens_for_its_prompt(spare: int, fits: bool) -> None:
    most = max(kind.output_cap for kind in kinds())
    models = {"small": {"model": "small", "context": most + spare}}
    settings = Settings(**MODEL, models=models, tiers={"routine": "small", "strong": "small"})
    if fits:
        check_models(settings, kinds())
        return
    with pytest.raises(ConfigurationError, match="'small' has a context of"):
        check_models(settings, kinds())


def test_where_plans_are_asked_for_in_the_evening_their_share_is_kept_till_then() -> None:
    paced = Settings(
        llm="openai", limit_tokens=1_000, tick_rate=20.0, guarantees={"plan": 0.2, "act": 0.1},
        last_call={"plan": 600, "act": 700},
    )  # fmt: skip
    shares = {name: guarantee.last_call for name, guarantee in view_of(paced)._guarantees.items()}
    assert shares == {"plan": DAY, "act": 700}
