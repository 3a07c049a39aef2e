"""Where settings come from, which goes first, and what is said of values that cannot be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import SecretStr

from cogitate.ops.commands.config import mask_secrets, setting_origin
from cogitate.scheduler.budget.briefs import no_brief
from cogitate.scheduler.budget.rules import rules_of
from cogitate.scheduler.budget.settings_checks import check_spending
from cogitate.scheduler.config.facts import KEPT, keep_settings, kept_settings
from cogitate.scheduler.config.settings import ConfigurationError, Settings, check_run_name
from cogitate.scheduler.config.settings_faults import FORMER, SettingsRefused
from cogitate.tasks.registry import kinds


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("COGITATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


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


def test_weights_may_be_text_and_invalid_ones_are_refused_by_name() -> None:
    assert Settings(retrieval={"recency": "0.5"}).retrieval == {"recency": 0.5}
    for wrong in (None, [1], "often"):
        with pytest.raises(ConfigurationError, match=r"recency is .*: give a number from 0 to 1,000"):
            Settings(retrieval={"recency": wrong})


def test_a_run_limit_in_dollars_is_kept_in_micro_dollars() -> None:
    assert Settings(limit_usd=0.25).limit_table().of("run", "run", "usd_micros") == 250_000


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


def test_messages_use_the_database_beside_the_state() -> None:
    assert Settings(redis_url=SecretStr("redis://h:1/4")).messages_url() == "redis://h:1/5"
    assert Settings(redis_url=SecretStr("redis://h:1")).messages_url() == "redis://h:1/1"
    assert Settings(redis_url=SecretStr("unix:///s?db=0")).messages_url() == "unix:///s?db=1"
    both = Settings(redis_url=SecretStr("redis://h/0"), broker_url=SecretStr("redis://other/9"))
    assert both.messages_url() == "redis://other/9"


def test_without_a_server_the_message_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="cogitate run"):
        Settings(data_dir=Path("nowhere")).state_url()


def test_a_model_needs_a_limit_for_the_whole_run() -> None:
    with pytest.raises(ConfigurationError, match="set limit_usd, limit_tokens"):
        check_spending(Settings(llm="openai", limits={"day.run.tokens": 1000}))
    check_spending(Settings(llm="openai", limit_tokens=1000))
    check_spending(Settings(llm="openai", limits={"run.tokens": 1000}))


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


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "x" * 65, "{a}", "ä", 7])
def test_names_that_no_run_can_have(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not a run name"):
        check_run_name(name)


@pytest.mark.parametrize("name", ["a", "7", "x" * 64, "Town-1.b_c"])
def test_names_that_a_run_can_have(name: str) -> None:
    assert check_run_name(name) == name


LARGEST, LONGEST = 2**53 - 1, 1e9  # what Lua holds exactly; seconds, dollars and shares
SECONDS = ((0.001, LONGEST), (0, -1, 1.001e9))  # more than nothing
ANY, FROM_ONE = ((0, LARGEST), (-1, LARGEST + 1)), ((1, LARGEST), (0, LARGEST + 1))
ROOM: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # what a setting may be, and what is refused
    "socket_timeout": SECONDS,
    "job_deadline": SECONDS,
    "tick_rate": SECONDS,
    "limit_usd": SECONDS,
    "real_day_usd": SECONDS,
    "wait": ((0, 0.5, LONGEST), (-0.001, 1.001e9)),
    "outage_wait": ((0, 0.5, LONGEST), (-0.001, 1.001e9)),
    "workers": ((0, 64), (-1, 65)),
    "concurrency": ((1, 1_000), (0, 1_001)),
    "metrics_port": ((1, 65_000), (0, 65_001)),
    "input_price": ANY,
    "output_price": ANY,
    "seconds_per_tick": ((1, 2_592_000), (0, 2_592_001)),
    "day_seconds": ((60, 1_000_000_000), (59, 1_000_000_001)),
    "morning": ((0, 1439), (-1, 1440)),
    "limit_tokens": FROM_ONE,
    "real_day_tokens": FROM_ONE,
    "act_interval": ANY,
    "repair_from": ((0, 1440), (-1, 1441)),
    "journal_keep": FROM_ONE,
    "max_observations": FROM_ONE,
    "max_reflections": FROM_ONE,
    "reflection_interval": FROM_ONE,
    "reflection_trigger_max": FROM_ONE,
    "retention_days": ANY,
    "cells": ((1, 1_000), (0, 1_001)),
    "token_limit": FROM_ONE,
}


@pytest.mark.parametrize("which", [0, -1])
def test_numbers_may_be_as_small_and_as_large_as_the_page_says(which: int) -> None:
    given: dict[str, Any] = {name: accepted[which] for name, (accepted, _) in ROOM.items()}
    settings = Settings.tuned(**given)
    assert {name: getattr(settings, name) for name in given} == given


@pytest.mark.parametrize("which", [0, 1, 2])
def test_numbers_out_of_range_are_refused_by_name(which: int) -> None:
    given: dict[str, Any] = {name: refused[which] for name, (_, refused) in ROOM.items() if which < len(refused)}
    with pytest.raises(SettingsRefused) as wrong:
        Settings.tuned(**given)
    assert {fault.field for fault in wrong.value.faults} == given.keys()


def test_every_number_among_the_settings_has_its_room() -> None:
    numbers = {
        name
        for name, field in Settings.model_fields.items()
        if {int, float} & {field.annotation, *get_args(field.annotation)}
    }
    assert numbers - {"limits"} == ROOM.keys()


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [("latency", (1, LARGEST), (0,)), ("guarantees", (0, 1), (-0.001, 1.001))],
)
def test_numbers_by_kind_have_their_room_too(name: str, accepted: Any, refused: Any) -> None:
    for value in accepted:
        assert getattr(Settings.tuned(**{name: {"plan": value}}), name) == {"plan": value}
    for value in refused:
        with pytest.raises(ConfigurationError, match=f"{name}.plan"):
            Settings.tuned(**{name: {"plan": value}})


@pytest.mark.parametrize("name", sorted(FORMER.keys() - Settings.model_fields.keys()))
def test_a_former_setting_is_refused_wherever_it_is_given(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    says = re.escape(FORMER[name])
    with pytest.raises(ConfigurationError, match=f"{name}: {says}"):
        Settings(**{name: 1})
    Path("cogitate.toml").write_text(f"{name} = 1\n")
    with pytest.raises(ConfigurationError, match=f"{name}: {says}"):
        Settings()
    Path("cogitate.toml").unlink()
    monkeypatch.setenv(f"COGITATE_{name.upper()}", "1")
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


def test_a_stored_run_keeps_the_values_that_cogitate_decided_for_it() -> None:
    raw = keep_settings(Settings.tuned(retry_share=0.3, passes=3, lease=1.0))
    resumed = kept_settings(raw, Settings()).tuning
    assert (resumed.retry_share, resumed.passes, resumed.lease) == (0.3, 3, 15.0)


def test_guarantees_may_be_all_of_a_limit() -> None:
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


def test_a_template_folder_is_found_from_everywhere() -> None:
    assert Settings(prompts=Path("mine")).prompts == Path.cwd() / "mine"


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
