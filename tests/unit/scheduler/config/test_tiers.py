"""Tiers: which model a request deserves, and how admission goes down the ladder."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cogitate.memory.errors import InputError
from cogitate.scheduler.budget.admission import AdmissionRound, Decided, admit
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules, rules_of
from cogitate.scheduler.budget.settings_checks import check_models
from cogitate.scheduler.config.endpoints import KindOfModelSettings, ModelSettings
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.tiers import ModelOption, Tier, usual_tier
from cogitate.tasks.job import Cost, Request
from cogitate.tasks.kind import Moment
from tests.unit.scheduler.scheduler_case import Thinker, fixed_ticks
from tests.unit.tasks.kind_cases import KLAUS, moment_of, observation, stream_of

KINDS = [Thinker("plan", 10, prompt_cap=3_000, output_cap=1_000), Thinker("muse", 20, on_denied="drop", prompt_cap=900)]
MODELS = {
    "small": {"model": "s", "input_price": 1_000_000, "output_price": 0},
    "large": {"model": "l", "input_price": 10_000_000, "output_price": 0, "context": 3_500},
}
TIERED = Settings(llm="openai", models=MODELS, tiers={"routine": "small", "strong": "large"})


def rules(settings: Settings = TIERED, tier: Tier | None = None) -> Rules:
    rule = usual_tier if tier is None else lambda request, moment: tier
    return rules_of(settings, KINDS, lambda owner: {}, rule)


def moment(owner: str) -> Moment:
    return moment_of(stream_of(observation("It rained.", 600), owner=owner), 610)


def options(rules: Rules, request: Request) -> Sequence[ModelOption]:
    return rules.offers_of(rules.kind_of(request.kind), rules.tier(request, moment))


def decided(limits: dict[str, int], *kinds: str, rules: Rules) -> list[Decided]:
    return admit(
        [Request(kind=kind, owner=KLAUS) for kind in kinds],
        AdmissionRound(
            tick=7,
            minute=7,
            view=BudgetView(LimitTable(limits), retry_share=0.0, guarantees={}),
            rules=rules,
            offers_of=lambda request: options(rules, request),
            due=fixed_ticks(),
        ),
        last_served=lambda kind, owner: -1,
    )


@pytest.mark.parametrize(
    ("request_", "importance", "tier"),
    [
        (Request(kind="plan", owner=KLAUS), 3, "strong"),
        (Request(kind="reflect", owner=KLAUS), 3, "routine"),
        (Request(kind="reflect", owner=KLAUS), 8, "strong"),
        (Request(kind="reflect", owner=KLAUS, priority=5), 3, "routine"),
        (Request(kind="reflect", owner=KLAUS, priority=6), 3, "strong"),
        (Request(kind="act", owner=KLAUS), 9, "routine"),
        (Request(kind="summarise", owner=KLAUS, numbers=(1,)), 9, "routine"),  # the decisive one is the second
        (Request(kind="summarise", owner=KLAUS, numbers=(2, 99)), 9, "strong"),
    ],
)
def test_important_jobs_use_the_strong_tier(request_: Request, importance: int, tier: Tier) -> None:
    stream = stream_of(observation("It rained.", 600), observation("The bridge fell.", 601, importance=importance))
    assert usual_tier(request_, moment_of(stream, 700)) == tier


def test_learned_headroom_is_reserved_as_far_as_the_context_has_it() -> None:
    found, plan = rules(), KINDS[0]
    (routine,) = found.offers_of(plan, "routine")
    assert found.with_headroom(plan, routine, 0) == routine
    assert found.with_headroom(plan, routine, 2_000) == ModelOption("small", 3_000, Cost(1, 6_000, 3_000), 2_000)
    strong = found.offers_of(plan, "strong")[0]
    assert found.with_headroom(plan, strong, 2_000).headroom == 3_500 - 1_000 - 1_000
    assert found.with_headroom(plan, strong, 2_000).cost.tokens == 3_500
    heuristic = ModelOption("", 3_000, Cost())
    assert found.with_headroom(plan, heuristic, 0) == heuristic


def test_only_the_newest_memories_are_looked_at() -> None:
    stream = stream_of(
        observation("The bridge fell.", 600, importance=9), *(observation(f"Rain {i}.", 601 + i) for i in range(20))
    )
    assert usual_tier(Request(kind="reflect", owner=KLAUS), moment_of(stream, 700)) == "routine"


def test_each_model_is_offered_at_its_price_and_in_its_context() -> None:
    strong = rules().offers_of(KINDS[0], "strong")
    assert strong == (
        ModelOption("large", 2_500, Cost(calls=1, tokens=3_500, usd_micros=25_000)),
        ModelOption("small", 3_000, Cost(calls=1, tokens=4_000, usd_micros=3_000)),
    )
    assert rules().offers_of(KINDS[0], "routine") == strong[1:]
    without = rules(TIERED.model_copy(update={"llm": "heuristic"}))
    assert without.offers_of(KINDS[0], "strong") == (ModelOption("", 3_000, Cost()),)
    assert (without.model_of(KINDS[0]), rules().model_of(KINDS[0])) == ("", "small")


def test_headroom_for_reasoning_is_reserved_by_model_and_by_kind() -> None:
    thinkers = TIERED.model_copy(
        update={
            "models": {
                "small": TIERED.models["small"].model_copy(update={"headroom": 500}),
                "large": TIERED.models["large"].model_copy(
                    update={"headroom": 100, "kinds": {"plan": KindOfModelSettings(headroom=700)}}
                ),
            }
        }
    )
    offers = rules(thinkers).offers_of(KINDS[0], "strong")
    assert [(o.prompt_cap, o.cost.tokens, o.headroom) for o in offers] == [(1_800, 3_500, 700), (3_000, 4_500, 500)]
    check_models(thinkers, KINDS)
    wrong = thinkers.model_copy(
        update={"models": {**thinkers.models, "small": ModelSettings(model="s", kinds={"nap": KindOfModelSettings()})}}
    )
    with pytest.raises(ConfigurationError, match=r"models\.small\.kinds names the unknown kind 'nap'"):
        check_models(wrong, KINDS)


def test_the_ladder_goes_down_model_by_model_and_then_by_kind() -> None:
    strong = rules(tier="strong")
    for limit, plan, muse in [
        (40_000, ("admitted", "large"), ("admitted", "large")),
        (28_000, ("admitted", "large"), ("admitted", "small")),
        (3_500, ("admitted", "small"), ("dropped", "small")),
        (2_000, ("heuristic", "small"), ("admitted", "small")),
        (0, ("heuristic", "small"), ("dropped", "small")),
    ]:
        found = decided({"run.run.usd_micros": limit}, "plan", "muse", rules=strong)
        assert [(d.line.decision, d.offer.model) for d in found] == [plan, muse], limit
    (least,) = decided({"run.run.usd_micros": 3_500}, "plan", rules=strong)
    assert least.grant is not None
    assert (least.grant.reserved.usd_micros, least.offer.prompt_cap, least.line.refused) == (3_000, 3_000, "")


def test_a_rule_is_evaluated_only_where_it_matters_and_must_name_a_tier() -> None:
    one = rules_of(Settings(llm="openai"), KINDS, lambda owner: {}, lambda request, moment: pytest.fail("not needed"))
    assert [offer.model for offer in options(one, Request(kind="plan", owner=KLAUS))] == ["default"]
    wrong = rules_of(TIERED, KINDS, lambda owner: {}, lambda request, moment: "huge")  # type: ignore[arg-type,return-value]
    with pytest.raises(InputError, match=r"tier_of .*'agent:klaus'.* 'huge'"):
        wrong.tier(Request(kind="plan", owner=KLAUS), moment)


def test_tiers_that_cannot_work_are_refused_at_the_start() -> None:
    check_models(TIERED, [KINDS[1]])
    with pytest.raises(ConfigurationError, match=r"'large' has a context of 1500 tokens, but plan needs 1000"):
        check_models(
            TIERED.model_copy(
                update={"models": Settings(models=MODELS | {"large": {"model": "l", "context": 1_500}}).models}
            ),
            KINDS,
        )
    with pytest.raises(ConfigurationError, match=r"'brood'; known kinds: muse, plan"):
        check_models(Settings(kind_tiers={"brood": {}}), KINDS)
