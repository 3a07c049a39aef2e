"""Where settings come from, which goes first, and what is said of values that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ops.commands.config import mask_secrets, setting_origin
from scheduler.budget.rules import check_limits, check_spending
from scheduler.config.kept_settings import KEPT, keep_settings, kept_settings
from scheduler.config.settings import ConfigurationError, Settings, check_run_name
from tasks.registry import kinds


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("COGITATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_every_setting_has_a_default() -> None:
    assert Settings().workers == 2
    assert Settings().llm == "heuristic"


def test_flags_go_before_variables_and_variables_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cogitate.toml").write_text('workers = 3\nconcurrency = 3\nmodel = "three"\n')
    monkeypatch.setenv("COGITATE_WORKERS", "4")
    monkeypatch.setenv("COGITATE_CONCURRENCY", "4")
    settings = Settings(workers=5)
    assert (settings.workers, settings.concurrency, settings.model) == (5, 4, "three")
    assert [setting_origin(name, {"workers"}) for name in ("workers", "concurrency", "model", "seed")] == [
        "flag", "COGITATE_CONCURRENCY", "cogitate.toml", "default"
    ]  # fmt: skip


def test_limits_can_be_set_as_json_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_LIMITS", '{"day.run.calls": 7}')
    assert Settings().limit_table().of("day", "run", "calls") == 7


def test_a_retrieval_profile_can_be_set_in_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cogitate.toml").write_text('[retrieval]\nrelevance = 1\n[kind_retrieval]\nact = "dialogue"\n')
    assert (Settings().retrieval, Settings().kind_retrieval) == ({"relevance": 1.0}, {"act": "dialogue"})
    monkeypatch.setenv("COGITATE_RETRIEVAL", "spec")
    assert Settings().retrieval == "spec"
    Path("cogitate.toml").unlink()
    monkeypatch.setenv("COGITATE_RETRIEVAL", '{"recency": 2, "importance": 0.5}')
    assert Settings().retrieval == {"recency": 2.0, "importance": 0.5}
    monkeypatch.setenv("COGITATE_KIND_RETRIEVAL__ACT", "spec")
    assert Settings().kind_retrieval == {"act": "spec"}
    assert Settings(retrieval="dialogue").retrieval == "dialogue"
    monkeypatch.delenv("COGITATE_RETRIEVAL")
    monkeypatch.setenv("COGITATE_RETRIEVAL__RECENCY", "0.5")
    assert Settings().retrieval == {"recency": 0.5}
    monkeypatch.setenv("COGITATE_RETRIEVAL__RECENCY", "often")
    with pytest.raises(ConfigurationError, match="recency is 'often': give a number from 0 to 1,000"):
        Settings()


def test_a_run_limit_in_dollars_is_kept_in_micro_dollars() -> None:
    assert Settings(limit_usd=0.25).limit_table().of("run", "run", "usd_micros") == 250_000


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"workers": -1}, "greater than or equal to 0"),
        ({"workers": "many"}, "valid integer"),
        ({"limits": {"day.run.calls": -4}}, "-4 is not between 0"),
        ({"limits": {"week.run.calls": 4}}, "period 'week' is not one of"),
        ({"limits": {"day.everybody.calls": 4}}, "scope 'everybody' is not"),
        ({"limits": {"day.run.euros": 4}}, "unit 'euros' is not one of"),
        ({"limit_usd": -1}, "greater than 0"),
        ({"limit_tokens": 0}, "greater than or equal to 1"),
        ({"redis_url": "http://example.org"}, "'http://example.org' is not a Redis URL"),
        ({"guarantees": {"plan": 0.7, "reflect": 0.6}}, "more than 1"),
        ({"llm": "oracle"}, "input should be 'heuristic' or 'openai'"),
        ({"tick_rate": "fast"}, "valid number"),
        ({"limits": {"day.owner:agnet:ada.calls": 4}}, "'agnet:ada' is not an owner"),
        ({"policies": {"npc:": "cells"}}, "'npc:' is not an owner"),
        ({"latency": {"plan": -4}}, "-4: input should be greater than or equal to 1"),
        ({"latency": {"plan": 0}}, "latency.plan: 0"),
        ({"guarantees": {"plan": float("nan")}}, "finite"),
        ({"last_call": {"plan": 2000}}, "less than or equal to 1440"),
        ({"data_dir": "a\0b"}, "names no folder"),
        ({"wrokers": 2}, "did you mean .workers."),
    ],
)
def test_a_value_that_cannot_be_used_is_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Settings(**values)


def test_a_password_is_in_no_message_and_no_listing() -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings(redis_url=SecretStr("http://me:secret@example.org/0"))
    assert "secret" not in str(refused.value)
    settings = Settings(redis_url=SecretStr("redis://me:secret@example.org/0"), api_key=SecretStr("sk-secret"))
    shown = [mask_secrets(name, getattr(settings, name)) for name in Settings.model_fields]
    assert "redis://me:***@example.org/0" in shown
    assert not any("secret" in str(value) for value in shown)
    assert "secret" not in repr(settings)


def test_messages_go_to_the_database_beside_the_state() -> None:
    assert Settings(redis_url=SecretStr("redis://h:1/4")).messages_url() == "redis://h:1/5"
    assert Settings(redis_url=SecretStr("redis://h:1")).messages_url() == "redis://h:1/1"
    assert Settings(redis_url=SecretStr("unix:///s?db=0")).messages_url() == "unix:///s?db=1"
    both = Settings(redis_url=SecretStr("redis://h/0"), broker_url=SecretStr("redis://other/9"))
    assert both.messages_url() == "redis://other/9"


def test_without_a_server_the_message_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="cogitate run"):
        Settings(data_dir=Path("nowhere")).state_url()


def test_a_model_needs_a_limit_for_the_whole_run() -> None:
    with pytest.raises(ConfigurationError, match="set limit_usd or limit_tokens"):
        check_spending(Settings(llm="openai", limits={"day.run.tokens": 1000}))
    check_spending(Settings(llm="openai", limit_tokens=1000))
    check_spending(Settings(llm="openai", limits={"run.tokens": 1000}))


def test_a_key_in_the_environment_asks_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    assert Settings().llm == "heuristic"


def test_a_run_keeps_the_settings_that_decide_its_course(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = keep_settings(Settings(morning=420, workers=7, limit_usd=0.5, llm="openai"))
    monkeypatch.setenv("COGITATE_MORNING", "300")
    resumed = kept_settings(raw, Settings(workers=3))
    assert (resumed.morning, resumed.limit_usd, resumed.llm, resumed.workers) == (420, 0.5, "openai", 3)
    assert set(Settings.model_fields) >= KEPT


def test_max_is_as_fast_as_possible_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_TICK_RATE", "60")
    assert Settings().tick_rate == 60
    paced = Settings.model_validate({"tick_rate": "max"})
    assert paced.tick_rate is None
    assert (Settings().wait_seconds(), paced.wait_seconds()) == (0.0, 60.0)


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "x" * 65, "{a}", "ä"])
def test_names_that_no_run_can_have(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a run name"):
        check_run_name(name)


def test_a_template_folder_is_found_from_everywhere() -> None:
    assert Settings(prompts=Path("mine")).prompts == Path.cwd() / "mine"


@pytest.mark.parametrize(
    "values",
    [{"limits": {"day.kind:relfect.calls": 5}}, {"latency": {"relfect": 4}}, {"guarantees": {"relfect": 0.1}},
     {"last_call": {"relfect": 60}}],
)  # fmt: skip
def test_what_is_set_for_a_kind_that_does_not_exist_is_named(values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(ConfigurationError, match=f"{name} names the kind 'relfect'.*did you mean 'reflect'"):
        check_limits(Settings(**values), kinds())


def test_kinds_that_exist_may_be_named() -> None:
    check_limits(Settings(limits={"day.kind:*.calls": 5, "day.kind:reflect.calls": 5}), kinds())
