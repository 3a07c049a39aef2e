"""What happens by itself in the town, and who turns up where it was agreed."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry, PlanItem
from cogitate.simulation.town import happenings
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import Meeting, State
from cogitate.simulation.town.town import Town

DAY = 1440
SIX_PM = DAY + 1080
HOST, GUEST = "agent:isabella-rossi", "agent:jonas-lindqvist"


@dataclass(frozen=True)
class Applied:
    """A change as the tick loop hands it over."""

    owner: str
    effect: Effect
    entry: Entry | None = None


def town_with(appointment: Meeting) -> Town:
    """A town of two at 6 AM of day 1, in which nothing else is agreed."""
    town = Town(agents=2)
    for tick in range(DAY + 360):
        town.step(tick, tick)
    state = typed_json.decode(town.dump(), State)
    state.appointments = {appointment.id: appointment}
    state.promises = []
    state.news = {}
    town.load(msgspec.json.encode(state))
    return town


def plan(town: Town, owner: str, *items: PlanItem) -> None:
    entry = Entry(type="plan", text="A plan.", minute=DAY + 360, items=items, valid_until=2 * DAY + 360)
    town.apply(Applied(owner, Append(owner=owner, entry=entry), entry))


def evening(town: Town) -> list[tuple[str, str]]:
    seen = [s for tick in range(DAY + 360, SIX_PM + 30) for s in town.step(tick, tick)]
    signs = ("has begun", "did not come", "in vain", "as agreed")
    return [(owner, entry.text) for owner, entry in seen if any(sign in entry.text for sign in signs)]


def supper(agreed: int, host: str = HOST) -> Meeting:
    people = {HOST: agreed, GUEST: agreed}
    what = "a supper" if host else "have supper"
    return Meeting(id="x", what=what, place="plaza", minute=SIX_PM, people=people, host=host)


def test_without_plans_people_keep_their_appointments() -> None:
    assert evening(town_with(supper(agreed=600))) == [
        (HOST, "A supper at Fountain Plaza has begun; here is Jonas Lindqvist."),
        (GUEST, "A supper at Fountain Plaza has begun; here is Isabella Rossi."),
    ]


def test_a_plan_that_forgets_an_appointment_misses_it() -> None:
    town = town_with(supper(agreed=600))
    plan(town, GUEST, PlanItem(id="a", description="Read", location="library", minute=DAY + 1000))
    told = evening(town)
    assert (HOST, "Jonas Lindqvist had accepted my invitation to a supper but did not come.") in told
    assert (HOST, "A supper at Fountain Plaza has begun; nobody else has come.") in told
    assert GUEST not in {owner for owner, _ in told}


def test_a_plan_that_remembers_an_appointment_keeps_it() -> None:
    town = town_with(supper(agreed=600))
    plan(town, GUEST, PlanItem(id="a", description="Supper", location="plaza", minute=SIX_PM - 30))
    assert {owner for owner, text in evening(town) if "has begun" in text} == {HOST, GUEST}


def test_an_appointment_made_after_the_plan_is_kept() -> None:
    town = town_with(supper(agreed=DAY + 400))
    plan(town, GUEST, PlanItem(id="a", description="Read", location="library", minute=DAY + 1000))
    assert {owner for owner, text in evening(town) if "has begun" in text} == {HOST, GUEST}


def test_waiting_in_vain_is_remembered() -> None:
    town = town_with(supper(agreed=600, host=""))
    plan(town, GUEST, PlanItem(id="a", description="Read", location="library", minute=DAY + 1000))
    assert evening(town) == [(HOST, "Waited for Jonas Lindqvist at Fountain Plaza at 6:00 PM as agreed, in vain.")]


def test_a_kept_appointment_is_remembered_by_both() -> None:
    told = evening(town_with(supper(agreed=600, host="")))
    assert told == [
        (HOST, "Met Jonas Lindqvist at Fountain Plaza to have supper, as agreed."),
        (GUEST, "Met Isabella Rossi at Fountain Plaza to have supper, as agreed."),
    ]


@pytest.mark.parametrize("day", [0, 1, 30])
def test_no_two_consecutive_days_are_alike(day: int) -> None:
    setting = Setting(0, 25)
    today, tomorrow = (
        {(owner, text) for many in happenings.episodes(setting, d).values() for owner, text, _ in many}
        for d in (day, day + 1)
    )
    assert len(today) > 20
    assert not today & tomorrow


def test_episodes_of_colleagues_differ() -> None:
    setting = Setting(0, 60)
    found = [
        (setting.people[owner].profile.work, text)
        for many in happenings.episodes(setting, 3).values()
        for owner, text, _ in many
    ]
    assert len(found) == len(set(found))


def test_old_news_is_forgotten_and_the_state_stays_small() -> None:
    town, sizes = Town(agents=6), []
    for tick in range(5 * DAY):
        town.step(tick, tick)
        if tick % DAY == DAY - 1:
            sizes.append(len(town.dump()))
        town.take_effects()
    assert max(sizes) < 80_000
    assert sizes[4] < sizes[2] * 1.3
