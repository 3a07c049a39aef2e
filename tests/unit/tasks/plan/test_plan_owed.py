"""Plans account for completed items, open promises and the host of a party."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from cogitate.memory.effects import Append
from cogitate.memory.entry import MAX_TEXT, Entry, PlanItem
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.prompts.render import Templates
from cogitate.tasks.plan import Plan
from tests.unit.tasks.kind_cases import (
    ISABELLA,
    KLAUS,
    MARIA,
    PROFILE,
    WORLD,
    case_of,
    message,
    moment_of,
    observation,
    stream_of,
)

KIND = Plan(Templates())
MORNING = 1440 + 360
PAINTER = Profile(name="Klaus Mueller", currently="Klaus Mueller hopes to repaint the front door.", home="dorm")


def planned(stream: Stream, profile: Profile = PROFILE, **params: object) -> list[str]:
    (append, *_) = KIND.heuristic(case_of(KIND, stream, MORNING, profile=profile, params=params))
    assert isinstance(append, Append)
    assert append.entry is not None
    return [item.description for item in append.entry.items]


def test_a_wish_that_was_fulfilled_is_not_planned_again() -> None:
    assert "Repaint the front door" in planned(stream_of(), PAINTER)
    assert "Repaint the front door" not in planned(stream_of(), PAINTER, done=["Repaint the front door"])


def test_items_completed_by_a_plan_are_done() -> None:
    item = PlanItem(id="1-0", description="Take up again: Repaint the front door", minute=960)
    plan = Entry(type="plan", text="Plan.", minute=360, items=(item,), valid_until=MORNING)
    stream = stream_of(plan)
    moment = msgspec.structs.replace(moment_of(stream, MORNING), profile=PAINTER)
    (request,) = KIND.due(moment)
    assert "done" not in request.params
    stream.head.plan_status[item.id] = "completed"
    (request,) = KIND.due(moment)
    assert request.params["done"] == ["Repaint the front door"]


def test_continuing_activities_are_never_done() -> None:
    item = PlanItem(id="1-0", description="Spend time writing a research paper on gentrification", minute=960)
    stream = stream_of(Entry(type="plan", text="Plan.", minute=360, items=(item,), valid_until=MORNING))
    stream.head.plan_status[item.id] = "completed"
    (request,) = KIND.due(moment_of(stream, MORNING))
    assert "done" not in request.params


def test_a_promise_of_the_day_before_is_planned_once() -> None:
    given = message("I promise: I will mend your gate.", 900, speaker=KLAUS, hearer=MARIA)
    owed = 'Keep the promise to Maria Lopez: "I promise: I will mend your gate."'
    assert owed in planned(stream_of(given))
    kept = message("I kept my word: I mended your gate.", 1200, speaker=KLAUS, hearer=MARIA)
    assert owed not in planned(stream_of(given, kept))
    today = message("I promise: I will mend your gate.", 1441, speaker=KLAUS, hearer=MARIA)
    assert owed not in planned(stream_of(today)), "it may still be kept without a plan"
    earlier = Entry(type="plan", text="Plan.", minute=360, items=(PlanItem(id="1-0", description=owed, minute=700),))
    assert owed not in planned(stream_of(given, earlier))


def test_a_promise_without_one_addressee_is_planned() -> None:
    owed = 'Keep the promise: "I promise to bring the stones."'
    for subjects in ((KLAUS,), (KLAUS, MARIA, ISABELLA)):
        said = Entry(
            type="message", text="Klaus Mueller: I promise to bring the stones.", minute=900, subjects=subjects
        )
        assert owed in planned(stream_of(said))
    noted = observation("I promised to bring the stones.", 900, subjects=(KLAUS,))
    assert "Keep the promise: bring the stones" in planned(stream_of(noted))
    heard = Entry(type="message", text="Maria Lopez: I promise to sing.", minute=900, subjects=(MARIA, KLAUS, ISABELLA))
    assert not any("promise" in item for item in planned(stream_of(heard)))


def test_the_text_of_a_plan_ends_with_one_mark() -> None:
    said = message("I promise to bring the stones.", 900, speaker=KLAUS, hearer=MARIA)
    case = case_of(KIND, stream_of(said), MORNING, profile=Profile(name="Klaus Mueller"))
    (append, *_) = KIND.heuristic(case)
    assert isinstance(append, Append)
    assert append.entry is not None
    assert append.entry.text.endswith('"I promise to bring the stones."')


def test_only_dated_sentences_of_the_long_term_summary_are_planned() -> None:
    def plan(summary: str) -> list[str]:
        case = case_of(KIND, stream_of(), MORNING)
        job = msgspec.structs.replace(case.job, summary=summary)
        (append, *_) = KIND.heuristic(replace(case, job=job))
        assert isinstance(append, Append)
        return [item.description for item in append.entry.items]

    party = "There is a party at Hobbs Cafe today at 5:00 PM"
    assert party in plan("It rained. There is a party at Hobbs Cafe on day 2 at 5:00 PM.")
    assert not any("party" in item for item in plan("It rained on day 2. There is a party at Hobbs Cafe at 5:00 PM."))


def test_a_party_is_planned_by_who_gives_it_and_who_hears_of_it_first_hand() -> None:
    own = observation("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600)
    party = "I am holding a party at Hobbs Cafe today at 5:00 PM"
    assert party in planned(stream_of(own))
    heard = message("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600)
    assert f"Maria Lopez: {party}" in planned(stream_of(heard))


def test_the_longest_item_that_can_be_stored_is_taken_up_again_within_the_limit() -> None:
    longest = "Mend the roof " * (MAX_TEXT // 14)
    (again,) = [text for text in planned(stream_of(), unfinished=[{"description": longest}]) if "roof" in text]
    assert len(again) == MAX_TEXT
    assert again.startswith("Take up again: Mend the roof")


@pytest.mark.parametrize(
    ("name", "language", "promise"),
    [
        ("鈴木健", "ja", "明日の午前9時までに鯛を十匹用意すると約束します。"),
        ("Yao Chen", "es", "Prometo hacer el inventario mañana a las 9."),
        ("Yao Chen", "de", "Ich verspreche, morgen um 9 Uhr den Bestand zu zählen."),
    ],
)
def test_a_promise_in_another_language_is_its_givers_to_keep(name: str, language: str, promise: str) -> None:
    world = replace(WORLD, names={KLAUS: "Nuria", MARIA: name})
    said = message(f"{name}: {promise}", 900)
    summary = Entry(type="summary", text=f"{name}：{promise}", minute=910, importance=5, subjects=(MARIA, KLAUS))
    for owner, keeps in ((KLAUS, False), (MARIA, True)):
        profile = Profile(name=world.names[owner], language=language)
        for memories in ((said,), (summary,), (said, summary)):
            case = case_of(KIND, stream_of(*memories, owner=owner), MORNING, profile=profile, world=world)
            (append, *_) = KIND.heuristic(case)
            assert isinstance(append, Append)
            assert append.entry is not None
            assert any("9" in item.description for item in append.entry.items) is keeps, append.entry.text


def test_a_wish_is_not_planned_beside_a_routine() -> None:
    profile = Profile(
        name="Nuria", language="es", currently="Nuria quiere llegar a Lima.", routine="8:00 desayunar; leer un libro"
    )
    found = planned(stream_of(), profile, unfinished=[{"description": "Nuria quiere llegar a Lima", "priority": 4}])
    assert not [one for one in found if "llegar a Lima" in one]


def test_an_item_said_or_taken_up_before_is_not_taken_up_again() -> None:
    heard = message("I'll meet him at the sluice.", 700)
    left = {
        "unfinished": [{"description": text} for text in ("Meet him at the sluice", "Take up again: Mend the roof")]
    }
    assert not any("again" in text for text in planned(stream_of(heard), **left))
    assert "Take up again: Meet him at the sluice" in planned(stream_of(), **left)
    promise = 'Keep the promise to Maria Lopez: "I promise: I will mend your gate."'
    given = message("I promise: I will mend your gate.", 900, speaker=KLAUS, hearer=MARIA)
    plan = Entry(
        type="plan", text="Plan.", minute=1_000, items=(PlanItem(id="1-0", description=promise, minute=1_100),)
    )
    assert f"Take up again: {promise}" in planned(stream_of(given, plan), unfinished=[{"description": promise}])
