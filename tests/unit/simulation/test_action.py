"""How an agent decides (streams design, task 12): needs, plan, night, a chosen action, then routine or idling."""

from __future__ import annotations

import pytest

from cogitate.memory.entry import PlanItem
from cogitate.simulation.town.action import Action, choose
from cogitate.simulation.town.plans import Agenda
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import Body

DAY = 1440
SETTING = Setting(0, 2)
PERSON = SETTING.people["agent:isabella-rossi"]  # a café owner who sleeps from 10:30 PM to 6:30 AM
NOON, MIDNIGHT, LATE = DAY + 720, DAY, DAY + 1400


def item(description: str = "Watch the tide", location: str | None = "harbour", minute: int = DAY + 600) -> PlanItem:
    return PlanItem(id="a", description=description, location=location, minute=minute)


def body(*items: PlanItem, **changes: object) -> Body:
    agenda = Agenda(items=list(items), valid_until=2 * DAY + 360 if items else 0)
    made = Body(x=0, y=0, place="plaza", condition="idle", agenda=agenda)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def decide(made: Body, minute: int) -> Action:
    return choose(0, PERSON, made, minute, SETTING.place_types)


def test_exhaustion_goes_before_hunger_and_both_before_the_plan() -> None:
    assert decide(body(item(), energy=1999, hunger=1999), NOON) == Action("home-1", "", "needs rest", sleep=True)
    assert decide(body(item(), hunger=1999), NOON) == Action("cafe", "eating", "needs food", eat=True)
    assert decide(body(item(), energy=2000, hunger=2000), NOON).place == "harbour"


def test_a_need_lasts_until_it_is_met() -> None:
    made = body(item(), hunger=1999)
    decide(made, NOON)
    made.hunger = 7999
    assert decide(made, NOON + 1).eat
    made.hunger = 8000
    assert decide(made, NOON + 2).place == "harbour"


def test_the_plan_precedes_the_night_only_for_night_items() -> None:
    assert decide(body(item(minute=DAY + 600)), LATE).sleep
    late = body(item(minute=LATE - 5))
    assert decide(late, LATE).place == "harbour"
    assert decide(late, 2 * DAY + 60).sleep


def test_the_latest_item_whose_time_has_come_counts() -> None:
    made = body(item(minute=DAY + 500), PlanItem(id="b", description="Read", location="library", minute=DAY + 700))
    assert decide(made, DAY + 699).place == "harbour"
    assert decide(made, DAY + 700).place == "library"


def test_night_goes_before_a_chosen_action_and_that_before_idling() -> None:
    assert decide(body(advice="park", advice_until=LATE + 60), LATE).sleep
    future = item(minute=DAY + 900)
    assert decide(body(future, advice="park", advice_until=NOON + 60), NOON).place == "park"
    assert decide(body(future, advice="park", advice_until=NOON), NOON) == Action("plaza", "", "deciding what to do")


def test_without_a_plan_the_routine_applies() -> None:
    assert decide(body(), DAY + 600).intent == "work"
    assert decide(body(), MIDNIGHT).sleep
    expired = body(item())
    expired.agenda.valid_until = NOON
    assert decide(expired, NOON + 120).intent == "work"


@pytest.mark.parametrize(
    ("description", "eats", "sleeps"),
    [
        ("Have lunch at the harbour", True, False),
        ("EAT something", True, False),
        ("Meet great people", False, False),
        ("Go to bed", False, True),
        ("Get out of bed early", False, False),
        ("Take a nap", False, True),
        ("Поужинать с Анной", False, False),
    ],
)
def test_an_items_text_decides_what_is_done(description: str, eats: bool, sleeps: bool) -> None:
    action = decide(body(item(description)), NOON)
    assert (action.place, action.eat, action.sleep) == ("harbour", eats, sleeps)


def test_an_item_without_a_known_place_is_done_where_one_is() -> None:
    assert decide(body(item(location=None)), NOON).place == "plaza"
    assert decide(body(item(location="atlantis")), NOON).place == "plaza"
