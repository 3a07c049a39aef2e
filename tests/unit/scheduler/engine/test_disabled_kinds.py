"""Kinds that are switched off: never due, refused when asked for, kept so when a run goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import Observation, Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError, InputError
from cogitate.ops.estimate.demand import DEFAULTS
from cogitate.ops.estimate.estimates import estimate
from cogitate.scheduler.budget.settings_checks import check_limits
from cogitate.scheduler.inspection.audit import audit
from cogitate.tasks.registry import kinds

Loops = Callable[..., TickLoop]

ADA = {"agent:ada": Profile(name="Ada Smith")}
TICKS = 60
HOURLY: dict[str, Any] = {"seconds_per_tick": 1800, "max_observations": 10}


def lived(loops: Loops, settings: Settings, upto: int = TICKS, **more: Any) -> tuple[TickLoop, set[str]]:
    """A day and a quarter with something to remember at each tick, and the kinds of the jobs that ended."""
    with loops(**({"owners": ADA, "settings": settings, "ticks": TICKS} | more)) as loop:
        for tick in loop:
            text = f"A letter came from the harbour, number {tick.number}."
            loop.observe("agent:ada", Observation(text=text, minute=tick.minute, importance=4))
            if tick.number == upto:
                break
    return loop, {kind for kind, _, _ in loop.ended}


def test_a_disabled_kind_is_never_due(cogitate_loop: Loops) -> None:
    _, everything = lived(cogitate_loop, Settings.tuned(**HOURLY))
    assert {"plan", "reflect", "prune"} <= everything
    loop, seen = lived(cogitate_loop, Settings.tuned(**HOURLY, disable=("plan", "prune")))
    assert seen == everything - {"plan", "prune"}
    live = [e for e in loop.state.streams["agent:ada"].live() if e.type in ("observation", "summary")]
    assert len(live) <= 10, "the boundary keeps the limits without prune"
    assert audit(loop.ledger.client, "test") == []


def test_requesting_it_is_refused_with_a_reason(cogitate_loop: Loops) -> None:
    loop = cogitate_loop(owners=ADA, settings=Settings(disable=("plan",)), ticks=3)
    for _ in loop:
        with pytest.raises(InputError, match=r"kind 'plan' is switched off in this run.*`disable`"):
            loop.request("plan", "agent:ada")
        with pytest.raises(InputError, match="there is no kind 'daydream'"):
            loop.request("daydream", "agent:ada")
        loop.request("reflect", "agent:ada")


def test_a_resumed_run_keeps_it(cogitate_loop: Loops) -> None:
    client = FakeRedis()
    off = Settings.tuned(**HOURLY, disable=("plan",))
    straight, _ = lived(cogitate_loop, off)
    lived(cogitate_loop, off, upto=5, client=client)
    resumed, seen = lived(cogitate_loop, Settings.tuned(**HOURLY), client=client, owners={}, exist="resume")
    assert "plan" not in seen
    assert tuple(resumed.settings.disable) == ("plan",)
    assert resumed.digest == straight.digest


def test_it_is_left_out_of_estimates() -> None:
    found = estimate(Settings(disable=("plan",)), kinds(), DEFAULTS, agents=5, days=2)
    assert "plan" not in {one.kind for one in (*found.first, *found.later)}
    usual = estimate(Settings(), kinds(), DEFAULTS, agents=5, days=2)
    assert "plan" in {one.kind for one in usual.first}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"disable": ("breakfast",)}, "disable names the unknown kind 'breakfast'; known kinds: .*plan"),
        ({"disable": ("plam",)}, "did you mean 'plan'"),
        ({"disable": ("summarise",), "policy": "cells"}, "policy 'cells'"),
        ({"disable": ("summarise",), "policies": {"npc": "tokens"}}, "policy 'tokens'"),
    ],
)
def test_a_required_kind_cannot_be_disabled(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_limits(Settings.tuned(**given), kinds())
