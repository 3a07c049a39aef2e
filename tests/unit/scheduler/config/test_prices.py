"""Prices: what a tier costs, what one attempt may cost at most, and how long an answer may be for that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cogitate.scheduler.config.endpoints import (
    KindOfModelSettings,
    Model,
    ModelSettings,
    call_cost,
    room_for_answer,
    upper_bound,
)
from cogitate.tasks.job import Cost

PRICED = {"model": "m", "input_price": 1_000_000, "output_price": 4_000_000}


@pytest.mark.parametrize(
    ("parameters", "of_kind", "percent"),
    [
        ({}, {}, 100),
        ({"service_tier": "flex"}, {}, 50),
        ({"service_tier": "flex"}, {"service_tier": "priority"}, 200),
        ({"service_tier": "flex"}, {"temperature": 0.1}, 50),
        ({}, {"service_tier": "flex"}, 100),
        ({"service_tier": "unheard"}, {}, 100),
        ({"service_tier": 7}, {}, 100),
    ],
)
def test_a_request_is_reserved_at_the_price_of_the_dearest_tier_that_it_may_ask_for(
    parameters: dict[str, object], of_kind: dict[str, object], percent: int
) -> None:
    kinds = {"plan": KindOfModelSettings.model_validate({"parameters": of_kind})} if of_kind else {}
    tiers = {"flex": 50, "priority": 200}
    settings = ModelSettings.model_validate(
        {**PRICED, "parameters": parameters, "kinds": kinds, "service_tiers": tiers}
    )
    model = settings.kept_as("m")
    assert upper_bound(model, 1_000, 100).usd_micros == 1_400 * percent // 100


@pytest.mark.parametrize(("flex", "percent"), [(50, 100), (0, 100), (120, 120)])
def test_a_request_that_may_fall_back_is_reserved_at_the_dearer_of_both_tiers(flex: int, percent: int) -> None:
    model = ModelSettings.model_validate({**PRICED, "service_tier": "auto", "service_tiers": {"flex": flex}})
    assert upper_bound(model.kept_as("m"), 1_000, 100).usd_micros == 1_400 * percent // 100


def test_parameters_of_a_kind_that_cogitate_sets_itself_are_refused() -> None:
    with pytest.raises(ValidationError, match="'seed' is set by Cogitate itself"):
        KindOfModelSettings.model_validate({"parameters": {"seed": 3}})


MODELS = st.builds(
    Model,
    name=st.just("m"),
    model=st.just("m"),
    input_price=st.integers(0, 20_000_000),
    cached_input_price=st.integers(0, 20_000_000),
    output_price=st.integers(0, 80_000_000),
    percent=st.sampled_from([50, 100, 170]),
    context=st.sampled_from([0, 2_000, 100_000]),
)


@given(model=MODELS, prompt_cap=st.integers(1, 5_000), output_cap=st.integers(1, 5_000), share=st.floats(0, 1))
def test_an_answer_as_long_as_there_is_room_for_costs_no_more_than_was_reserved(
    model: Model, prompt_cap: int, output_cap: int, share: float
) -> None:
    reserved, prompt = upper_bound(model, prompt_cap, output_cap), int(share * prompt_cap)
    room = room_for_answer(model, reserved, prompt)
    cached = prompt if model.cached_input_price > model.input_price else 0
    cost = call_cost(model, prompt, room, cached, percent=model.percent)
    assert cost.tokens <= reserved.tokens
    assert cost.usd_micros <= reserved.usd_micros
    if model.context:
        assert room <= max(0, model.context - prompt)
    else:
        assert room >= output_cap, "a shorter prompt never leaves less"


MILLION = 1_000_000


def priced_at(prompt: int = 0, cached: int = 0, output: int = 0) -> Model:
    return Model(name="m", model="m", input_price=prompt, cached_input_price=cached, output_price=output)


def test_tokens_are_charged_by_the_million_and_rounded_up(subtests: pytest.Subtests) -> None:
    cases: list[tuple[tuple[int, int, int], int]] = [
        ((MILLION, 0, 0), 3),
        ((0, MILLION, 0), 5),
        ((MILLION, MILLION, 0), 8),
        ((MILLION, 0, MILLION), 1),
        ((MILLION, 0, MILLION // 2), 2),
        ((0, 0, 0), 0),
        ((1, 0, 0), 1),
        ((MILLION + 1, 0, 0), 4),
        ((MILLION // 3, 0, 0), 1),
        ((MILLION // 3 + 1, 0, 0), 2),
    ]
    for tokens, price in cases:
        with subtests.test(tokens=tokens):
            prices = priced_at(prompt=3, cached=1, output=5)
            assert call_cost(prices, *tokens) == Cost(calls=1, tokens=tokens[0] + tokens[1], usd_micros=price)
            assert call_cost(prices, *tokens, calls=3).calls == 3
            if not tokens[2]:
                known = call_cost(prices, tokens[0], tokens[1])
                assert known.usd_micros == price, "nothing is cached unless a provider says so"


@given(st.tuples(*[st.integers(0, 10**7)] * 3), st.integers(0, 5_000), st.integers(1, 5_000), st.data())
def test_no_call_within_its_caps_costs_more_than_was_reserved(
    prices: tuple[int, int, int], prompt_cap: int, output_cap: int, data: st.DataObject
) -> None:
    priced = priced_at(*prices)
    prompt, output = data.draw(st.integers(0, prompt_cap)), data.draw(st.integers(0, output_cap))
    cached = data.draw(st.integers(0, prompt))
    most, used = upper_bound(priced, prompt_cap, output_cap), call_cost(priced, prompt, output, cached)
    assert (used.calls, used.tokens <= most.tokens, used.usd_micros <= most.usd_micros) == (most.calls, True, True)


def test_an_upper_bound_is_that_of_the_dearer_input() -> None:
    assert upper_bound(priced_at(prompt=2 * MILLION, cached=MILLION), 10, 5) == Cost(1, 15, 20)
    assert upper_bound(priced_at(prompt=MILLION, cached=2 * MILLION), 10, 5) == Cost(1, 15, 20)
    assert upper_bound(priced_at(prompt=MILLION, cached=MILLION, output=MILLION), 10, 5) == Cost(1, 15, 15)


def test_a_kind_without_a_model_reserves_nothing() -> None:
    assert upper_bound(priced_at(prompt=MILLION), 10, 0) == Cost()
    assert upper_bound(priced_at(prompt=MILLION), 10, 1) == Cost(1, 11, 10)


@pytest.mark.parametrize(("percent", "price"), [(100, 8), (50, 4), (55, 5), (0, 0), (170, 14)])
def test_a_service_tier_costs_so_many_per_cent_of_the_prices(percent: int, price: int) -> None:
    prices = priced_at(prompt=3, cached=1, output=5)
    assert call_cost(prices, MILLION, MILLION, percent=percent).usd_micros == price


@pytest.mark.parametrize(
    ("tokens", "usd_micros", "context", "prompt", "room"),
    [
        (100, 1_000, 0, 40, 60),
        (100, 1_000, 90, 40, 50),
        (100, 1_000, 900, 40, 60),
        (100, 60, 0, 40, 20),
        (100, 40, 0, 40, 0),
        (100, 39, 0, 40, 0),
        (100, 1_000, 30, 40, 0),
        (40, 1_000, 0, 40, 0),
        (39, 1_000, 0, 40, 0),
    ],
)
def test_an_answer_has_the_room_that_tokens_money_and_context_leave(
    tokens: int, usd_micros: int, context: int, prompt: int, room: int
) -> None:
    priced = Model(name="m", model="m", input_price=MILLION, output_price=MILLION, context=context)
    assert room_for_answer(priced, Cost(1, tokens, usd_micros), prompt) == room
    free = Model(name="m", model="m", context=context)
    assert room_for_answer(free, Cost(1, tokens, 0), prompt) == max(0, min(tokens, context or tokens) - prompt)
    dear = Model(name="m", model="m", cached_input_price=2 * MILLION, input_price=MILLION, output_price=MILLION)
    assert room_for_answer(dear, Cost(1, 200, 100), 40) == 20, "all of it may be cached"
    half = Model(name="m", model="m", input_price=MILLION, output_price=MILLION, percent=50)
    assert room_for_answer(half, Cost(1, 200, 40), 40) == 40
