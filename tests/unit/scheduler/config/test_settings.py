"""Where settings come from, which goes first, and what a run keeps of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from cogitate.ops.commands.config import setting_origin
from cogitate.scheduler.budget.briefs import no_brief
from cogitate.scheduler.budget.rules import rules_of
from cogitate.scheduler.config.facts import KEPT, keep_settings, kept_settings
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.tasks.registry import kinds


def test_every_setting_has_a_default() -> None:
    assert Settings().workers == 2
    assert Settings().llm == "heuristic"


def test_requests_and_answers_are_kept_only_by_choice() -> None:
    assert (Settings().record, Settings().response_cache) == (False, False)


def test_flags_go_before_variables_and_variables_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cogitate.toml").write_text('[workers]\nworkers = 3\nconcurrency = 3\n[model]\nmodel = "three"\n')
    monkeypatch.setenv("COGITATE_WORKERS", "4")
    monkeypatch.setenv("COGITATE_CONCURRENCY", "4")
    settings = Settings(workers=5)
    assert (settings.workers, settings.concurrency, settings.model) == (5, 4, "three")
    assert [setting_origin(name, {"workers"}) for name in ("workers", "concurrency", "model", "seed")] == [
        "flag",
        "COGITATE_CONCURRENCY",
        "cogitate.toml",
        "default",
    ]


def test_limits_can_be_set_as_json_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_LIMITS", '{"day.run.calls": 7}')
    assert Settings().limit_table().of("day", "run", "calls") == 7


def test_a_retrieval_profile_can_be_set_in_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cogitate.toml").write_text("[memory.retrieval]\nrelevance = 1\n")
    assert Settings().retrieval == {"relevance": 1.0}
    monkeypatch.setenv("COGITATE_RETRIEVAL", "spec")
    assert Settings().retrieval == "spec"
    Path("cogitate.toml").unlink()
    monkeypatch.setenv("COGITATE_RETRIEVAL", '{"recency": 2, "importance": 0.5}')
    assert Settings().retrieval == {"recency": 2.0, "importance": 0.5}
    assert Settings(retrieval="dialogue").retrieval == "dialogue"
    monkeypatch.delenv("COGITATE_RETRIEVAL")
    monkeypatch.setenv("COGITATE_RETRIEVAL__RECENCY", "0.5")
    assert Settings().retrieval == {"recency": 0.5}
    monkeypatch.setenv("COGITATE_RETRIEVAL__RECENCY", "often")
    with pytest.raises(ConfigurationError, match="recency is 'often': give a number from 0 to 1,000"):
        Settings()


def test_a_run_limit_in_dollars_is_kept_in_micro_dollars() -> None:
    assert Settings(limit_usd=0.25).limit_table().of("run", "run", "usd_micros") == 250_000


def test_messages_use_the_database_beside_the_state() -> None:
    assert Settings(redis_url=SecretStr("redis://h:1/4")).messages_url() == "redis://h:1/5"
    assert Settings(redis_url=SecretStr("redis://h:1")).messages_url() == "redis://h:1/1"
    assert Settings(redis_url=SecretStr("unix:///s?db=0")).messages_url() == "unix:///s?db=1"
    both = Settings(redis_url=SecretStr("redis://h/0"), broker_url=SecretStr("redis://other/9"))
    assert both.messages_url() == "redis://other/9"


def test_a_key_in_the_environment_alone_calls_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    assert Settings().llm == "heuristic"


def test_a_run_keeps_the_settings_that_decide_its_course(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = keep_settings(Settings(morning=420, workers=7, limit_usd=0.5, llm="openai"))
    monkeypatch.setenv("COGITATE_MORNING", "300")
    resumed = kept_settings(raw, Settings(workers=3))
    assert (resumed.morning, resumed.limit_usd, resumed.llm, resumed.workers) == (420, 0.5, "openai", 3)
    assert set(Settings.model_fields) >= KEPT


def test_max_means_as_fast_as_possible_despite_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_TICK_RATE", "60")
    assert Settings().tick_rate == 60
    paced = Settings.model_validate({"tick_rate": "max"})
    assert paced.tick_rate is None
    assert (Settings().wait_seconds(), paced.wait_seconds()) == (0.0, 60.0)


def test_a_stored_run_keeps_the_values_that_cogitate_decided_for_it() -> None:
    raw = keep_settings(Settings.tuned(retry_share=0.3, passes=3, lease=1.0))
    resumed = kept_settings(raw, Settings()).tuning
    assert (resumed.retry_share, resumed.passes, resumed.lease) == (0.3, 3, 15.0)


def test_guarantees_may_add_up_to_a_whole_limit() -> None:
    assert Settings(guarantees={"plan": 0.5, "reflect": 0.5}).guarantees == {"plan": 0.5, "reflect": 0.5}


def test_each_setting_of_memories_is_in_the_limits_that_a_run_keeps() -> None:
    same: dict[str, Any] = {
        "max_observations": 11,
        "max_reflections": 12,
        "max_plans": 13,
        "importance_threshold": 6,
        "reflection_interval": 14,
        "reflection_trigger": "either",
        "reflection_trigger_max": 15,
        "summary_threshold": 16,
        "max_archived": 17,
        "policy": "cells",
        "policies": {"npc": "tokens", "agent": "stream"},
        "on_failure": "unchanged",
        "cells": 18,
        "token_limit": 19,
        "compress_at": 0.7,
        "compress_to": 0.5,
        "retain": 20,
        "passes": 3,
        "recount_on_failure": "heuristic",
    }
    limits = Settings.tuned(**same, retention_days=3, public_history_max_length=5_000).memory_limits()
    assert {name: getattr(limits, name) for name in same} == same
    assert list(limits.policies) == ["agent", "npc"], "in one order, whatever the file's"
    assert (limits.retention, limits.max_history) == (3 * 1440, 5_000)
    assert {*limits.__struct_fields__} == {*same, "retention", "max_history"}


def test_each_setting_of_events_is_in_their_routing() -> None:
    routing = Settings.tuned(
        guidance_style="structured", statement_max_length=20, reasoning_max_length=30, enable_truncation=False
    ).routing()
    assert routing.style == "structured"
    cut = routing.truncation
    assert (cut.statement, cut.reasoning, cut.enabled) == (20, 30, False)


@pytest.mark.parametrize(
    ("values", "adapts"),
    [
        ({}, False),
        ({"tick_rate": 5}, False),
        ({"llm": "openai"}, False),
        ({"llm": "openai", "tick_rate": 5}, True),
        ({"llm": "openai", "tick_rate": 5, "wait": 1}, False),
        ({"llm": "openai", "wait": 0}, False),
        ({"llm": "openai", "tick_rate": 5, "adaptive_latency": False}, False),
        ({"llm": "openai", "adaptive_latency": True}, True),
        ({"adaptive_latency": True, "tick_rate": 5}, False),
    ],
)
def test_due_ticks_follow_latencies_in_a_paced_run_with_a_model(values: dict[str, Any], adapts: bool) -> None:
    assert Settings.tuned(**values).adapts() is adapts


@pytest.mark.parametrize(
    ("values", "seconds"), [({}, 60), ({"tick_rate": 5}, 0), ({"tick_rate": 5, "wait": 2}, 2), ({"wait": 0}, 0)]
)
def test_a_boundary_waits_a_minute_unless_paced_or_set(values: dict[str, Any], seconds: float) -> None:
    assert Settings.tuned(**values).wait_seconds() == seconds


MODELS = {"small": {"model": "s"}, "large": {"model": "l"}, "huge": {"model": "h"}}


@pytest.mark.parametrize(
    ("values", "asked", "plan"),
    [
        ({}, ["default"], ("default", "default")),
        ({"tiers": {"routine": "small"}}, ["small"], ("small", "small")),
        ({"tiers": {"strong": "large"}}, ["default", "large"], ("default", "large")),
        (
            {"kind_tiers": {"plan": {"strong": "huge"}}, "tiers": {"routine": "small", "strong": "large"}},
            ["huge", "large", "small"],
            ("small", "huge"),
        ),
        ({"kind_tiers": {"plan": {"routine": "large"}}}, ["default", "large"], ("large", "large")),
    ],
)
def test_a_run_uses_the_models_of_its_tiers(values: dict[str, Any], asked: list[str], plan: Any) -> None:
    settings = Settings.tuned(llm="openai", models=MODELS, **values)
    assert [model.name for model in settings.asked_models()] == asked
    assert settings.tier_models("plan") == dict(zip(("routine", "strong"), plan, strict=True))
    assert Settings.tuned(models=MODELS, **values).asked_models() == ()


def test_the_short_settings_are_the_default_model_unless_a_table_names_one() -> None:
    short = Settings(model="m", input_price=3, output_price=4, base_url="http://h/v1", api_key=SecretStr("sk"))
    model = short.model_table()["default"]
    assert (model.name, model.model, model.endpoint) == ("default", "m", "default")
    assert (model.input_price, model.cached_input_price, model.output_price) == (3, 3, 4)
    endpoint = short.endpoint_table()["default"]
    assert (endpoint.base_url, endpoint.api_key) == ("http://h/v1", SecretStr("sk"))
    several = Settings(
        models={"default": {"model": "own"}, "a": {"model": "x"}}, endpoints={"b": {}, "a": {}, "default": {"burst": 2}}
    )
    assert [(name, model.model) for name, model in several.model_table().items()] == [("a", "x"), ("default", "own")]
    assert [*several.endpoint_table()] == ["a", "b", "default"]
    assert several.endpoint_table()["default"].burst == 2


def test_the_limits_of_a_run_are_in_the_table_with_those_of_actions() -> None:
    def of(**values: Any) -> dict[str, int]:
        return {name.text(): limit for name, limit in Settings.tuned(**values).limit_table()}

    assert of() == {"day.owner:*.calls": 40, "tick.kind:act.calls": 5}
    assert of(act_interval=0) == {"day.owner:*.calls": 40}
    assert of(limits={"tick.kind:act.calls": 1}) == {"tick.kind:act.calls": 1}, "who says it means it"
    assert of(limits={}, act_per_tick=2, limit_tokens=9, limit_usd=0.0000015) == {
        "tick.kind:act.calls": 2,
        "run.run.tokens": 9,
        "run.run.usd_micros": 2,
    }


def test_a_template_folder_becomes_an_absolute_path() -> None:
    assert Settings(prompts=Path("mine")).prompts == Path.cwd() / "mine"


@pytest.mark.parametrize(
    ("values", "ladders"),
    [
        ({}, {}),
        ({"tiers": {"routine": "small"}}, {}),
        ({"tiers": {"routine": "small", "strong": "large"}}, {"": ("large", "small")}),
        ({"kind_tiers": {"act": {"strong": "large"}}}, {"": ("default",), "act": ("large", "default")}),
        ({"kind_tiers": {"act": {"strong": "large", "routine": "large"}}}, {}),
        ({"failover": ["huge", "default"]}, {"": ("default", "huge")}),
    ],
)
def test_a_run_has_ladders_where_a_kind_may_be_answered_by_more_than_one_model(
    values: dict[str, Any], ladders: dict[str, tuple[str, ...]]
) -> None:
    assert Settings.tuned(llm="openai", models=MODELS, **values).ladders() == ladders
    assert Settings.tuned(models=MODELS, **values).ladders() == {}


def test_latencies_are_ticks_or_seconds_also_in_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_LATENCY__PLAN", "7")
    monkeypatch.setenv("COGITATE_LATENCY__ACT", "2.5s")
    settings = Settings(tick_rate=20)
    assert settings.latency == {"plan": 7, "act": "2.5s"}
    rules = rules_of(settings, kinds(), no_brief)
    assert (rules.latency("plan"), rules.latency("act")) == (7, 50)
    assert kept_settings(keep_settings(settings)).latency == settings.latency
