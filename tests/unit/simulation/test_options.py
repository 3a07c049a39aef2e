"""What an agent of the town can do now, as its brief names it."""

from __future__ import annotations

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Tell
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.language.place_names import find_place
from cogitate.simulation.town.state import State
from cogitate.simulation.town.town import Town
from tests.unit.simulation.test_happenings import Applied

ANN = "agent:isabella-rossi"  # who owns the café
HOURS = range(6 * 60, 24 * 60, 30)


def day() -> Town:
    return Town(4, seed=0)


def at(town: Town, minute: int, place: str = "", **changes: object) -> Town:
    """Return the town as it is at this minute, with its first agent awake at a place."""
    town.step(minute, minute)
    state = typed_json.decode(town.dump(), State)
    state.appointments.clear()  # which one would set out for
    body = state.bodies[ANN]
    body.condition, body.talk, body.hunger, body.need = "activity", "", 9_500, ""
    body.place = place or body.place
    for name, value in changes.items():
        setattr(body, name, value)
    town.load(msgspec.json.encode(state))
    return town


def test_every_option_has_a_place() -> None:
    town = day()
    for minute in HOURS:
        town.step(minute, minute)
        for owner in town.owners():
            brief = town.brief(owner)
            assert ("actions" in brief) == brief["free"]
            for action in brief.get("actions", ()):
                assert action.endswith(" at home") or find_place(action, town.locations), action


def test_options_at_work_follow_the_occupation() -> None:
    actions = at(day(), 10 * 60, "cafe").brief(ANN)["actions"]
    assert "serving coffee at Linden Café" in actions
    assert not [action for action in actions if "at home" in action or "Willow Park" in action]


def test_a_hungry_agent_eats_once_at_each_mealtime() -> None:
    hungry = at(day(), 12 * 60, "cafe", hunger=5_000, ate=-1)
    assert "having lunch at Linden Café" in hungry.brief(ANN)["actions"]
    fed = at(day(), 12 * 60, "cafe", hunger=5_000, ate=11 * 60 + 50)
    assert "having lunch at Linden Café" not in fed.brief(ANN)["actions"]
    between = at(day(), 15 * 60, "cafe", hunger=5_000, ate=-1)
    assert not [action for action in between.brief(ANN)["actions"] if "lunch" in action]


def test_options_in_the_evening_are_leisure() -> None:
    actions = at(day(), 18 * 60, "harbour").brief(ANN)["actions"]
    assert "watching the boats at Old Harbour" in actions
    assert not [action for action in actions if "serving" in action]
    assert all(action.endswith("at home") for action in at(day(), 23 * 60 + 30, "home-1").brief(ANN)["actions"])


def test_the_current_plan_item_comes_first() -> None:
    town = at(day(), 18 * 60, "park")
    item = PlanItem(id="a", description="Attend the plant exchange at Willow Park", location="park", minute=17 * 60)
    entry = Entry(type="plan", text="A plan.", minute=360, items=(item,), valid_until=1800)
    town.apply(Applied(ANN, Append(owner=ANN, entry=entry), entry))
    assert town.brief(ANN)["actions"][0] == "Attend the plant exchange at Willow Park"


def test_others_see_the_chosen_option() -> None:
    town = at(day(), 18 * 60, "home-1")
    chosen = {"type": "move_to", "location": "market", "doing": "doing the shopping at Market Hall", "reason": ""}
    town.apply(Applied(ANN, Tell(owner=ANN, topic="action", data=chosen)))
    town.step(18 * 60 + 30, 18 * 60 + 30)
    body = typed_json.decode(town.dump(), State).bodies[ANN]
    assert (body.place, body.doing) == ("market", "doing the shopping")
