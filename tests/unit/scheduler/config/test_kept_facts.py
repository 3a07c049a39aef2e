"""The versions of a run's facts that its ledger keeps: those that a job may still need."""

from __future__ import annotations

from collections.abc import Callable

from fakeredis import FakeRedis

from cogitate import Profile, TickLoop
from cogitate.memory import typed_json
from cogitate.memory.clock import Clock
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.profile import Location
from cogitate.scheduler.config.endpoints import KindOfModelSettings, Model, ModelSettings
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.kind import WorldFacts


def test_versions_of_the_facts_that_no_open_job_was_made_with_are_removed(
    cogitate_loop: Callable[..., TickLoop],
) -> None:
    client, joined = FakeRedis(), 30
    loop = cogitate_loop(owners={"agent:0": Profile(name="Zero")}, ticks=40, client=client)
    for tick in loop:
        if tick.number <= joined:
            loop.join(f"agent:{tick.number}", Profile(name=f"Agent {tick.number}"))
        kept = {int(version) for version in client.hkeys(RunStore.open(client, "test").key("facts"))}
        assert {item.job.facts for item in loop.state.open.values()} <= kept | {loop.state.facts_version}
    assert kept == set(loop.state.facts_at)
    assert len(kept) < joined / 2


SMALL, LARGE, HUGE = (Model(name=name, model=name) for name in ("small", "large", "huge"))


def test_kinds_of_job_see_the_constants_that_the_ledger_keeps() -> None:
    facts = Facts(
        locations=(Location(id="inn", name="Inn"),),
        limits=MemoryLimits(max_plans=3),
        minutes_per_tick=5,
        start_minute=600,
        morning=301,
        spread=7,
        act_interval=17,
        names={"agent:a": "Ann"},
        scope_names={"npc:b": "Bob"},
        retrieval="spec",
        models=(SMALL,),
    )
    assert facts.world() == WorldFacts(
        locations=facts.locations,
        limits=facts.limits,
        clock=Clock(seconds_per_tick=300, start=600),
        morning=301,
        spread=7,
        act_interval=17,
        names={"agent:a": "Ann"},
        scope_names={"npc:b": "Bob"},
        retrieval="spec",
    )
    assert Facts().world() == WorldFacts()
    assert [facts.minute(tick) for tick in (0, 1, 10)] == [600, 605, 650]
    assert [Facts().profile, facts.profile] == ["default", "spec"]


def test_a_model_is_found_by_its_name_and_so_are_those_below_it() -> None:
    facts = Facts(models=(LARGE, SMALL), ladders={"": ("huge", "large", "small"), "act": ("small",), "plan": ()})
    assert [facts.model("act", name) for name in ("small", "large", "huge", "")] == [SMALL, LARGE, None, None]
    assert facts.below("reflect", "huge") == (LARGE, SMALL)
    assert facts.below("reflect", "large") == (SMALL,)
    assert facts.below("reflect", "small") == facts.below("act", "small") == facts.below("plan", "large") == ()
    assert facts.below("act", "large") == (), "it is no step of that kind's ladder"
    assert Facts(models=(SMALL,)).below("act", "small") == ()


def test_a_kind_has_custom_parameters_for_a_model() -> None:
    kinds = {"act": KindOfModelSettings(parameters={"reasoning_effort": "high"}), "plan": KindOfModelSettings()}
    settings = ModelSettings(model="m", parameters={"reasoning_effort": "low", "top_p": 0.9}, kinds=kinds)
    models = settings.kept_as("large"), settings.kept_as("small")
    facts = Facts(models=models, ladders={"": ("large", "small")})
    effort = {"act": "high", "plan": "low", "reflect": "low"}
    for kind in effort:
        (below,) = facts.below(kind, "large")
        for model in (facts.model(kind, "large"), below):
            assert model is not None
            assert typed_json.decode(model.parameters) == {"reasoning_effort": effort[kind], "top_p": 0.9}
