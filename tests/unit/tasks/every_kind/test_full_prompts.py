"""A full case of each kind, and its prompt: every input that the kind promises to show reaches the text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cogitate.memory.entry import Character, Entry, PlanItem
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.scopes import WORLD
from cogitate.memory.stream import Stream
from cogitate.prompts.render import VALUES, Rendered, Templates, neutral
from cogitate.scheduler.engine.triggers import location_left, recounts, story_event
from cogitate.simulation.world import energy
from cogitate.tasks.job import Job, JobKey, Reads
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.meters import Meter
from cogitate.tasks.plan import Plan
from cogitate.tasks.rate import RateImportance
from cogitate.tasks.recount import Recount
from cogitate.tasks.reflect import Reflect
from tests.unit.tasks.kind_cases import KLAUS, MARIA, PROFILE, case_of, message, moment_of, observation, stream_of
from tests.unit.tasks.kind_cases import WORLD as TOWN

FULL = msgspec.structs.replace(PROFILE, background="Klaus grew up in Bremen.")
CHARACTER = Character(objectives=("finish the paper",), relationships={"Maria Lopez": "a close friend"})
NOW = 1440 + 400  # the morning of day 2
STATUS = {"energy": energy(35.0), "mood": Meter(62.5, low="miserable")}
ITEMS = tuple(
    PlanItem(id=f"1-{index}", description=text, minute=minute)
    for index, (text, minute) in enumerate(
        [("Read about rents", 480), ("Meet Maria for lunch", 720), ("Fix the lamp", 900), ("Call Isabella", NOW + 60)]
    )
)
STREAM = stream_of(
    Entry(type="plan", text="Plan for day 1.", minute=365, importance=6, items=ITEMS, valid_until=NOW - 10),
    Entry(type="reflection", text="I work best in the library.", minute=500, importance=7),
    Entry(type="reflection", text="Maria listens to me.", minute=800, importance=7, subjects=(MARIA,)),
    observation("Somebody hummed in the hall.", 810, importance=2),
    message("Maria: I plan to read your paper tomorrow.", 1_000, importance=7),
    observation("The lamp in the dorm is broken.", 1_100, importance=6, location="villa"),
)
PARAMS: dict[str, dict[str, Any]] = {
    "rate": {"estimates": {}},
    "plan": {
        "status": STATUS,
        "ended": {"1-0": "completed", "1-1": "cancelled"},
        "unfinished": [{"description": "Fix the lamp"}, {"description": "Return the books"}],
    },
    "reflect": {"status": STATUS, "since": 3, "repeats": {"4": 2}, "repeated": 6},
}
KINDS: Mapping[str, type[Kind]] = {"rate": RateImportance, "plan": Plan, "reflect": Reflect}


class Noting(Templates):
    """Templates that note the values they are given."""

    given: Mapping[str, Any] = {}

    def render(self, name: str, values: Mapping[str, Any]) -> Rendered:
        self.given = values
        return super().render(name, values)


def full_case(kind: Kind) -> Case:
    case = case_of(kind, STREAM, NOW, profile=FULL, params=PARAMS[kind.name])
    job = msgspec.structs.replace(case.job, character=CHARACTER, summary="Klaus came to the town in spring.")
    villa = Location(id="villa", name="Villa", type="home")
    world = replace(case.world, locations=(*case.world.locations, villa))
    return Case(job=job, profile=case.profile, world=world, memories=case.memories)


def prompted(name: str) -> tuple[str, str, Mapping[str, Any]]:
    templates = Noting()
    kind = KINDS[name](templates)  # type: ignore[call-arg]
    prompt = kind.prompt(full_case(kind))
    return prompt.system, prompt.user, templates.given


SCOPES = {"recount_location": "location:library", "recount_npc": MARIA.replace("agent", "npc"), "recount_world": WORLD}
TOLD = (
    Entry(type="summary", text="The hall was empty.", minute=300, importance=5),
    Entry(type="summary", text="Klaus promised Maria his notes.", minute=900, importance=5),
)
TALK = (
    Entry(
        type="message",
        text="Klaus Mueller: Here are my notes.",
        minute=1_200,
        location="library",
        subjects=(KLAUS, MARIA),
    ),
    Entry(type="message", text="Maria Lopez: At last!", minute=1_205, location="library", subjects=(MARIA, KLAUS)),
)


def recounted(template: str) -> tuple[str, str, Mapping[str, Any]]:
    """What a scope that has told before is asked to recount."""
    scope, templates = SCOPES[template], Noting()
    streams = {scope: Stream(scope), WORLD: Stream(WORLD)}
    for entry in TOLD:
        streams[scope].append(entry, 1)
    for entry in TALK:
        streams[WORLD].append(entry, 2)
    if scope == WORLD:
        triggers = [story_event("quest_completed", ["notes"], {"quest_id": "q7"}, NOW)]
    else:
        triggers = [t for t in location_left("library", [scope] if "npc" in scope else [], NOW) if t.scope == scope]
    profiles = {scope: Profile(name="Maria"), WORLD: Profile(name="The town")}
    ((request,), _) = recounts(triggers, streams, profiles, lambda kind, owner: False)
    reads = (Reads(scope, 99, request.numbers), *request.reads)
    job = Job(
        run="r",
        key=JobKey(3, "recount", scope, 0, 0),
        minute=NOW,
        due=NOW,
        reads=reads,
        params=request.params,
        model="m",
    )
    memories = {one.owner: [streams[one.owner].entries[n] for n in one.numbers or ()] for one in reads}
    case = Case(job=job, profile=profiles[scope], world=TOWN, memories=memories)
    prompt = Recount(templates).prompt(case)
    return prompt.system, prompt.user, templates.given


@pytest.mark.parametrize("template", SCOPES)
def test_a_recount_sees_the_previous_one(template: str) -> None:
    system, user, given = recounted(template)
    assert within(user, "earlier") == [
        "- [day 1, 5:00 AM] The hall was empty.",
        "- [day 1, 3:00 PM] Klaus promised Maria his notes.",
    ]
    assert [line.rpartition(": ")[2] for line in within(user, "memories")] == ["Here are my notes.", "At last!"]
    assert "do not repeat them" in system
    assert given.keys() == VALUES[template]
    for key, value in given.items():
        said = list(leaves(value))
        assert said, f"the case is not full: there is no {key}"
        if (template, key) != ("recount_location", "name"):  # the place goes before it
            assert [text for text in said if text not in user] == [], key


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Location):  # its tags are for heuristics
        value = [value.name, value.type]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        yield str(neutral(value))


@pytest.mark.parametrize("name", KINDS)
def test_every_value_that_a_kind_gives_stands_in_its_prompt(name: str) -> None:
    _, user, given = prompted(name)
    assert given.keys() == VALUES[name]
    for key, value in given.items():
        said = list(leaves(value))
        assert said, f"the case is not full: there is no {key}"
        assert [text for text in said if text not in user] == [], key


@pytest.mark.parametrize("name", ["plan", "reflect"])
def test_marks_of_lines_are_explained(name: str) -> None:
    system, user, _ = prompted(name)
    marks = set(re.findall(r"^- (\[[a-z]+\])", user, flags=re.MULTILINE))
    assert marks == {"[known]", "[earlier]"}
    assert [mark for mark in marks if mark not in system] == []


def within(user: str, fence: str) -> list[str]:
    """The lines between the fences of this name."""
    return user.partition(f"<{fence}>\n")[2].partition(f"\n</{fence}>")[0].splitlines()


def test_a_reflection_sees_repeats_earlier_reflections_and_the_present_condition() -> None:
    system, user, _ = prompted("reflect")
    memories = within(user, "memories")
    assert "- [day 1, 1:30 PM] Somebody hummed in the hall. (3 times)" in memories
    assert sum("times)" in line for line in memories) == 1
    assert within(user, "reflections") == [
        "- [day 1, 8:20 AM] I work best in the library.",
        "- [day 1, 1:20 PM] Maria listens to me.",
    ]
    assert "Condition: energy: almost exhausted; mood: far from miserable\n" in user
    assert '"(3 times)"' in system
    assert "do not repeat it" in system


def test_a_repair_of_a_reflection_does_not_show_its_target() -> None:
    kind = Reflect(Templates())
    user = kind.prompt(case_of(kind, STREAM, NOW, params={"replaces": 3})).user
    assert within(user, "reflections") == ["- [day 1, 8:20 AM] I work best in the library."]


def test_a_plan_sees_the_last_plan_and_its_outcome() -> None:
    system, user, _ = prompted("plan")
    assert within(user, "previous") == [
        "- [day 1, 8:00 AM] Read about rents: done",
        "- [day 1, 12:00 PM] Meet Maria for lunch: given up",
        "- [day 1, 3:00 PM] Fix the lamp: not done",
        "- [day 2, 7:40 AM] Call Isabella: to come",
    ]
    assert within(user, "unfinished") == ["- Return the books"], "what the last plan shows is not said twice"
    assert "<previous> is the last plan" in system
    kind = Plan(Templates())
    assert "<previous>" not in kind.prompt(full_case(kind), 0.2).user, "it gives way when hardly anything fits"
    later = case_of(kind, STREAM, NOW + 3 * 1440)
    assert "<previous>" not in kind.prompt(later).user, "a plan of long ago says nothing of today"
    assert "<previous>" not in kind.prompt(case_of(kind, STREAM, NOW, params={"replaces": 1})).user


def test_the_scale_of_ratings_has_anchors_at_its_ends_and_in_its_middle() -> None:
    system, _, _ = prompted("rate")
    anchors = [int(found) for found in re.findall(r"^(\d+) = .+ \(such as .+\)$", system, flags=re.MULTILINE)]
    assert anchors[0] == 1
    assert anchors[-1] == 10
    assert {4, 5, 6, 7} & set(anchors)
    assert max(b - a for a, b in itertools.pairwise(anchors)) <= 2


def test_a_request_carries_the_condition_of_the_moment() -> None:
    kind = Reflect(Templates())
    stream = stream_of(*(observation(f"Read page {i}.", 420 + i) for i in range(30)))
    status = {"mood": 62.5, "energy": 35, "name": "x"}
    found = [one for minute in range(1_000, 2_000, 10) for one in kind.due(moment_of(stream, minute, status=status))]
    assert found[0].params["status"] == {"energy": 35, "mood": 62.5}
    assert list(found[0].params["status"]) == ["energy", "mood"]


def test_a_reflection_prompt_states_its_focus_and_traits() -> None:
    prompt = Reflect(Templates()).prompt(case_of(Reflect(Templates()), stream_of(observation("It rained.", 10)), 700))
    for said in ("patterns", "relationships changed", "learned", "feel"):
        assert said in prompt.system
    assert "Traits: kind, inquisitive\n" in prompt.user


@pytest.mark.parametrize("ended", [None, "completed", ["completed"], 3])
def test_a_last_plan_without_statuses_has_no_outcome(ended: object) -> None:
    kind = Plan(Templates())
    case = case_of(kind, STREAM, NOW, profile=FULL, params={**PARAMS["plan"], "ended": ended})
    assert within(kind.prompt(case).user, "previous")[0] == "- [day 1, 8:00 AM] Read about rents: not done"
