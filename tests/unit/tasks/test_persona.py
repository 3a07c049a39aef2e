"""The prompt of each thinking kind shows the persona that the host states."""

from __future__ import annotations

import pytest

from cogitate.memory.profile import Profile
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.integrate import Integrate
from cogitate.tasks.kind import Kind
from cogitate.tasks.plan import Plan
from cogitate.tasks.rate import RateImportance
from cogitate.tasks.recall import MAX_SHOWN
from cogitate.tasks.recount import Recount
from cogitate.tasks.reflect import Reflect
from cogitate.tasks.summarise import Summarise
from cogitate.workers.jobs.fitting import fit
from tests.unit.tasks.kind_cases import case_of, observation, stream_of

TEMPLATES = Templates()
KINDS: list[Kind] = [
    Plan(TEMPLATES),
    Reflect(TEMPLATES),
    Act(TEMPLATES),
    RateImportance(TEMPLATES),
    Integrate(TEMPLATES),
]
JIN = Profile(
    name="Jin Seo",
    age=43,
    occupation="nurse",
    traits=("cautious",),
    currently="preparing the talks on pensions",
    background="Jin raised two sons alone and wants a rate of 13 percent.",
)
STREAM = stream_of(observation("Ben argued for 12 percent.", 500, tags=(INTEGRATE,)))
PARAMS = {"start": 0, "end": 1, "done": 1}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_thinking_kind_shows_the_persona_first(kind: Kind) -> None:
    prompt = kind.prompt(case_of(kind, STREAM, 600, profile=JIN, params=PARAMS))
    stable = prompt.user.partition("<memories>")[0]
    for word in ("Jin Seo", "43", "nurse", "cautious", "two sons", "13 percent", "talks on pensions"):
        assert word in stable
    assert "Jin" not in prompt.system, "the same for every agent"


@pytest.mark.parametrize("kind", [*KINDS, Summarise(TEMPLATES), Recount(TEMPLATES)], ids=lambda kind: kind.name)
def test_each_kind_that_writes_names_the_language_to_write_in(kind: Kind) -> None:
    default, declared = (
        kind.prompt(case_of(kind, STREAM, 600, profile=Profile(name="Jin Seo", language=language), params=PARAMS)).user
        for language in ("", "fr")
    )
    assert ("in the language of the memories." in default) is (kind.name != "rate")
    assert ("in French." in declared) is (kind.name != "rate")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_long_persona_is_cut_and_leaves_room_for_memories(kind: Kind) -> None:
    long = Profile(name="Jin Seo", background="两个儿子" * 2_000, currently="sons " * 2_000)
    case = case_of(kind, STREAM, 600, profile=long, params=PARAMS)
    prompt = fit(kind, case, kind.prompt_cap)
    assert "Ben argued" in prompt.user
    assert prompt.user.count("两个儿子") <= MAX_SHOWN // 4


@pytest.mark.parametrize(
    ("routine", "lines"),
    [
        (
            ("06:15 Get up @home", "9:00–17:30 Work @work", "~19h30 chess {place} @cafe", "patrol the wall"),
            [
                "6:15 AM: Get up (home)",
                "9:00 AM–5:30 PM: Work (Oak Hill Library)",
                "~7:30 PM: chess Hobbs Cafe",
                "patrol the wall",
            ],
        ),
        ("8:00 巡逻；20:00 休息", ["8:00 AM: 巡逻", "8:00 PM: 休息"]),
        ("8:00 watch\n20:00 rest; 25:00 sleep", ["8:00 AM: watch", "8:00 PM: rest", "25:00 sleep"]),
        (
            "She goes to bed around 11pm, wakes up at 6am; works from 9:00 to 17:00.",
            ["She goes to bed around 11pm, wakes up at 6am", "works from 9:00 to 17:00."],
        ),
    ],
)
def test_a_routine_has_a_line_for_each_habit_with_times_as_a_plan_has_them(
    routine: str | tuple[str, ...], lines: list[str]
) -> None:
    profile = Profile(name="Jin Seo", home="dorm", work="library", routine=routine)
    shown = Plan(TEMPLATES).prompt(case_of(Plan(TEMPLATES), STREAM, 600, profile=profile)).user
    assert shown.partition("Routine:\n")[2].partition("\nHome:")[0].splitlines() == [f"- {line}" for line in lines]
