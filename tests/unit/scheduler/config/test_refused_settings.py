"""Settings that are refused, and what the refusal says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from cogitate.ops.commands.config import mask_secrets
from cogitate.scheduler.budget.settings_checks import check_spending
from cogitate.scheduler.config.settings import ConfigurationError, Settings, check_run_name
from cogitate.scheduler.config.settings_faults import FORMER, SettingsRefused


@pytest.mark.parametrize(
    ("setting", "given", "such_as"),
    [
        ("KINDS", "dreams", """a list in JSON, such as '["dreams"]'"""),
        ("DISABLE", "[act, prune", """a list in JSON, such as '["act", "prune"]'"""),
        ("FAILOVER", "", """a list in JSON, such as '["a"]'"""),
        ("LIMITS", "many", """a table in JSON, such as '{"a": 1}'"""),
    ],
)
def test_invalid_json_is_refused_with_an_example(
    monkeypatch: pytest.MonkeyPatch, setting: str, given: str, such_as: str
) -> None:
    monkeypatch.setenv(f"COGITATE_{setting}", given)
    with pytest.raises(ConfigurationError) as refused:
        Settings()
    assert str(refused.value).endswith(such_as)


def test_weights_may_be_text_and_invalid_ones_are_refused_by_name() -> None:
    assert Settings(retrieval={"recency": "0.5"}).retrieval == {"recency": 0.5}
    for wrong in (None, [1], "often"):
        with pytest.raises(ConfigurationError, match=r"recency is .*: give a number from 0 to 1,000"):
            Settings(retrieval={"recency": wrong})


def test_a_value_that_cannot_be_used_is_named(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
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
        (
            {"latency": {"plan": -4}},
            '-4 is not a latency: give ticks, such as 5, game minutes, such as "5m", or seconds, such as "5s"',
        ),
        ({"latency": {"plan": "soon"}}, "'soon' is not a latency"),
        ({"latency": {"plan": "0s"}}, "'0s' is not a latency"),
        ({"latency": {"plan": 0}}, "latency.plan: 0"),
        ({"guarantees": {"plan": float("nan")}}, "finite"),
        ({"data_dir": "a\0b"}, "names no folder"),
        ({"wrokers": 2}, "did you mean .workers."),
    ]
    for values, says in cases:
        with subtests.test(values=values), pytest.raises(ConfigurationError, match=says):
            Settings.tuned(**values)


def test_a_password_is_in_no_message_and_no_listing() -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings(redis_url=SecretStr("http://me:secret@example.org/0"))
    assert "secret" not in str(refused.value)
    settings = Settings(redis_url=SecretStr("redis://me:secret@example.org/0"), api_key=SecretStr("sk-secret"))
    shown = [mask_secrets(name, getattr(settings, name)) for name in Settings.model_fields]
    assert "redis://me:***@example.org/0" in shown
    assert not any("secret" in str(value) for value in shown)
    assert "secret" not in repr(settings)


def test_without_a_server_the_message_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="cogitate run"):
        Settings(data_dir=Path("nowhere")).state_url()


def test_a_model_needs_a_limit_for_the_whole_run() -> None:
    with pytest.raises(ConfigurationError, match="set limit_usd, limit_tokens"):
        check_spending(Settings(llm="openai", limits={"day.run.tokens": 1000}))
    check_spending(Settings(llm="openai", limit_tokens=1000))
    check_spending(Settings(llm="openai", limits={"run.tokens": 1000}))


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "x" * 65, "{a}", "ä", 7])
def test_names_that_no_run_can_have(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not a run name"):
        check_run_name(name)


@pytest.mark.parametrize("name", ["a", "7", "x" * 64, "Town-1.b_c"])
def test_names_that_a_run_can_have(name: str) -> None:
    assert check_run_name(name) == name


def test_a_former_setting_is_refused_wherever_it_is_given(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for name in sorted(FORMER.keys() - Settings.model_fields.keys()):
        says = re.escape(FORMER[name])
        with subtests.test(name=name):
            with pytest.raises(ConfigurationError, match=f"{name}: {says}"):
                Settings(**{name: 1})
            Path("cogitate.toml").write_text(f"{name} = 1\n")
            with pytest.raises(ConfigurationError, match=f"{name}: {says}"):
                Settings()
            Path("cogitate.toml").unlink()
            with monkeypatch.context() as patch:
                patch.setenv(f"COGITATE_{name.upper()}", "1")
                with pytest.raises(ConfigurationError, match=f"^COGITATE_{name.upper()} {says}"):
                    Settings()


def test_a_setting_in_another_unit_is_refused_with_the_value_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cogitate.toml").write_text("[time]\nminutes_per_tick = 10\n")
    with pytest.raises(ConfigurationError, match=r"minutes_per_tick: .*seconds_per_tick = 600"):
        Settings()
    Path("cogitate.toml").unlink()
    monkeypatch.setenv("COGITATE_MINUTES_PER_TICK", "5")
    with pytest.raises(ConfigurationError, match=r"COGITATE_MINUTES_PER_TICK .*seconds_per_tick = 300"):
        Settings()


@pytest.mark.parametrize(
    ("written", "table"),
    [
        ("workers = 3", "workers"),
        ('model = "three"', "model"),
        ("limits = {}", "budget"),
        ("[memory]\nmorning = 300", "time"),
        ("[retrieval]\nrelevance = 1\n", "memory"),
    ],
)
def test_a_setting_outside_its_table_is_refused_with_the_table(written: str, table: str) -> None:
    Path("cogitate.toml").write_text(written)
    with pytest.raises(ConfigurationError, match=rf"cogitate\.toml: write \w+ in the table \[{table}\]$"):
        Settings()


def test_tables_name_only_configured_entries() -> None:
    for values, says in (
        ({"models": {"small": {"model": "s", "endpoint": "here"}}}, "model 'small' is at the endpoint 'here'"),
        ({"tiers": {"strong": "big"}}, "tiers: the strong tier names the model 'big'"),
        ({"kind_tiers": {"act": {"routine": "big"}}}, "kind_tiers: the routine tier names the model 'big'"),
        ({"policies": {"group": "cells"}}, "'group' cannot have a policy"),
        ({"policies": {"npc:": "cells"}}, "is not an owner"),
    ):
        with pytest.raises(ConfigurationError, match=says):
            Settings.tuned(**values)
    assert Settings(policies={"npc": "cells", "agent:a": "tokens", "location": "stream"}).policies["npc"] == "cells"


@pytest.mark.parametrize(("count", "rest"), [(5, ""), (6, "; and 1 more"), (9, "; and 4 more")])
def test_the_first_five_faults_are_named_and_the_rest_are_counted(count: int, rest: str) -> None:
    names = [
        *("cells", "retention_days", "max_reflections", "workers", "morning", "token_limit"),
        *("limit_tokens", "max_observations", "act_interval"),
    ]
    with pytest.raises(SettingsRefused) as refused:
        Settings(**dict.fromkeys(names[:count], -1))
    said = str(refused.value)
    assert sum(f"{name}: -1" in said for name in names) == 5
    assert said.endswith(rest)
    assert ("more" in said.rpartition(";")[2]) is bool(rest)
