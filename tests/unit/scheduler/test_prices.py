"""Prices: what a tier costs, what one attempt may cost at most, and how long an answer may be for that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scheduler.config.endpoints import KindOfModelSettings, Model, ModelSettings
from scheduler.config.prices import call_cost, room_for_answer, upper_bound

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
