"""Settings that are possible and probably not meant are told once, at a run's start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.scheduler.config.settings_faults import SettingsRefused


def told(loop: Callable[..., TickLoop], settings: Settings, event: str) -> list[dict[str, object]]:
    with capture_logs() as logs:
        loop(owners={"agent:ada": Profile(name="Ada")}, ticks=1, settings=settings)
    return [dict(entry) for entry in logs if entry["event"] == event]


def asking(folder: Path, **given: object) -> Settings:
    usual = {"llm": "openai", "model": "small", "base_url": "http://127.0.0.1:9/v1", "api_key": "any"}
    return Settings.tuned(data_dir=folder, **{**usual, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(("price", "doubted"), [(1, True), (999, True), (0, False), (1_000, False), (150_000, False)])
def test_prices_probably_meant_in_dollars_are_doubted(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, price: int, doubted: bool
) -> None:
    settings = asking(tmp_path, input_price=price, output_price=2_000_000, limit_tokens=1_000_000)
    found = told(cogitate_loop, settings, "price.too_low")
    assert [one["prices"] for one in found] == ([{"input_price": price}] if doubted else [])


@pytest.mark.parametrize("given", [0.15, "0.15"])
def test_a_price_in_dollars_is_refused_with_the_right_value(tmp_path: Path, given: object) -> None:
    with pytest.raises(
        SettingsRefused, match=r"input_price.*micro-dollars per million tokens: for \$0\.15 write 150000"
    ):
        asking(tmp_path, input_price=given)


@pytest.mark.parametrize(("tokens", "doubted"), [(500, True), (1_000_000, False)])
def test_a_limit_below_one_reservation_is_reported(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, tokens: int, doubted: bool
) -> None:
    found = told(cogitate_loop, asking(tmp_path, limit_tokens=tokens), "limit.too_small")
    assert [one["limit"] for one in found] == (["run.run.tokens"] if doubted else [])
    assert all("plan" in one["kinds"] and "by one" in str(one["reserved"]) for one in found)  # type: ignore[operator]


@pytest.mark.parametrize("owner", ["group:guild", "location:mill"])
def test_an_observation_that_no_agent_remembers_is_reported_once(
    cogitate_loop: Callable[..., TickLoop], owner: str
) -> None:
    owners = {"agent:ada": Profile(name="Ada", group="group:guild"), owner: Profile(name="Both")}
    loop = cogitate_loop(owners=owners, ticks=3)
    with capture_logs() as logs:
        for tick in loop:
            loop.observe("agent:ada", {"text": f"The mill burns, round {tick.number}."})
            loop.event(owner, {"kind": "final_results", "text": "The mill won."})
            before = len([one for one in logs if one["event"] == "observation.for_one_owner"])
            assert before == (tick.number == 3), "a part of an event is meant for it"
            if tick.number == 2:
                loop.observe(owner, {"text": "The mill burns."})
                loop.observe(owner, {"text": "The mill burns down."})
    found = [one for one in logs if one["event"] == "observation.for_one_owner"]
    assert [one["owner"] for one in found] == [owner]


def test_a_run_without_any_owner_is_reported_once(cogitate_loop: Callable[..., TickLoop]) -> None:
    with capture_logs() as logs:
        for _ in cogitate_loop(owners={}, ticks=3):
            pass
    assert [one["event"] for one in logs if one["event"] != "run.left"] == ["run.no_owners"]


def test_owners_that_join_in_the_first_tick_are_enough(cogitate_loop: Callable[..., TickLoop]) -> None:
    loop = cogitate_loop(owners={}, ticks=3)
    with capture_logs() as logs:
        for tick in loop:
            if tick.number == 1:
                loop.join("agent:ada", Profile(name="Ada"))
            if tick.number == 2:
                loop.leave("agent:ada")
    assert [one["event"] for one in logs if one["event"] != "run.left"] == []
