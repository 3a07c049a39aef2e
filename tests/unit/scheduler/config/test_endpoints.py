"""Endpoints and models as they are configured: what they may be, and what of a model a run keeps."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from cogitate.scheduler.config.endpoints import (
    Endpoint,
    KindOfModel,
    KindOfModelSettings,
    Model,
    ModelSettings,
    check_name,
)

NAMED = {"model": "qwen3-8b"}
ROOM: list[tuple[type[BaseModel], dict[str, Any], str, tuple[int, ...], tuple[int, ...]]] = [
    (Endpoint, {}, "concurrency", (1, 10**6), (0, -1)),
    (Endpoint, {}, "requests_per_minute", (1, 10**6), (0, -1)),
    (Endpoint, {}, "burst", (0, 10**6), (-1,)),
    (Endpoint, {}, "tokens_per_minute", (1, 10**9), (0, -1)),
    (ModelSettings, NAMED, "input_price", (0, 10**9), (-1,)),
    (ModelSettings, NAMED, "cached_input_price", (0, 10**9), (-1,)),
    (ModelSettings, NAMED, "output_price", (0, 10**9), (-1,)),
    (ModelSettings, NAMED, "context", (256, 10**7), (255, 0)),
    (ModelSettings, NAMED, "seed", (0, 2**31 - 1), (-1, 2**31)),
    (ModelSettings, NAMED, "headroom", (0, 200_000), (-1, 200_001)),
    (KindOfModelSettings, {}, "headroom", (0, 200_000), (-1, 200_001)),
]


@pytest.mark.parametrize(("of", "given", "name", "accepted", "refused"), ROOM, ids=[row[2] for row in ROOM])
def test_each_number_has_bounds(
    of: type[BaseModel], given: dict[str, Any], name: str, accepted: tuple[int, ...], refused: tuple[int, ...]
) -> None:
    for value in accepted:
        assert getattr(of(**given, **{name: value}), name) == value
    for value in refused:
        with pytest.raises(ValidationError, match=name):
            of(**given, **{name: value})


def test_unset_limits_are_not_enforced_and_unset_prices_are_unknown() -> None:
    endpoint, model = Endpoint(), ModelSettings(model="m")
    assert endpoint.model_dump() == {
        "base_url": None,
        "api_key": None,
        "api_key_variable": "OPENAI_API_KEY",
        "concurrency": None,
        "requests_per_minute": None,
        "burst": 0,
        "tokens_per_minute": None,
    }
    assert model.model_dump() == {
        "endpoint": "default",
        "model": "m",
        "input_price": None,
        "cached_input_price": None,
        "output_price": None,
        "context": None,
        "seed": None,
        "parameters": {},
        "headroom": 0,
        "reasons": True,
        "kinds": {},
        "service_tiers": {},
        "pack": "off",
        "batch": "off",
        "service_tier": "standard",
    }


@pytest.mark.parametrize("made", [Endpoint(), ModelSettings(model="m"), KindOfModelSettings()])
def test_an_unknown_field_is_refused_and_the_table_is_frozen(made: BaseModel) -> None:
    with pytest.raises(ValidationError, match="extra"):
        type(made)(**made.model_dump(), burts=1)
    for name in type(made).model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(made, name, None)


@pytest.mark.parametrize("name", ["x", "x" * 200, " gpt "])
def test_a_model_is_called_as_its_endpoint_calls_it(name: str) -> None:
    assert ModelSettings(model=name).model == name


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_an_invalid_model_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="use 1 to 200 characters"):
        ModelSettings(model=name)


def test_parameters_are_bounded_and_exclude_those_that_cogitate_sets() -> None:
    empty = len('{"stop": ""}')
    ModelSettings(model="m", parameters={"stop": "x" * (4_000 - empty)})
    with pytest.raises(ValidationError, match="more than 4,000 characters of parameters"):
        ModelSettings(model="m", parameters={"stop": "x" * (4_001 - empty)})
    for ours in (
        "model",
        "messages",
        "response_format",
        "max_tokens",
        "max_completion_tokens",
        "seed",
        "stream",
        "n",
    ):
        with pytest.raises(ValidationError, match=f"'{ours}' is set by Cogitate itself"):
            ModelSettings(model="m", parameters={"temperature": 1, ours: 1})


def test_a_run_keeps_all_prices_and_options() -> None:
    whole = ModelSettings(
        endpoint="here",
        model="qwen",
        input_price=3,
        cached_input_price=1,
        output_price=4,
        context=999,
        seed=5,
        parameters={"top_p": 0.5, "stop": ["x"]},
    )
    assert whole.kept_as("small") == Model(
        name="small",
        model="qwen",
        endpoint="here",
        input_price=3,
        cached_input_price=1,
        output_price=4,
        context=999,
        seed=5,
        parameters='{"stop": ["x"], "top_p": 0.5}',
    )
    assert ModelSettings(model="m", input_price=3, output_price=0).kept_as("m") == Model(
        name="m", model="m", endpoint="default", input_price=3, cached_input_price=3
    )
    free = ModelSettings(model="m", input_price=3, cached_input_price=0, output_price=4)
    assert free.kept_as("m").cached_input_price == 0
    half = ModelSettings(model="m", input_price=3).kept_as("m")
    assert half == Model(name="m", model="m", priced=False), "an answer's tokens have no price"


def test_a_model_that_chooses_its_service_tier_has_none_among_its_parameters() -> None:
    with pytest.raises(ValidationError, match="'flex', and service_tier is 'auto': set one of them"):
        ModelSettings(model="m", service_tier="auto", parameters={"service_tier": "flex"})


def test_a_service_tier_costs_up_to_ten_times_the_prices() -> None:
    for percent in (0, 1_000):
        assert ModelSettings(model="m", service_tiers={"flex": percent}).service_tiers == {"flex": percent}
    for percent in (-1, 1_001):
        with pytest.raises(ValidationError, match="service_tiers"):
            ModelSettings(model="m", service_tiers={"flex": percent})


def test_a_run_keeps_differences_by_kind_and_the_dearest_tier() -> None:
    kinds: dict[str, Any] = {
        "plan": {"parameters": {"service_tier": "fast", "stop": "."}, "headroom": 0},
        "act": {"headroom": 7},
        "muse": {},
    }
    kept = ModelSettings(
        model="m", headroom=9, kinds=kinds, parameters={"service_tier": "flex"}, service_tiers={"flex": 50, "fast": 170}
    ).kept_as("m")
    flex, fast = '{"service_tier": "flex"}', '{"service_tier": "fast", "stop": "."}'
    assert kept.kinds == {
        "act": KindOfModel(headroom=7, parameters=flex),
        "muse": KindOfModel(headroom=None, parameters=flex),
        "plan": KindOfModel(headroom=0, parameters=fast),
    }
    assert [*kept.kinds] == ["act", "muse", "plan"]
    assert (kept.headroom, kept.percent, [*kept.service_tiers.items()]) == (9, 170, [("fast", 170), ("flex", 50)])


@pytest.mark.parametrize("name", ["a", "7", "gpt-4o.mini_2", "x" * 64])
def test_a_name_may_stand_in_keys_and_messages(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", ".a", "A", "a b", "x" * 65, "ä", "a/b"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name of an endpoint or a model"):
        check_name(name)
