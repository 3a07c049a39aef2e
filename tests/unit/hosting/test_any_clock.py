"""Worlds with other clocks: a council in rounds, a market in months, a game in steps of ten seconds, short days."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import Location, Observation, Profile, Tick, TickLoop, daily, kind
from cogitate.effects import Tell
from cogitate.memory.entry import Entry
from cogitate.ops.fake_llm.answers import AnswerWriter
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import ConfigurationError, PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay

Loops = Callable[..., TickLoop]
ANN, BEN = "agent:ann", "agent:ben"
TWO = {
    ANN: Profile(name="Ann Lee", occupation="miller", currently="Ann wants the bridge mended.", home="mill"),
    BEN: Profile(name="Ben Cole", occupation="carter"),
}
HALL = (Location(id="hall", name="Town hall"), Location(id="mill", name="Mill"))
MONTH = 30 * 86_400


def settings(tmp_path: Path, **given: Any) -> PinnedSettings:
    return PinnedSettings.tuned(data_dir=tmp_path, **given)


def lived(loop: TickLoop, body: Callable[[TickLoop, Tick], None]) -> list[tuple[int, str, Entry]]:
    """Return each entry that took effect, with its tick and owner."""
    found = []
    for tick in loop:
        found += [(tick.number, change.owner, change.entry) for change in tick.applied if change.entry is not None]
        body(loop, tick)
    return found


def debate(loop: TickLoop, tick: Tick) -> None:
    said = "Ben Cole: I bring forty planks for the bridge tomorrow."
    loop.observe(ANN, Observation(text=said, type="message", source="dialogue", subjects=(BEN, ANN), importance=6))
    loop.observe(ANN, Observation(text=f"The council gave the bridge {tick.number} votes.", importance=7))
    if tick.number in (4, 8):
        for kind in ("plan", "reflect"):
            loop.request(kind, ANN)


def test_a_council_of_ten_rounds_thinks_in_rounds(cogitate_loop: Loops, tmp_path: Path) -> None:
    client, chosen = FakeRedis(), settings(tmp_path, clock="10 rounds")
    loop = cogitate_loop(owners=TWO, ticks=10, settings=chosen, locations=HALL, client=client)
    made = lived(loop, debate)
    assert [(tick, entry.type) for tick, owner, entry in made if owner == ANN] == [
        (tick, kind) for tick in (5, 9) for kind in ("plan", "reflection")
    ], "on request only, and in the next round"
    plan = next(entry for _, _, entry in made if entry.type == "plan")
    assert plan.text.startswith("Plan for round 4 of 10: ")
    assert {item.minute for item in plan.items} == {None}
    seen = loop.memory(ANN)
    assert "- round 10 of 10: The council gave the bridge 10 votes." in seen.context("")
    kept = seen.plan()
    assert kept is not None
    assert (kept.now, kept.next) == (kept.items[0], kept.items[1] if kept.items[1:] else None)
    told = " ".join(entry.text for _, _, entry in made)
    assert not [word for word in ("day 1", "AM", "breakfast") if word in told]
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == loop.digest


def test_a_model_is_asked_in_rounds_and_answers_with_steps(
    cogitate_loop: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    written = AnswerWriter.write

    def noted(writer: AnswerWriter, schema: Any) -> Any:
        asked.append(writer._prompt)
        return written(writer, schema)

    monkeypatch.setattr(AnswerWriter, "write", noted)
    with FakeEndpoint() as endpoint:
        model: dict[str, Any] = {"llm": "openai", "limit_tokens": 1_000_000, "base_url": endpoint.url, "api_key": "any"}
        chosen = settings(tmp_path, clock="10 rounds", rate_share=0, **model)
        loop = cogitate_loop(owners=TWO, ticks=10, settings=chosen, locations=HALL)
        made = lived(loop, debate)
    assert {(tick, entry.type, entry.provisional) for tick, _, entry in made} == {
        (tick, kind, False) for tick in (5, 9) for kind in ("plan", "reflection")
    }
    assert len(asked) == 4
    assert all(f"It is round {4 if n < 2 else 8} of 10." in prompt for n, prompt in enumerate(asked))
    assert not any("day 1" in prompt or " AM" in prompt for prompt in asked)


def test_agents_reflect_every_third_round_from_the_first(cogitate_loop: Loops, tmp_path: Path) -> None:
    chosen = settings(tmp_path, clock="10 rounds", reflection_interval=3)
    made = lived(
        cogitate_loop(owners=TWO, ticks=10, settings=chosen),
        lambda loop, tick: loop.observe(ANN, {"text": f"Motion {tick.number} was carried.", "importance": 3}),
    )
    assert [tick for tick, _, _ in made] == [5, 8]


def test_a_round_may_last_several_ticks(cogitate_loop: Loops, tmp_path: Path) -> None:
    loop = cogitate_loop(owners=TWO, ticks=4, settings=settings(tmp_path, clock="2 rounds of 2 ticks"))
    lived(loop, lambda loop, tick: loop.observe(ANN, {"text": f"Vote {tick.number}."}))
    assert [line for line in loop.memory(ANN).context("").splitlines() if "Vote" in line] == [
        f"- round {number} of 2: Vote {tick}." for tick, number in enumerate((1, 1, 2, 2), 1)
    ]


def test_a_kind_at_a_time_of_day_is_refused_in_rounds(cogitate_loop: Loops, tmp_path: Path) -> None:
    @kind(name="nightly", due=daily("02:00"))
    class Nightly:
        def instead(self, case: Any, memories: list[Any]) -> str:
            return "Slept."

    with pytest.raises(ConfigurationError, match=r"daily\('02:00'\).*has no days.*every\(\"3 ticks\"\)"):
        cogitate_loop(owners=TWO, settings=settings(tmp_path, clock="rounds"))
    cogitate_loop(owners=TWO, settings=settings(tmp_path, clock="rounds", disable=("nightly",)))
    monthly = settings(tmp_path, clock="months", seconds_per_tick=MONTH, disable=("reflect",))
    loop = cogitate_loop(owners={BEN: TWO[BEN]}, ticks=4, settings=monthly)
    made = lived(loop, lambda loop, tick: loop.observe(BEN, {"text": f"Month {tick.number}."}))
    assert [tick for tick, _, _ in made] == [2, 3, 4], "at each month, and due at the next"


def test_agents_of_rounds_do_not_sleep_at_night(cogitate_loop: Loops, tmp_path: Path) -> None:
    chosen = settings(tmp_path, clock="rounds", act_interval=1)
    loop = cogitate_loop(owners=TWO, ticks=4, settings=chosen, brief=lambda owner: {"free": True, "location": "hall"})
    deeds = [change.effect.data["type"] for tick in loop for change in tick.applied if change.kind == "act"]  # type: ignore[union-attr]
    assert deeds
    assert "sleep" not in deeds


def test_a_market_in_months_reflects_each_month_and_plans_no_days(cogitate_loop: Loops, tmp_path: Path) -> None:
    def trade(loop: TickLoop, tick: Tick) -> None:
        loop.observe(ANN, Observation(text=f"Ben Cole sold {tick.number} sacks of rye.", importance=8, subjects=(BEN,)))

    client, chosen = FakeRedis(), settings(tmp_path, clock="months", seconds_per_tick=MONTH, max_observations=10)
    loop = cogitate_loop(owners=TWO, ticks=24, settings=chosen, client=client)
    made = lived(loop, trade)
    assert {entry.type for _, _, entry in made} == {"reflection"}
    assert len(made) > 10
    assert "- year 2, month 12: Ben Cole sold 24 sacks of rye." in loop.memory(ANN).context("")
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == loop.digest


def test_a_game_of_ten_second_steps_plans_at_its_morning(cogitate_loop: Loops, tmp_path: Path) -> None:
    def fight(loop: TickLoop, tick: Tick) -> None:
        if tick.number == 5:
            loop.observe(ANN, Observation(text="A goblin crossed the bridge.", importance=6))

    client, chosen = FakeRedis(), settings(tmp_path, clock="24h", seconds_per_tick=10)
    loop = cogitate_loop(owners=TWO, ticks=60, settings=chosen, start_minute=355, locations=HALL, client=client)
    made = lived(loop, fight)
    assert [(tick, owner, entry.type) for tick, owner, entry in made] == [(60, owner, "plan") for owner in (ANN, BEN)]
    assert made[0][2].minute == 360, "asked at 06:00:00, thirty ticks after 05:55, and applied five minutes later"
    assert "- day 1, 05:55:50: A goblin crossed the bridge." in loop.memory(ANN).context("")
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == loop.digest


@pytest.mark.parametrize(
    ("seconds_per_tick", "day_seconds", "planned"),
    [
        (1, 1_200, [305, 1_505]),  # after a quarter of its 1,200 ticks, and five of its 1,440 minutes
        (8 * 3600, 86_400, [2, 5]),
        (3600, 36_000, [4, 14]),
    ],
)
def test_a_day_of_any_length_has_its_morning(
    cogitate_loop: Loops, tmp_path: Path, seconds_per_tick: int, day_seconds: int, planned: list[int]
) -> None:
    chosen = settings(tmp_path, seconds_per_tick=seconds_per_tick, day_seconds=day_seconds)
    ticks = 2 * day_seconds // seconds_per_tick - 1
    made = lived(cogitate_loop(owners={BEN: TWO[BEN]}, ticks=ticks, settings=chosen), lambda loop, tick: None)
    assert [tick for tick, _, entry in made if entry.type == "plan"] == planned


def test_days_of_ticks_have_no_times(cogitate_loop: Loops, tmp_path: Path) -> None:
    loop = cogitate_loop(owners=TWO, ticks=3, settings=settings(tmp_path, seconds_per_tick=86_400))
    made = lived(loop, lambda loop, tick: loop.observe(ANN, {"text": f"Storm number {tick.number} came."}))
    assert not [entry for _, _, entry in made if entry.type == "plan"]
    assert "- day 3: Storm number 3 came." in loop.memory(ANN).context("")


def test_an_observation_may_lie_back_as_many_ticks_as_days(cogitate_loop: Loops, tmp_path: Path) -> None:
    loop = cogitate_loop(owners=TWO, ticks=40, settings=settings(tmp_path, seconds_per_tick=MONTH, clock="months"))
    lived(
        loop,
        lambda loop, tick: loop.observe(
            ANN, Observation(text=f"Month {tick.number}.", minute=max(0, tick.minute - 30 * 43_200))
        ),
    )
    assert len(loop.memory(ANN)) >= 40


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"clock": "rounds", "seconds_per_tick": 10}, "rounds"),
        ({"clock": "months"}, "months"),
        ({"clock": "0 rounds"}, "clock"),
        ({"clock": "sundial"}, "clock"),
        ({"seconds_per_tick": 0}, "seconds_per_tick"),
        ({"minutes_per_tick": 10}, "seconds_per_tick = 600"),
    ],
)
def test_a_clock_that_cannot_go_is_refused(tmp_path: Path, given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        PinnedSettings(data_dir=tmp_path, **given)


def test_the_pace_has_a_separate_name(tmp_path: Path) -> None:
    import cogitate

    with pytest.raises(ConfigurationError, match="real_seconds_per_tick"):
        cogitate.open("village", TWO, seconds_per_tick=0.5)  # type: ignore[call-arg]


def steps_of(loop: TickLoop, seen: dict[int, list[Observation]], planned: tuple[int, ...]) -> list[list[str]]:
    """The steps of each plan of Ann's, requested in these ticks, after what she saw in others."""

    def body(loop: TickLoop, tick: Tick) -> None:
        for one in seen.get(tick.number, ()):
            loop.observe(ANN, one)
        if tick.number in planned:
            loop.request("plan", ANN)

    made = lived(loop, body)
    return [[item.description for item in entry.items] for _, _, entry in made if entry.type == "plan"]


@pytest.mark.parametrize("given", [{"clock": "rounds"}, {"clock": "months", "seconds_per_tick": MONTH}])
def test_a_promise_is_in_the_next_two_plans(cogitate_loop: Loops, tmp_path: Path, given: dict[str, Any]) -> None:
    said = Observation(text="Ann Lee: I promise to bring forty planks.", type="message", subjects=(BEN, ANN))
    loop = cogitate_loop(owners=TWO, ticks=10, settings=settings(tmp_path, disable=("reflect",), **given))
    plans = steps_of(loop, {1: [said]}, (2, 5, 8))
    kept = [[step for step in steps if "forty planks" in step] for steps in plans]
    assert [len(one) for one in kept] == [1, 1, 0]


def test_a_plan_sees_to_what_happened_since_the_last_one(cogitate_loop: Loops, tmp_path: Path) -> None:
    seen = {
        1: [Observation(text="The lens cracked in the frost.", importance=9)],
        3: [Observation(text="We rowed out and took nine men off the schooner.", importance=9)],
        4: [Observation(text="We need oil for the lamp.", importance=8)],
    }
    chosen = settings(tmp_path, clock="months", seconds_per_tick=MONTH, disable=("reflect",))
    first, second = steps_of(cogitate_loop(owners=TWO, ticks=6, settings=chosen), seen, (2, 5))
    assert "Needs attention: The lens cracked in the frost" in first
    assert "Needs attention: We need oil for the lamp" in second
    assert not any("nine men" in step for step in (*first, *second)), "it is done"


def test_a_decision_knows_the_brief_and_the_plan(cogitate_loop: Loops, tmp_path: Path) -> None:
    seen = Observation(text="The bridge is cracked.", importance=9)
    actions = ["hold a feast", "mend the cracked bridge"]
    loop = cogitate_loop(
        owners=TWO,
        ticks=6,
        settings=settings(tmp_path, clock="rounds"),
        brief=lambda owner: {"actions": actions, "location": "mill"} if owner == ANN else {},
    )
    for tick in loop:
        if tick.number == 1:
            loop.observe(ANN, seen)
            loop.decide("plan", [ANN])
            (end,) = loop.decide("act", [ANN])
            break
    told = [change.effect for change in end.applied if isinstance(change.effect, Tell)]
    assert [(effect.data["doing"], effect.data["location"]) for effect in told] == [("mend the cracked bridge", "mill")]
