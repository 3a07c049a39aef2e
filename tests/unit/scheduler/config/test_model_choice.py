"""Endpoints, models and tiers as they are configured: what they come to, what is refused, what is never shown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from cogitate.ops.commands.config import mask_secrets
from cogitate.ops.error_messages import error_message
from cogitate.scheduler.config.facts import KEPT, facts_of, keep_settings, kept_settings
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.workers.processes.supervisor import worker_environment

KEY = "sk-planted-77"
TWO: dict[str, Any] = {
    "llm": "openai",
    "redis_url": "redis://localhost:1/0",
    "endpoints": {"local": {"base_url": "http://user:word-88@localhost:8000/v1", "api_key": KEY, "concurrency": 3}},
    "models": {
        "small": {"endpoint": "local", "model": "qwen", "input_price": 10, "output_price": 20},
        "large": {"model": "gpt", "input_price": 200, "cached_input_price": 50, "output_price": 900, "context": 8_000},
    },
    "tiers": {"routine": "small", "strong": "large"},
    "kind_tiers": {"act": {"strong": "small"}},
}


def test_the_short_settings_are_the_default_endpoint_and_model() -> None:
    settings = Settings(base_url="http://localhost:1/v1", model="m", input_price=3, output_price=4)
    assert settings.endpoint_table()["default"].base_url == "http://localhost:1/v1"
    default = settings.model_table()["default"]
    assert (default.model, default.endpoint) == ("m", "default")
    assert (default.input_price, default.cached_input_price, default.output_price) == (3, 3, 4)
    assert settings.tier_models("plan") == {"routine": "default", "strong": "default"}


def test_a_table_called_default_goes_before_the_short_settings_field_by_field() -> None:
    short: dict[str, Any] = {
        "base_url": "http://localhost:1/v1",
        "api_key": KEY,
        "model": "m",
        "input_price": 3,
        "output_price": 4,
    }
    alone = Settings.tuned(**short)
    settings = Settings.tuned(**short, endpoints={"default": {"concurrency": 2}}, models={"default": {"seed": 5}})
    assert settings.endpoint_table()["default"] == alone.endpoint_table()["default"].model_copy(
        update={"concurrency": 2}
    )
    assert settings.model_table()["default"] == msgspec.structs.replace(alone.model_table()["default"], seed=5)
    other = Settings.tuned(
        **short, endpoints={"default": {"api_key_variable": "OTHER"}}, models={"default": {"model": "n"}}
    )
    assert other.endpoint_table()["default"].api_key is None, "the key is the one that its table names"
    assert (other.model_table()["default"].model, other.model_table()["default"].input_price) == ("n", 3)
    with pytest.raises(ConfigurationError, match=r"models\.small names no model"):
        Settings(models={"small": {"seed": 5}})


def test_a_table_called_default_goes_before_the_short_settings() -> None:
    settings = Settings(endpoints={"default": {"concurrency": 2}}, models={"default": {"model": "other"}})
    assert settings.endpoint_table()["default"].concurrency == 2
    assert settings.model_table()["default"].model == "other"


def test_a_model_may_have_parameters_other_than_ours() -> None:
    chosen: dict[str, Any] = {"reasoning_effort": "low", "extra": {"top_k": 3}}
    settings = Settings(models={"default": {"model": "m", "parameters": chosen}})
    assert json.loads(settings.model_table()["default"].parameters) == chosen
    assert Settings(models={"default": {"model": "m"}}).model_table()["default"].parameters == ""
    for name in ("messages", "max_tokens", "response_format", "model", "stream"):
        with pytest.raises(ConfigurationError, match=name):
            Settings(models={"default": {"model": "m", "parameters": {name: 1}}})
    with pytest.raises(ConfigurationError, match="4,000"):
        Settings(models={"default": {"model": "m", "parameters": {"x": "y" * 4_000}}})


def test_a_kind_has_its_own_tiers_where_they_differ() -> None:
    settings = Settings.tuned(**TWO)
    assert settings.tier_models("plan") == {"routine": "small", "strong": "large"}
    assert settings.tier_models("act") == {"routine": "small", "strong": "small"}
    assert Settings(models=TWO["models"] | {"small": {"model": "q"}}, tiers={"routine": "small"}).tier_models(
        "plan"
    ) == {
        "routine": "small",
        "strong": "small",
    }


def test_a_run_has_the_models_of_its_tiers_and_no_others() -> None:
    assert [model.name for model in facts_of(Settings.tuned(**TWO), (), 0).models] == ["large", "small"]
    assert facts_of(Settings.tuned(**TWO | {"llm": "heuristic"}), (), 0).models == ()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"models": {"m": {"model": "x", "endpoint": "nowhere"}}},
            "'nowhere', which is not configured; there are default",
        ),
        ({"tiers": {"strong": "huge"}}, "the strong tier names the model 'huge'"),
        ({"kind_tiers": {"plan": {"routine": "tiny"}}}, "the routine tier names the model 'tiny'"),
        ({"tiers": {"middle": "default"}}, "'routine' or 'strong'"),
        ({"endpoints": {"Big One": {}}}, "'Big One' is not a name of an endpoint or a model"),
        ({"models": {"m": {"model": " "}}}, "is not a model's name"),
        ({"endpoints": {"e": {"concurrency": 0}}}, "greater than or equal to 1"),
        ({"models": {"m": {"model": "x", "price": 1}}}, "models.m.price"),
    ],
)
def test_contradictory_settings_are_refused_at_the_start(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Settings.tuned(**wrong)
    message = error_message(raised.value)
    assert message is not None
    assert said in message.line
    assert message.exit_code == 2


def test_a_run_keeps_its_models_and_tiers_and_no_endpoint() -> None:
    raw = keep_settings(Settings.tuned(**TWO))
    assert KEY not in raw
    assert "word-88" not in raw
    kept = kept_settings(raw, Settings(model="another"))
    assert kept.model_table() == Settings.tuned(**TWO).model_table()
    assert kept.tier_models("plan") == {"routine": "small", "strong": "large"}
    assert kept.endpoints == {}
    older = {name: value for name, value in json.loads(raw).items() if name not in ("models", "tiers", "kind_tiers")}
    assert [*kept_settings(json.dumps(older), Settings()).model_table()] == ["default"]
    assert "endpoints" not in KEPT


def test_workers_receive_keys_that_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.tuned(**TWO)
    environment = worker_environment(settings)
    shown = json.dumps(
        {name: mask_secrets(name, getattr(settings, name)) for name in Settings.model_fields}, default=str
    )
    assert KEY not in shown + repr(settings)
    assert "word-88" not in shown
    for name, value in environment.items():
        if name.startswith("COGITATE_"):
            monkeypatch.setenv(name, value)
    found = Settings()
    assert (found.endpoint_table(), found.model_table()) == (settings.endpoint_table(), settings.model_table())


def test_an_error_about_an_endpoint_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (f'{{"e": {{"api_key": ["{KEY}"]}}}}', f"api_key = {KEY}"):
        monkeypatch.setenv("COGITATE_ENDPOINTS", value)
        with pytest.raises(ValueError) as raised:  # noqa: PT011 - two kinds of error, both are refused
            Settings()
        message = error_message(raised.value)
        assert message is not None
        assert KEY not in message.line
        assert "COGITATE_ENDPOINTS" in message.line
