"""Shared turns: where a model's calls are packed, owners may request a kind that gathers at the same ticks only."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.steering.cadence import Cadence
from cogitate.tasks.job import ticks_of
from cogitate.tasks.registry import kinds
from cogitate.tasks.timing import is_turn
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker

TURN = 6


def at(tick: int, owner: str) -> Any:
    return type("Moment", (), {"owner": owner, "tick": tick})()


def asked(cadence: Cadence, ticks: range) -> dict[int, list[tuple[str, str]]]:
    """Return the requests of each tick that has any, where both owners are here."""
    found = {}
    for tick in ticks:
        requests = cadence.due(tick, lambda owner, tick=tick: at(tick, owner), lambda *pair: False, (ANN, BOB))  # type: ignore[misc]
        if requests:
            found[tick] = [(request.kind, request.owner) for request in requests]
    return found


def gathering() -> Cadence:
    """Return a cadence of a kind that gathers and one that does not; either is due whenever it is asked."""
    kinds = [Thinker("think", 10, when=lambda moment: True), Thinker("muse", 20, when=lambda moment: True)]
    return Cadence(kinds, lambda kind: TURN if kind == "think" else 1)


def test_a_kind_that_gathers_is_asked_about_everybody_at_shared_turns_alone() -> None:
    cadence = gathering()
    cadence.touch(ANN)
    both = [("think", ANN), ("think", BOB)]
    assert asked(cadence, range(1, 2 * TURN + 1)) == {1: [("muse", ANN)], TURN: both, 2 * TURN: both}


def test_a_resumed_host_has_the_same_shared_turns() -> None:
    resumed = gathering()
    resumed.rewake([at(TURN + 1, ANN), at(TURN + 1, BOB)], lambda *pair: False)
    whole = asked(gathering(), range(1, 3 * TURN + 1))
    assert asked(resumed, range(TURN + 2, 3 * TURN + 1)) == {t: made for t, made in whole.items() if t > TURN + 1}


@pytest.mark.parametrize("shared", [1, 4, TURN])
def test_each_turn_of_an_owner_is_taken_at_one_shared_turn(shared: int) -> None:
    every = 10  # not a multiple of the shared turn
    for owner in (ANN, BOB):
        own = [tick for tick in range(1, 200) if is_turn(at(tick, owner), every)]
        taken = [tick for tick in range(shared, 210, shared) if is_turn(at(tick, owner), every, shared)]
        assert [-(-tick // shared) * shared for tick in own] == taken[: len(own)]


def settings(pack: Any, **more: Any) -> Settings:
    return Settings.tuned(llm="openai", api_key="any", models={"default": ModelSettings(model="m", pack=pack)}, **more)


def test_only_packed_calls_have_shared_turns() -> None:
    assert settings("off").shared_turn("reflect") == 1
    assert settings("auto").shared_turn("reflect") == 60
    assert settings("auto", seconds_per_tick=600).shared_turn("reflect") == 6
    assert settings("auto", pack_wait=0).shared_turn("reflect") == 1
    assert settings("auto").changed(llm="heuristic").shared_turn("reflect") == 1


def test_actions_share_turns_within_half_of_their_interval() -> None:
    assert settings("auto", act_interval=120).shared_turn("act") == 60
    assert settings("auto", act_interval=50).shared_turn("act") == 25
    assert settings("auto", act_interval=1).shared_turn("act") == 1


def test_the_default_limit_of_actions_admits_as_many_a_tick_as_the_turns_between_would_have() -> None:
    single, packed = (settings(pack).limit_table().of("tick", "kind:act", "calls") for pack in ("off", "auto"))
    assert single is not None
    assert packed == 60 * single


def test_a_shared_turn_leaves_every_gathered_result_some_value() -> None:
    clock, wait = settings("auto").game_clock(), settings("auto").tuning.pack_wait
    gathered = [kind for kind in kinds() if kind.gathers and kind.name != "act"]  # acts have their own turns
    assert {"rate", "reflect", "summarise"} == {kind.name for kind in gathered}
    for kind in gathered:
        assert wait + ticks_of(kind.latency, tick_rate=None, clock=clock) <= kind.latency_most


def test_no_owner_is_checked_between_shared_turns() -> None:
    class Unseen(tuple[str, ...]):
        def __iter__(self) -> Any:
            raise AssertionError("an idle tick takes as long as there are owners")

    cadence, moment = gathering(), lambda owner: at(1, owner)
    assert cadence.due(1, moment, lambda *pair: False, Unseen((ANN, BOB))) == []
    with pytest.raises(AssertionError):
        cadence.due(TURN, moment, lambda *pair: False, Unseen((ANN, BOB)))
