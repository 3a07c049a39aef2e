"""Reflection at its boundaries: the first morning, a repair, what came of the plan, what passes before it is due."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry, Marks
from cogitate.memory.routing.repeats import count_repeat
from cogitate.prompts.answers import ReflectionAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks import timing
from cogitate.tasks.heuristics.insight import QUIET
from cogitate.tasks.reflect import Reflect
from tests.unit.tasks.kind_cases import (
    KLAUS,
    MARIA,
    WORLD,
    appended,
    case_of,
    message,
    moment_of,
    observation,
    stream_of,
)

KIND = Reflect(Templates())
INTERVAL = WORLD.limits.reflection_interval
LATER = timing.offset(KLAUS, INTERVAL // 6)  # what Klaus puts his first reflection off by


@pytest.mark.parametrize(
    ("seen", "begun"),
    [(0, 360), (359, 360), (360, 360), (361, 361), (600, 600), (DAY - 1, DAY - 1), (DAY, DAY + 360)],
)
def test_the_first_interval_starts_with_the_first_entry_not_before_the_morning(seen: int, begun: int) -> None:
    stream = stream_of(*(observation(f"Tea {n}.", seen) for n in range(3)))
    first = begun + LATER + INTERVAL
    assert KIND.wake(moment_of(stream, seen)) == first
    assert [minute for minute in (first - 1, first) if list(KIND.due(moment_of(stream, minute)))] == [first]
    (request,) = KIND.due(moment_of(stream, first))
    assert (request.kind, request.owner, request.priority, request.params) == ("reflect", KLAUS, 3, {})


@pytest.mark.parametrize(("new", "quiet"), [(2, True), (3, False)])
@pytest.mark.parametrize("since", [None, 0, 2, "x"])
def test_three_entries_after_the_last_one_reflected_on_are_enough(new: int, quiet: bool, since: Any) -> None:
    old = since if isinstance(since, int) else 0
    stream = stream_of(*(observation(f"Read page {n}.", 400 + n) for n in range(old + new)))
    params = {} if since is None else {"since": since}
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1_200, params=params)))
    assert (entry.text == QUIET) is quiet


def test_a_repair_keeps_the_time_of_its_target_and_starts_no_interval() -> None:
    provisional = Entry(type="reflection", text="Hm.", minute=700, provisional=True)
    stream = stream_of(*(observation(f"Read page {n}.", 400 + n) for n in range(4)), provisional)
    case = case_of(KIND, stream, 1_200, params={"replaces": 5, "minute": 700})
    answer = ReflectionAnswer(insight="I read a lot.", significance=3, relationship_changes=[])
    for effects in (KIND.effects(case, answer, (1, 2)), KIND.heuristic(case)):
        (repaired,) = [effect for effect in effects if isinstance(effect, Append)]
        assert (repaired.replaces, repaired.entry.minute) == (5, 700)
        assert not any(name.startswith("reflect.") for name in counted(effects))
    usual = KIND.effects(case_of(KIND, stream, 1_200), answer, (1, 2))
    assert [effect.replaces for effect in usual if isinstance(effect, Append)] == [0]
    assert counted(usual) == {"reflect.minute": 1_200, "reflect.number": 5}


def test_repeats_are_counted_up_to_those_that_the_request_names() -> None:
    stream = stream_of(*(observation(f"Read page {n}.", 400 + n) for n in range(4)))
    for repeated, counters in ((7, {"reflect.repeated": 7}), ("x", {}), (None, {})):
        effects = KIND.heuristic(case_of(KIND, stream, 1_200, params={"repeated": repeated}))
        assert counted(effects) == {"reflect.minute": 1_200, "reflect.number": 4} | counters


def test_a_request_names_repeated_entries_and_not_those_only_read() -> None:
    stream = stream_of(*(observation(f"Read page {n}.", 400 + n, importance=9) for n in range(4)))
    stream.mark(1, Marks(accesses=3, last_accessed=500))
    count_repeat(stream, 2, 500, importance=9)
    (request,) = KIND.due(moment_of(stream, 400 + 2 * INTERVAL + LATER))
    assert request.params == {"repeated": 9, "repeats": {"2": 1}}


def counted(effects: tuple[Effect, ...]) -> dict[str, int]:
    found = [msgspec.to_builtins(effect) for effect in effects]
    return {effect["name"]: effect["value"] for effect in found if effect["type"] == "counter"}


@pytest.mark.parametrize(("begins", "coming"), [(1_210, False), (1_211, True)])
def test_events_before_the_due_time_are_not_told_as_coming(begins: int, coming: bool) -> None:
    """The reflection is due ten ticks, here minutes, after its request."""
    said = message(f"I am holding a party at Hobbs Cafe today at {begins // 60}:{begins % 60:02}.", 600, importance=1)
    storm = observation("The storm took the roof.", 650, importance=9)
    stream = stream_of(said, storm, *(observation(f"Read page {n}.", 700 + n, importance=1) for n in range(3)))
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1_200)))
    assert ("party" in entry.text) is coming


def insightful(text: str, **fields: Any) -> ReflectionAnswer:
    return ReflectionAnswer(**({"insight": text, "significance": 3, "relationship_changes": []} | fields))


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("I read much.", True),
        ("I read.", False),
        ("This is blank.", False),
        ("this is blank", False),
        ("Why do I read?", False),
        ("I read. Why?", True),
        ("Oh! Why do I read?", True),
        ("Why I read", True),
    ],
)
def test_an_insight_of_three_words_that_states_something_is_accepted(text: str, accepted: bool) -> None:
    case = case_of(KIND, stream_of(observation("Read page 1.", 400)), 1_200)
    if accepted:
        (entry,) = appended(KIND.effects(case, insightful(text), (1,)))
        assert entry.text == text
    else:
        with pytest.raises(ValueError, match="the insight"):
            KIND.effects(case, insightful(text), (1,))


@pytest.mark.parametrize(("significance", "importance"), [(1, 7), (7, 7), (8, 8), (10, 10)])
def test_a_reflection_is_stored_with_its_parts(significance: int, importance: int) -> None:
    stream = stream_of(*(observation(f"Read page {n}.", 400, subjects=(KLAUS, f"agent:{n}")) for n in range(1, 41)))
    answer = insightful("I read much.", significance=significance)
    (entry,) = appended(KIND.effects(case_of(KIND, stream, 1_200), answer, (40, 3, 17)))
    assert (entry.importance, entry.source, entry.evidence) == (importance, "internal", (3, 17, 40))
    assert entry.subjects == (KLAUS, "agent:3", "agent:17", "agent:40")
    assert entry.minute == 1_200


def test_a_heuristic_names_only_persons_in_its_evidence() -> None:
    stream = stream_of(
        observation("The mill burned.", 400, importance=9, subjects=("agent:zoe",)),
        *(observation("Tea.", 500, importance=1, subjects=("agent:bo",)) for _ in range(2)),
    )
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1_200)))
    assert (entry.text, entry.importance, entry.subjects, entry.evidence) == (
        "The mill burned.",
        6,
        ("agent:zoe",),
        (1,),
    )


def test_three_observations_that_show_nothing_make_a_quiet_period_of_little_importance() -> None:
    stream = stream_of(*(observation("Tea.", 500, importance=1, subjects=(), location="") for _ in range(3)))
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, 1_200, params={"repeats": {}})))
    assert (entry.text, entry.importance) == (QUIET, 4)


@pytest.mark.parametrize("repeats", [None, "x", ["1"], {"one": 9}, {"1": "nine"}, {"1": None}, {"-1": 9}, {"3": 9}])
def test_unreadable_repeats_count_as_zero(repeats: Any) -> None:
    stream = stream_of(*(observation(f"The door {n} creaks.", 500, subjects=()) for n in range(3)))
    told = appended(KIND.heuristic(case_of(KIND, stream, 1_200, params={"repeats": repeats})))[0].text
    assert told == f"The door {2 if repeats == {'3': 9} else 0} creaks."


def test_a_prompt_shows_how_often_each_was_seen_and_names_no_stranger_nor_its_owner() -> None:
    stream = stream_of(
        observation("The door creaks.", 500, subjects=(KLAUS, MARIA, "agent:stranger", "location:inn")),
        observation("Tea.", 510),
    )
    case = case_of(KIND, stream, 1_200, params={"repeats": {"1": 4}})
    prompt = KIND.prompt(case)
    assert "5 times" in prompt.user
    assert "\nPeople: Maria Lopez\n" in prompt.user
    assert ("stranger" in prompt.user, KLAUS in prompt.user) == (False, False)
    (constraint,) = prompt.constraints
    assert (constraint.field, constraint.choices) == ("relationship_changes.agent_id", ("Maria Lopez",))


def test_people_of_one_name_are_called_by_their_ids() -> None:
    stream = stream_of(*(observation(f"The door {n} creaks.", 500, subjects=(MARIA, "agent:mara")) for n in range(3)))
    names = {KLAUS: "Klaus Mueller", MARIA: "Maria Lopez", "agent:mara": "Mara Lind"}
    for other, called in (("Ana Ruiz", "Mara Lind; Maria Lopez"), ("maria lopez", f"Mara Lind; {MARIA}")):
        world = replace(WORLD, names=names | {"agent:other": other})
        prompt = KIND.prompt(case_of(KIND, stream, 1_200, world=world))
        assert f"\nPeople: {called}\n" in prompt.user
