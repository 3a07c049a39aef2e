"""Perception (streams design, task 11): radius, cooldowns, texts and importances."""

from __future__ import annotations

import pytest

from cogitate.simulation.town.perception import Perception, appearance
from cogitate.simulation.town.state import Body, Condition


def body(x: int = 0, y: int = 0, condition: Condition = "idle", doing: str = "", place: str = "plaza") -> Body:
    return Body(x=x, y=y, place=place, condition=condition, doing=doing)


def look(perception: Perception, observer: Body, other: Body, minute: int) -> list[str]:
    near = [("agent:me", "Me", observer), ("agent:you", "You", other)]
    return [entry.text for entry in perception.agents("agent:me", observer, near, minute, {})]


@pytest.mark.parametrize(("x", "y", "seen"), [(5, 0, True), (3, 2, True), (0, 0, True), (3, 3, False), (-6, 0, False)])
def test_the_radius_is_five_tiles_by_manhattan(x: int, y: int, seen: bool) -> None:
    assert bool(look(Perception(), body(), body(x, y), 100)) is seen


@pytest.mark.parametrize(
    ("condition", "text", "importance"),
    [
        ("idle", "Saw You standing around.", 2),
        ("walking", "Saw You walking by.", 2),
        ("conversing", "Saw You having a conversation.", 4),
        ("activity", "Saw You engaged in an activity.", 2),
        ("sleeping", "Saw You resting.", 2),
    ],
)
def test_texts_and_importances(condition: Condition, text: str, importance: int) -> None:
    me, you = body(), body(1, 1, condition)
    (entry,) = Perception().agents("agent:me", me, [("agent:you", "You", you)], 100, {})
    assert (entry.text, entry.importance, entry.type, entry.source) == (text, importance, "observation", "perception")
    assert (entry.minute, entry.location, entry.subjects) == (100, "plaza", ("agent:me", "agent:you"))


def test_other_observations_are_visible() -> None:
    assert appearance(body(condition="activity", doing="feeding the ducks")) == "feeding the ducks"
    assert appearance(body(condition="conversing"), "Klára").endswith("conversation with Klára")


def test_an_observed_talk_is_one_conversation() -> None:
    perception, me = Perception(), body()
    near = [(f"agent:{name.lower()}", name, body(1, 1, "conversing")) for name in ("Ada", "Bo")]
    talking = {"agent:ada": ("agent:bo", "Bo"), "agent:bo": ("agent:ada", "Ada")}
    (seen,) = perception.agents("agent:me", me, near, 100, talking)
    assert seen.text == "Saw Ada having a conversation with Bo."
    assert seen.subjects == ("agent:me", "agent:ada", "agent:bo")
    assert perception.agents("agent:me", me, near, 111, talking) == [], "it is the same conversation"


def test_one_of_two_talkers_may_be_out_of_sight() -> None:
    near = [("agent:ada", "Ada", body(1, 1, "conversing")), ("agent:bo", "Bo", body(9, 9, "conversing"))]
    talking = {"agent:ada": ("agent:bo", "Bo"), "agent:bo": ("agent:ada", "Ada")}
    (seen,) = Perception().agents("agent:me", body(), near, 100, talking)
    assert seen.subjects == ("agent:me", "agent:ada")


def test_first_sight_is_not_held_back_at_the_beginning_of_time() -> None:
    assert look(Perception(), body(), body(), 0)
    assert Perception().arrival("agent:me", body(), "Fountain Plaza", 0) is not None


def test_an_agent_is_noticed_at_most_every_ten_minutes() -> None:
    perception, me, you = Perception(), body(), body()
    assert look(perception, me, you, 100)
    you.condition = "walking"
    assert not look(perception, me, you, 109)
    assert look(perception, me, you, 110)


def test_an_unchanged_person_is_noticed_again_only_after_long() -> None:
    letter, ours, me, you = Perception(unchanged=10), Perception(), body(), body()
    assert look(letter, me, you, 100)
    assert look(letter, me, you, 110)
    assert not look(ours, me, you, 229)
    assert look(ours, me, you, 230)


def test_cooldowns_are_each_observers_own() -> None:
    perception, me, you = Perception(), body(), body()
    assert look(perception, me, you, 100)
    assert look(perception, body(), you, 101)


def test_a_place_is_noted_on_arrival_at_most_once_an_hour() -> None:
    perception, me = Perception(), body()
    first = perception.arrival("agent:me", me, "Fountain Plaza", 100)
    assert first is not None
    assert (first.text, first.importance, first.subjects) == ("Arrived at Fountain Plaza.", 2, ("agent:me",))
    assert perception.arrival("agent:me", me, "Fountain Plaza", 160) is None
    assert perception.arrival("agent:me", me, "Fountain Plaza", 161) is not None


def test_only_expired_cooldowns_are_forgotten() -> None:
    perception, me, you = Perception(), body(), body()
    look(perception, me, you, 100)
    perception.arrival("agent:me", me, "Fountain Plaza", 200)
    perception.forget(me, 215)
    assert set(me.seen) == {"agent:agent:you", "location:plaza"}
    perception.forget(me, 250)
    assert set(me.seen) == {"location:plaza"}
    assert me.sights == {}
