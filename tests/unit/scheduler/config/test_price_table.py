"""Prices of models: which are stated, which the table has and where it holds, and what a limit in money needs."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from importlib import resources
from typing import Any

import pytest

from cogitate.scheduler.budget.settings_checks import check_prices
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.facts import keep_settings, kept_settings
from cogitate.scheduler.config.price_table import _table, listed_price
from cogitate.scheduler.config.settings import ConfigurationError, Settings

STATED: dict[str, Any] = {"input_price": 7, "output_price": 8}


@pytest.fixture(autouse=True)
def no_base_url(nothing_set: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def asks(**settings: Any) -> Settings:
    return Settings.tuned(**{"llm": "openai", "limit_tokens": 1_000} | settings)


def priced(**settings: Any) -> tuple[str, int | None, int | None]:
    (price,) = asks(**settings).prices()
    return price.origin, price.input, price.output


def test_a_price_is_of_the_exact_model_at_its_vendor(
    subtests: pytest.Subtests,
) -> None:
    cases: list[tuple[str, str | None, int | None]] = [
        ("gpt-4o", None, 2_500_000),
        ("gpt-4o-mini", None, 150_000),
        ("gpt-4o-2024-08-06", None, 2_500_000),
        ("gpt-4o-mini-2024-07-18", "https://api.openai.com/v1", 150_000),
        ("gpt-4o-2024-05-13", None, 5_000_000),  # a snapshot that has a price of its own
        ("claude-sonnet-4-5-20250929", "https://api.anthropic.com/v1/", 3_000_000),
        ("gpt-4o", "HTTPS://API.OpenAI.com:443/v1", 2_500_000),
        ("gpt-4", None, None),
        ("gpt-4o-audio", None, None),
        ("gpt-4o-2024", None, None),
        ("ft:gpt-4o-2024-08-06:acme::x", None, None),
        ("claude-sonnet-4-5", None, None),  # at OpenAI
        ("gpt-4o", "http://localhost:4000/v1", 2_500_000),  # a proxy passes prices on
        ("gpt-4o-2024-08-06", "https://openai.example.com/v1", 2_500_000),
        ("claude-sonnet-4-5", "https://api.openai.com.example.com/v1", 3_000_000),
        ("llama3.1", "http://localhost:11434/v1", None),
        ("gpt-4o", "http://[", None),
    ]
    for model, url, found in cases:
        with subtests.test(model=model):
            listed = listed_price(model, url)
            assert (listed.input if listed is not None else None) == found


def test_without_a_base_url_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.anthropic.com/v1")
    assert listed_price("gpt-4o", None) is None
    assert listed_price("gpt-4o", "https://api.openai.com/v1") is not None


def test_every_price_has_a_date_and_no_token_of_a_cache_costs_more_than_another() -> None:
    for models in _table().values():
        for price in models.values():
            assert date.fromisoformat(price.as_of) <= date(2026, 11, 26)
            assert 0 < price.cached_input <= price.input
            assert price.output > 0


def test_a_stated_price_precedes_the_table() -> None:
    assert priced(model="gpt-4o") == ("table", 2_500_000, 10_000_000)
    assert priced(model="gpt-4o", **STATED) == ("stated", 7, 8)
    assert priced(model="gpt-4o", input_price=0, output_price=0) == ("stated", 0, 0)
    assert priced(model="gpt-4o", input_price=7) == ("table", 7, 10_000_000)
    assert priced(model="m", input_price=7) == ("unknown", 7, None)
    assert priced(model="gpt-4o", models={"default": {"seed": 3}}) == ("table", 2_500_000, 10_000_000)
    assert priced(model="m", **STATED, models={"default": {"seed": 3}}) == ("stated", 7, 8)


def test_a_model_has_a_price_only_in_service_tiers_that_are_listed_or_stated() -> None:
    def of(tier: str, model: str = "gpt-4o", **tiers: int) -> str:
        tables = {"default": {"parameters": {"service_tier": tier}, "service_tiers": tiers}}
        return priced(model=model, models=tables)[0]

    assert (of("default"), of("priority"), of("priority", priority=200)) == ("table", "unknown", "table")
    assert (of("flex"), of("flex", "gpt-5"), of("flex", "gpt-5-2025-08-07")) == ("unknown", "table", "table")


@pytest.mark.parametrize(
    ("given", "tiers"),
    [
        ({"model": "gpt-5", "service_tier": "auto"}, {"flex": 50}),
        ({"model": "gpt-4o", "service_tier": "auto"}, {}),
        ({"model": "gpt-5", "service_tier": "auto", "service_tiers": {"flex": 70}}, {"flex": 70}),
        ({"model": "gpt-5", "service_tier": "auto", **STATED}, {}),
        ({"model": "gpt-5"}, {}),
        ({"model": "gpt-5", "parameters": {"service_tier": "flex"}}, {"flex": 50}),
    ],
)
def test_a_model_keeps_the_prices_of_the_service_tiers_that_it_uses(
    given: dict[str, Any], tiers: dict[str, int]
) -> None:
    model = ModelSettings.model_validate(given).kept_as("m")
    assert model.service_tiers == tiers
    assert [model.percent_of(tier) for tier in ("flex", "default")] == [tiers.get("flex", model.percent), 100]


def test_every_service_tier_of_the_table_is_cheaper_and_of_listed_models() -> None:
    text = resources.files("cogitate.scheduler.config").joinpath("model_prices.toml").read_text(encoding="utf-8")
    for vendor in tomllib.loads(text).values():
        for tier in vendor.get("service_tiers", {}).values():
            assert 0 < tier["percent"] < 100
            assert vendor["models"].keys() >= {*tier.get("models", ())}


MONEY: list[dict[str, Any]] = [
    {"limit_usd": 1.0},
    {"real_day_usd": 1.0},
    {"limits": {"run.calls": 9, "day.owner:*.usd_micros": 5}},
]


@pytest.mark.parametrize("limit", MONEY)
def test_a_limit_in_money_needs_the_price_of_each_model_that_may_be_asked(limit: dict[str, Any]) -> None:
    models: dict[str, Any] = {name: {"model": f"{name}-1", "input_price": 1} for name in ("strong", "spare", "idle")}
    unpriced = asks(model="m", models=models, tiers={"strong": "strong"}, failover=["spare"], **limit)
    with pytest.raises(ConfigurationError) as raised:
        check_prices(unpriced)
    said = str(raised.value)
    assert next(iter(limit)).replace("limits", "day.owner:*.usd_micros") in said
    for named in (
        "COGITATE_INPUT_PRICE and COGITATE_OUTPUT_PRICE for 'm'",
        "models.strong.output_price for 'strong-1'",
        "models.spare.output_price for 'spare-1'",
    ):
        assert named in said
    assert "idle" not in said
    check_prices(asks(model="m", **limit, llm="heuristic"))
    check_prices(asks(model="m", **limit, **STATED))
    check_prices(asks(**limit))


@pytest.mark.parametrize("limit", MONEY)
def test_a_limit_in_money_needs_the_price_of_vectors(limit: dict[str, Any]) -> None:
    near = {"endpoint": "default", "model": "near"}
    with pytest.raises(ConfigurationError, match=r"set embeddings\.input_price for 'near'"):
        check_prices(asks(model="m", **limit, **STATED, embeddings=near))
    check_prices(asks(model="m", **limit, **STATED, embeddings=near | {"input_price": 0}))
    check_prices(asks(model="m", **limit, **STATED, embeddings={"endpoint": "in-process", "model": "all-minilm-l6-v2"}))
    check_prices(asks(model="m", **STATED, embeddings=near))


def test_without_a_money_limit_a_model_needs_no_price() -> None:
    check_prices(asks(model="m"))
    assert not asks(model="m").model_table()["default"].priced


@pytest.mark.parametrize("given", [{"model": "gpt-4o"}, {"model": "m"}, {"model": "m", **STATED}])
def test_a_run_keeps_its_prices_when_table_and_addresses_change(given: dict[str, Any]) -> None:
    begun = asks(**given)
    for later in (Settings(), Settings.tuned(model="gpt-4.1", base_url="http://localhost:1/v1", **STATED)):
        kept = kept_settings(keep_settings(begun), later)
        assert kept.prices() == begun.prices()
        assert kept.model_table() == begun.model_table()


def test_a_run_of_an_older_version_keeps_its_prices() -> None:
    raw = json.loads(keep_settings(asks(limit_usd=1.0, model="m")))
    del raw["prices"]
    kept = kept_settings(json.dumps(raw | {"input_price": 150_000, "output_price": 600_000}))
    check_prices(kept)
    assert kept.model_table()["default"].input_price == 150_000
