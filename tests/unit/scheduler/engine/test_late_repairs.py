"""What a late answer still changes: for each kind whose heuristic appends entries, what its repair would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import AdvanceCursor, Append, Archive, Effect, MarkAccessed, SetCounter, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.routing.scopes import WORLD
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import Activity, DailyPlan, ReflectionAnswer, RelationshipChange, SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.scheduler.engine.boundary import provisional
from cogitate.scheduler.engine.late_answers import as_repair
from cogitate.tasks.job import JobKey, Request
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.plan import Plan
from cogitate.tasks.recount import Recount, Span, recount_request
from cogitate.tasks.reflect import Reflect
from cogitate.tasks.shown import effects_of
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import KLAUS, MARIA, case_of, message, observation, stream_of

INN = "location:inn"
TEMPLATES = Templates()
NOON = 720
KEY = JobKey(360, "plan", KLAUS, 0, 0)
PLAN_ANSWER = DailyPlan(
    activities=[Activity(time=f"{h}:30", description=f"Deed {h}", location="library", priority=3) for h in range(7, 13)]
)
INSIGHT = ReflectionAnswer(
    insight="Maria is an ally of the library.",
    significance=8,
    relationship_changes=[RelationshipChange(agent_id=MARIA, change=1, reason="She helped.")],
)


def planning(stream: Stream) -> Case:
    return case_of(Plan(TEMPLATES), stream, 360)


def reflecting(stream: Stream) -> Case:
    return case_of(Reflect(TEMPLATES), stream, 500, params={"since": 0})


def summarising(stream: Stream) -> Case:
    request = Request(kind="summarise", owner=KLAUS, numbers=(1, 2, 3))
    return case_of(Summarise(TEMPLATES), stream, 500, request=request)


def recounting(stream: Stream) -> Case:
    request = recount_request(INN, Span(start=0, end=3, minute=330), (1, 2, 3))
    told = list(stream.live())
    return replace(case_of(Recount(TEMPLATES), stream_of(owner=INN), 500, request=request), memories={WORLD: told})


def after_heuristic(kind: Kind, case: Case, stream: Stream) -> tuple[dict[str, Stream], list[tuple[str, Entry]]]:
    """The streams once the heuristic has stood in, and what it made."""
    streams = {stream.owner: stream, INN: Stream(INN)}
    effects = provisional(kind.heuristic(case))
    owners = [effect.owner for effect in effects if isinstance(effect, Append)]
    return streams, list(zip(owners, apply(streams, effects, case.job.due), strict=True))


def as_the_repair(case: Case, made: Sequence[tuple[str, Entry]]) -> Case:
    """The same case as a repair of what was made."""
    ((_, entry),) = made
    params: Mapping[str, Any] = case.job.params | {"replaces": entry.number, "minute": entry.minute}
    return replace(case, job=msgspec.structs.replace(case.job, params=params))


@pytest.mark.parametrize(
    ("kind", "case", "answer"),
    [
        (Reflect(TEMPLATES), reflecting, INSIGHT),
        (Summarise(TEMPLATES), summarising, SummaryAnswer(summary="They spoke of the bridge.")),
        (Recount(TEMPLATES), recounting, SummaryAnswer(summary="They spoke of the bridge.")),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_it_changes_the_same_as_the_kinds_repair(kind: Kind, case: Any, answer: BaseModel) -> None:
    stream = stream_of(*(message(f"The bridge will not hold for {i} more days.", 300 + 10 * i) for i in range(1, 4)))
    asked = case(stream)
    streams, made = after_heuristic(kind, asked, stream)
    prompt = kind.prompt(asked)
    late = as_repair(asked.job.key, effects_of(kind, asked, answer, prompt), made, message_sent=False, minute=NOON)
    repair = as_the_repair(asked, made)
    assert late == effects_of(kind, repair, answer, kind.prompt(repair))
    assert unmet(streams, late) is None
    (entry,) = apply(streams, late, NOON)
    ((owner, stood),) = made
    assert not entry.provisional
    assert streams[owner].archived[stood.number].into == entry.number
    assert unmet(streams, late) == f"entry {stood.number} to be replaced is not live", "and that only once"


def plan_at(minute: int, effects: Sequence[Effect] | None = None) -> tuple[Effect, ...]:
    stream = stream_of(observation("The mill's wheel broke.", 300))
    case = planning(stream)
    _, made = after_heuristic(Plan(TEMPLATES), case, stream)
    answered = effects if effects is not None else Plan(TEMPLATES).effects(case, PLAN_ANSWER, (1,))
    return as_repair(case.job.key, answered, made, message_sent=False, minute=minute)


def test_a_plan_starts_with_the_current_item() -> None:
    append, accessed = plan_at(10 * 60)
    assert isinstance(append, Append)
    assert append.replaces == 2
    assert [(item.minute, item.description) for item in append.entry.items] == [
        (9 * 60 + 30, "Deed 9"),
        (10 * 60 + 30, "Deed 10"),
        (11 * 60 + 30, "Deed 11"),
        (12 * 60 + 30, "Deed 12"),
    ]
    assert isinstance(accessed, MarkAccessed)


def test_a_plans_items_are_not_taken_for_those_of_the_plan_before() -> None:
    stream = stream_of()
    case = planning(stream)
    _, made = after_heuristic(Plan(TEMPLATES), case, stream)
    append = plan_at(370)[0]
    assert isinstance(append, Append)
    ids = [item.id for item in append.entry.items]
    assert len(set(ids)) == len(PLAN_ANSWER.activities)
    assert set(ids).isdisjoint(item.id for _, entry in made for item in entry.items)


def test_given_again_it_is_the_same() -> None:
    once = plan_at(NOON)
    assert plan_at(NOON, once) == once


@pytest.mark.parametrize(("minute", "counts"), [(360 + 1439, True), (360 + 1440, False)])
def test_an_outdated_plan_replaces_nothing(minute: int, counts: bool) -> None:
    assert bool(plan_at(minute)) == counts


def thought(text: str, owner: str = KLAUS) -> Append:
    return Append(owner=owner, entry=Entry(type="reflection", text=text, minute=300))


STOOD = [(KLAUS, Entry(type="reflection", text="Quiet.", minute=300, number=n, provisional=True)) for n in (4, 7)]


def test_entries_are_paired_in_their_order_and_the_rest_is_left_out() -> None:
    summary = Append(owner=KLAUS, entry=Entry(type="summary", text="They met.", minute=300))
    answer = (thought("One."), summary, thought("Of hers.", MARIA), thought("Two."), thought("Three."))
    late = as_repair(KEY, answer, STOOD, message_sent=False, minute=NOON)
    assert [(e.entry.text, e.replaces) for e in late if isinstance(e, Append)] == [("One.", 4), ("Two.", 7)]
    assert len(late) == 2


def test_entries_that_the_heuristic_moved_are_not_moved_again() -> None:
    moved = (
        Archive(KLAUS, (1,), into_appended=True),
        SetCounter(KLAUS, "reflect.minute", 3),
        AdvanceCursor(KLAUS, "recount", 0, 3),
    )
    assert as_repair(KEY, (thought("One."), *moved), STOOD, message_sent=False, minute=NOON) == (
        msgspec.structs.replace(thought("One."), replaces=4),
    )


@pytest.mark.parametrize("told", [False, True])
def test_a_late_answer_sends_no_second_message(told: bool) -> None:
    tell = Tell(KLAUS, "action", {"go": "home"})
    late = as_repair(KEY, (thought("One."), tell), STOOD, message_sent=told, minute=NOON)
    assert (tell in late) == (not told)


def test_an_answer_that_replaces_nothing_changes_nothing() -> None:
    other = Append(owner=KLAUS, entry=Entry(type="summary", text="They met.", minute=300))
    assert as_repair(KEY, (other, MarkAccessed(KLAUS, (1,), 300)), STOOD, message_sent=False, minute=NOON) == ()


@pytest.mark.parametrize("share", [0.7, 0.01], ids=["some lines", "a part of a line"])
@pytest.mark.parametrize(
    ("kind", "case"),
    [(Summarise(TEMPLATES), summarising), (Recount(TEMPLATES), recounting)],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_late_summary_of_a_part_does_not_replace_one_of_the_whole(kind: Kind, case: Any, share: float) -> None:
    lines = [f"The bridge will not hold for {i} more days. " * 9 for i in range(1, 4)]
    stream = stream_of(*(message(line, 300 + 10 * i) for i, line in enumerate(lines)))
    asked = case(stream)
    _, made = after_heuristic(kind, asked, stream)
    answered = effects_of(kind, asked, SummaryAnswer(summary="They spoke."), kind.prompt(asked, share))
    assert isinstance(answered[0], Append)
    assert as_repair(asked.job.key, answered, made, message_sent=False, minute=NOON) == ()
