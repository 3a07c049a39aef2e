"""A run's facts, rules and admission view, derived from its settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.profile import Location
from cogitate.scheduler.budget.rules import Rules, rules_of, throttle_rules, view_of
from cogitate.scheduler.budget.settings_checks import check_limits, check_models, strangers
from cogitate.scheduler.config.embedding import MOST_TOKENS, EmbeddingSettings
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.facts import Facts, facts_of
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.tasks.job import Cost
from cogitate.tasks.registry import UnknownKind, kind_of, kinds, use_prompts
from tests.unit.scheduler.scheduler_case import Thinker

MODEL: dict[str, Any] = {"llm": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "any", "limit_tokens": 9}


def rules(**settings: Any) -> Rules:
    return rules_of(Settings.tuned(**settings), kinds(), {})


def latency(kind: str, **settings: Any) -> int:
    return rules(**settings).latency(kind)


def test_facts_follow_the_settings() -> None:
    usual = facts_of(Settings(), (), 0)
    assert usual == Facts(
        locations=(),
        limits=MemoryLimits(),
        minutes_per_tick=Settings().seconds_per_tick // 60,
        start_minute=0,
        morning=Settings().morning,
        act_interval=Settings().act_interval,
        models=(),
    )
    mill = Location(id="mill", name="Mill")
    changed = facts_of(
        Settings.tuned(seconds_per_tick=180, morning=301, act_interval=17, max_plans=9, **MODEL), (mill,), 77
    )
    assert (changed.locations, changed.start_minute, changed.minutes_per_tick) == ((mill,), 77, 3)
    assert (changed.morning, changed.act_interval, changed.limits.max_plans) == (301, 17, 9)
    assert [model.name for model in changed.models] == ["default"]


@pytest.mark.parametrize(("batch", "vectors"), [("off", MOST_TOKENS), ("auto", 0)])
def test_a_job_reserves_vectors_unless_its_prompt_may_go_into_a_batch_file(batch: Any, vectors: int) -> None:
    def reserved(**more: Any) -> int:
        own = {"default": ModelSettings(model="m", batch=batch)}
        (offer,) = rules(**MODEL, models=own, **more).offers_of(kind_of("plan"), "routine")
        return offer.cost.tokens

    embeddings = EmbeddingSettings(model="e")
    assert reserved(embeddings=embeddings) - reserved() == vectors


@pytest.mark.parametrize(
    ("settings", "agents", "spread"),
    [
        ({}, 49, 0),
        ({}, 130, 2),
        ({}, 1_000, 20),
        ({}, 10_000, 120),
        ({"spread": 0}, 1_000, 0),
        ({"spread": 30}, 1, 30),
        ({"spread": 30, "morning": 1_430}, 1, 10),
    ],
)
def test_spread_follows_the_number_of_agents_unless_set(settings: dict[str, Any], agents: int, spread: int) -> None:
    owners = [f"agent:{number}" for number in range(agents)] + [f"npc:{number}" for number in range(500)]
    assert facts_of(Settings.tuned(**settings), (), 0, owners).spread == spread


def test_facts_without_spread_default_to_zero() -> None:
    assert typed_json.decode(b'{"minutes_per_tick":1,"morning":360}', Facts).spread == 0


@pytest.mark.parametrize(
    ("settings", "of", "usual", "other"),
    [
        ({"coalesce": False}, lambda rules: rules.coalesce, True, False),
        ({"max_text": 1234}, lambda rules: rules.max_text, Settings().tuning.max_text, 1234),
        ({"disable": ["act"]}, lambda rules: rules.disabled, frozenset(), frozenset({"act"})),
        ({"wait": 0.0}, lambda rules: rules.waits, True, False),
        ({"tick_rate": 5.0}, lambda rules: rules.waits, True, False),
        ({"throttle_auto": False}, lambda rules: rules.throttle.auto, True, False),
        ({"throttle_interval": 30}, lambda rules: rules.throttle.interval, 60, 30),
        ({"throttle_least": 0.25}, lambda rules: rules.throttle.least, 125, 250),
        ({"latency": {"plan": 9}}, lambda rules: rules.latency("plan"), 5, 9),
    ],
)
def test_rules_follow_the_settings(
    settings: dict[str, Any], of: Callable[[Rules], object], usual: object, other: object
) -> None:
    assert (of(rules()), of(rules(**settings))) == (usual, other)


def test_heuristic_run_has_no_model_ratings_or_repairs() -> None:
    asking, not_asking = rules(**MODEL, repair_from=1100, rate_share=0.5), rules(repair_from=1100, rate_share=0.5)
    assert (asking.repair_from, asking.rate_share) == (1100, 0.5)
    assert (not_asking.repair_from, not_asking.rate_share) == (1440, 0.0)
    assert rules(**MODEL, rate_share=0.5, disable=["rate"]).rate_share == 0.0


def test_summarise_latency_is_bounded_by_cells() -> None:
    usual = latency("summarise")
    assert usual > 2
    assert latency("summarise", policy="cells", cells=2) == 2
    assert latency("summarise", policies={"npc:smith": "cells"}, cells=2) == 2
    assert latency("summarise", cells=2) == usual, "no policy uses cells"
    assert latency("summarise", policy="cells", cells=99) == usual
    assert latency("plan", policy="cells", cells=2) == latency("plan"), "only summarise frees cells"
    assert latency("summarise", policy="cells", cells=2, latency={"summarise": 4}) == 4


def test_offers_start_with_the_strong_model() -> None:
    models = {name: {"model": name, "endpoint": "default"} for name in ("big", "small")}
    settings = Settings.tuned(**MODEL, models=models, tiers={"routine": "small", "strong": "big"})
    made = rules_of(settings, kinds(), {})
    plan = next(kind for kind in kinds() if kind.name == "plan")
    assert [offer.model for offer in made.offers_of(plan, "strong")] == ["big", "small"]
    assert [offer.model for offer in made.offers_of(plan, "routine")] == ["small"]
    (offer,) = made.offers_of(plan, "routine")
    assert (offer.cost.calls, offer.cost.tokens >= plan.output_cap) == (1, True)
    prune = next(kind for kind in kinds() if kind.name == "prune")
    assert [(offer.model, offer.cost.calls) for offer in made.offers_of(prune, "strong")] == [("", 0)]
    assert [offer.model for offer in rules().offers_of(plan, "strong")] == [""], "a heuristic run calls no model"


def test_view_uses_the_configured_limits_and_shares() -> None:
    settings = Settings.tuned(
        limits={"day.run.calls": 100},
        retry_share=0.1,
        guarantees={"plan": 0.2},
        last_call={"plan": 600},
    )
    view = view_of(settings)
    assert (view.retry_share, view.held) == (0.1, {})
    assert view.room("day", "run", "calls") == 90
    assert {name: tuple(guarantee) for name, guarantee in view._guarantees.items()} == {"plan": (0.2, 600)}
    assert throttle_rules(settings).auto


@pytest.mark.parametrize("kind", ["dream", "Plan"])
def test_tiers_of_an_unknown_kind_are_refused(kind: str) -> None:
    check_models(Settings(kind_tiers={"plan": {"routine": "default"}}), kinds())
    with pytest.raises(ConfigurationError, match=kind):
        check_models(Settings(kind_tiers={kind: {"routine": "default"}}), kinds())


@pytest.mark.parametrize(("spare", "fits"), [(999, False), (1_000, True)])
def test_context_must_leave_room_for_the_prompt(spare: int, fits: bool) -> None:
    most = max(kind.output_cap for kind in kinds())
    models = {"small": {"model": "small", "context": most + spare}}
    settings = Settings.tuned(**MODEL, models=models, tiers={"routine": "small", "strong": "small"})
    if fits:
        check_models(settings, kinds())
        return
    with pytest.raises(ConfigurationError, match="'small' has a context of"):
        check_models(settings, kinds())
    check_models(settings.model_copy(update={"llm": "heuristic"}), kinds())


def test_plans_requested_ahead_keep_their_guarantee_all_day() -> None:
    paced = Settings.tuned(
        llm="openai",
        limit_tokens=1_000,
        tick_rate=20.0,
        guarantees={"plan": 0.2, "act": 0.1},
        last_call={"plan": 600, "act": 700},
    )
    shares = {name: guarantee.last_call for name, guarantee in view_of(paced)._guarantees.items()}
    assert shares == {"plan": DAY, "act": 700}


@pytest.mark.parametrize(
    ("changed", "bounds"),
    [
        ({}, (3, 30)),
        ({"seconds_per_tick": 120}, (2, 15)),  # the least is rounded up, the most down
        ({"seconds_per_tick": 420}, (1, 4)),
        ({"seconds_per_tick": 3600}, (1, 1)),
        ({"latency": {"think": 4}}, None),
        ({"adaptive_latency": False}, None),
    ],
)
def test_bounds_follow_the_latency_of_the_kind(changed: dict[str, Any], bounds: Any) -> None:
    kind: Any = Thinker("think")
    kind.latency_least, kind.latency_most = 3, 30
    settings = Settings.tuned(**MODEL, tick_rate=5.0, **changed)
    assert rules_of(settings, [kind], lambda owner: {}).bounds_of(kind) == bounds
    kind.output_cap = 0
    assert rules_of(settings, [kind], lambda owner: {}).bounds_of(kind) is None, "it asks no model"


@pytest.mark.parametrize(("interval", "most"), [(0, 30), (5, 2), (60, 30), (59, 29), (1, 3)])
def test_act_is_due_within_half_its_interval(interval: int, most: int) -> None:
    kinds: list[Any] = [Thinker("act"), Thinker("think")]
    for kind in kinds:
        kind.latency_least, kind.latency_most = (0 if interval == 5 else 3), 30
    made = rules_of(Settings.tuned(**MODEL, tick_rate=5.0, act_interval=interval), kinds, lambda owner: {})
    least = max(1, kinds[0].latency_least)
    assert [made.bounds_of(kind) for kind in kinds] == [(least, most), (least, 30)]


def test_unregistered_kind_is_named() -> None:
    made = rules()
    assert made.kind_of("plan").name == "plan"
    with pytest.raises(UnknownKind, match="kind 'brood': register it"):
        made.kind_of("brood")


def test_minimum_latency_is_one_tick() -> None:
    kind: Any = Thinker("think", latency=0)
    assert rules_of(Settings(), [kind], lambda owner: {}).latency("think") == 1


def test_models_of_a_kind_are_distinct() -> None:
    models = {name: {"model": name} for name in ("big", "small")}
    made = rules_of(
        Settings.tuned(**MODEL, models=models, tiers={"routine": "small", "strong": "big"}), kinds(), lambda owner: {}
    )
    assert [*made.models_of("plan")] == ["small", "big"]
    assert [*made.models_of("prune")] == [""]
    assert made.model_of(made.kind_of("plan")) == "small"


@pytest.mark.parametrize(("context", "cap"), [(None, 100), (300, 100), (256, 56 + 100), (1_000, 100)])
def test_prompt_cap_is_the_rest_of_the_context(context: int | None, cap: int) -> None:
    kind: Any = Thinker("think", prompt_cap=100 if cap == 100 else 400, output_cap=100)
    made = rules_of(
        Settings.tuned(**MODEL, models={"default": {"model": "m", "context": context}}), [kind], lambda owner: {}
    )
    (offer,) = made.offers_of(kind, "strong")
    assert (offer.prompt_cap, offer.cost) == (cap, Cost(calls=1, tokens=cap + 100, usd_micros=offer.cost.usd_micros))


def test_templates_of_the_settings_override_built_in_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr("cogitate.tasks.registry.register_builtin", read.append)
    use_prompts(None)
    assert read == []
    use_prompts(tmp_path)
    assert read == [tmp_path]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"limits": {"day.kind:brood.calls": 1}}, "limits names the unknown kind 'brood'; known kinds: act, "),
        (
            {"guarantees": {"reflekt": 0.1}},
            r"guarantees names the unknown kind 'reflekt'.*; did you mean 'reflect'\?",
        ),
        ({"last_call": {"brood": 1}}, "last_call names the unknown kind 'brood'"),
        ({"latency": {"brood": 1}}, "latency names the unknown kind 'brood'"),
        ({"disable": ("brood",)}, "disable names the unknown kind 'brood'"),
        ({"disable": ("summarise",), "policy": "cells"}, "disable names summarise, .*policy 'cells'"),
        ({"disable": ("summarise",), "policies": {"npc": "tokens"}}, "disable names summarise, .*policy 'tokens'"),
    ],
)
def test_setting_without_effect_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        check_limits(Settings.tuned(**settings), kinds())


def test_error_suggests_one_kind() -> None:
    near: list[Any] = [Thinker("plan"), Thinker("plans")]
    with pytest.raises(ConfigurationError) as refused:
        check_limits(Settings.tuned(latency={"plann": 1}, guarantees={}, last_call={}, act_interval=0), near)
    assert str(refused.value).count("did you mean") == 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"limits": {"day.kind:*.calls": 1, "day.kind:plan.calls": 1, "run.calls": 1, "day.owner:agent:a.calls": 1}},
        {"disable": ("summarise",)},
        {"policy": "cells", "policies": {"npc": "tokens"}},
        {"last_call": {"plan": 1}, "latency": {"act": 1}},
    ],
)
def test_setting_with_effect_is_accepted(settings: dict[str, Any]) -> None:
    check_limits(Settings.tuned(**settings), kinds())


def test_strangers_lists_each_missing_owner_once() -> None:
    settings = Settings(
        limits={
            "day.owner:*.calls": 1,
            "day.owner:agent:b.calls": 1,
            "run.owner:agent:b.tokens": 1,
            "run.owner:agent:a.calls": 1,
            "run.calls": 5,
        },
        policies={"npc": "cells", "npc:smith": "cells", "agent:a": "tokens"},
    )
    assert strangers(settings, {"agent:a"}) == ["limits: agent:b", "policies: npc:smith"]
    assert strangers(settings, {"agent:a", "agent:b", "npc:smith"}) == []
