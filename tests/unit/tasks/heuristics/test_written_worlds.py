"""Plans, reflections and summaries without a model, of a day in nine languages."""

from __future__ import annotations

import re

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Tell
from cogitate.memory.entry import PlanItem
from cogitate.memory.importance import Ratings
from cogitate.memory.profile import Location
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import summarise_entries
from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.plan import Plan
from cogitate.tasks.reflect import Reflect
from tests.unit.tasks.heuristics.written_worlds import WRITTEN_WORLDS, WrittenWorld
from tests.unit.tasks.kind_cases import KLAUS, MARIA, appended, case_of, message, observation, stream_of
from tests.verbatim import altered_quotes

PLAN, REFLECT = Plan(Templates()), Reflect(Templates())
EVENING, MORNING = 1_100, DAY + 420
_BROKEN = re.compile(r"[。.]{2}|[。.!?]{1} ?[。]|\b(?:and|the|said|asked|told|mentioned|day|in|on|at)\b|\(\)|（）| {2}")
worlds = pytest.mark.parametrize("written", WRITTEN_WORLDS.values(), ids=WRITTEN_WORLDS)


def _world(written: WrittenWorld) -> WorldFacts:
    places = (Location(id="bakery", name=written.bakery), Location(id="cafe", name=written.bakery))
    return WorldFacts(locations=places, names={KLAUS: written.profile.name, MARIA: written.friend})


def _stream(written: WrittenWorld) -> Stream:
    return stream_of(
        observation(written.ordinary, 500, importance=2),
        observation(written.grave, 510, importance=8),
        message(written.invitation, 600, speaker=MARIA, hearer=KLAUS),
        message(written.promise, 602, speaker=KLAUS, hearer=MARIA),
        message(written.courtesy, 603, speaker=MARIA, hearer=KLAUS),
    )


def _plan(written: WrittenWorld) -> tuple[PlanItem, ...]:
    case = case_of(PLAN, _stream(written), MORNING, world=_world(written), profile=written.profile)
    return appended(PLAN.heuristic(case))[0].items


def _reflection(written: WrittenWorld, minute: int) -> str:
    case = case_of(REFLECT, _stream(written), minute, world=_world(written), profile=written.profile)
    return appended(REFLECT.heuristic(case))[0].text


@worlds
def test_a_plan_holds_promises_and_invitations_at_their_hours(written: WrittenWorld) -> None:
    by_hour = {(item.minute or 0) - DAY: item.description for item in _plan(written)}
    promise, invitation = by_hour[15 * 60], by_hour[10 * 60]
    assert invitation.startswith(written.friend)
    assert written.day.casefold() in promise.casefold()
    assert written.today.casefold() in invitation.casefold()
    for text in (promise, invitation):
        assert not re.search(rf"(?<!\w){written.tomorrow}(?!\w)", text, re.IGNORECASE)


@worlds
def test_a_plan_names_pressing_matters_and_work_in_one_language(written: WrittenWorld) -> None:
    texts = [item.description for item in _plan(written)]
    assert any(written.grave.rstrip("。.") in text for text in texts)
    assert any(written.bakery in text for text in texts)
    assert [text for text in texts if _BROKEN.search(text)] == []


@worlds
def test_a_reflection_quotes_and_tells_on_which_day_tomorrow_was_said(written: WrittenWorld) -> None:
    told, later = _reflection(written, EVENING), _reflection(written, MORNING)
    assert written.grave in told
    assert written.invitation in told or written.promise in told
    said = (written.ordinary, written.grave, written.invitation, written.promise)
    assert altered_quotes(told + later, said) == []
    assert re.search(rf"[（(]{re.escape(written.day.replace('2', '1'))}[）)]", later, re.IGNORECASE)
    assert [text for text in (told, later) if _BROKEN.search(text)] == []


@worlds
def test_a_reflection_tells_no_expired_promise_or_invitation(written: WrittenWorld) -> None:
    told = _reflection(written, EVENING + DAY)
    assert written.invitation not in told
    assert written.promise not in told


@worlds
def test_a_summary_of_a_talk_holds_its_appointments_in_one_language(written: WrittenWorld) -> None:
    text = summarise_entries(_stream(written).live("message"), _world(written).display_names, owner=KLAUS)
    assert written.invitation.rstrip("。.") in text
    assert altered_quotes(text, (written.invitation, written.promise, written.courtesy)) == []
    assert not _BROKEN.search(text)


@worlds
def test_an_event_that_changes_a_life_is_told_from_a_bird_before_any_rating(written: WrittenWorld) -> None:
    grave, bird = (Ratings().estimate(KLAUS, observation(text, 1)) for text in (written.grave, written.ordinary))
    assert grave.rating >= 7 > bird.rating


@worlds
def test_an_action_is_chosen_for_a_reason_in_the_same_language(written: WrittenWorld) -> None:
    world, act = _world(written), Act(Templates())
    for params in (
        {"location": "cafe"},
        {"status": {"energy": {"value": 3, "need": "low"}}},
        {"actions": [written.bakery]},
    ):
        case = case_of(act, _stream(written), MORNING, world=world, profile=written.profile, params=params)
        (told, *_) = act.heuristic(case)
        assert isinstance(told, Tell)
        assert told.data["reason"]
        assert not _BROKEN.search(told.data["reason"])
        assert not re.search(r"\b(?:Need|Night|Having|Deciding|People|Going)\b", told.data["reason"])


@pytest.mark.parametrize(("language", "name"), [("zh", "Chinese"), ("fr", "French"), ("ar", "Arabic")])
def test_a_prompt_names_the_language_to_answer_in(language: str, name: str) -> None:
    written = WRITTEN_WORLDS[language]
    for kind in (PLAN, REFLECT):
        case = case_of(kind, _stream(written), MORNING, world=_world(written), profile=written.profile)
        assert f"Write in {name}." in kind.prompt(case).user
