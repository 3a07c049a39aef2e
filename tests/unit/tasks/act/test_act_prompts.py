"""What a prompt for an action shows, and what a request for one carries."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.entry import Entry
from cogitate.simulation.world import fed
from cogitate.tasks.situation import MOST_ACTIONS, MOST_NEAR
from tests.unit.tasks.act.act_case import ACTING, KIND, act, lived, plan, turn
from tests.unit.tasks.kind_cases import case_of, observation, stream_of


def test_the_prompt_shows_the_present_plan_item_and_memories() -> None:
    stream = lived(plan())
    ((tick, params),) = turn(stream)
    prompt = KIND.prompt(case_of(KIND, stream, tick, params=params, world=ACTING))
    assert "Present plan item: 10:00 AM Write the paper (Oak Hill Library)" in prompt.user
    assert "Next: 1:00 PM Have lunch with Maria (Hobbs Cafe)" in prompt.user
    assert "bring the paper!" in prompt.user
    assert "- Hobbs Cafe (cafe)" in prompt.user
    assert set(prompt.used) == {1, 2}
    assert len(KIND.prompt(act(stream_of(*(observation(f"Saw {i}.", i) for i in range(30))))).used) == 8


def test_the_prompt_shows_neighbours_actions_and_the_meaning_of_marks() -> None:
    asked = act(lived(plan()), near=["agent:maria", "a stranger"], actions=["read", "sleep on the desk"])
    prompt = KIND.prompt(asked)
    assert "Near: Maria Lopez, a stranger\n" in prompt.user
    assert "Available actions: read; sleep on the desk\n" in prompt.user
    assert "[known] marks facts that are always true" in prompt.system
    situation = prompt.user.partition("<situation>\n")[2].partition("</situation>")[0]
    assert "Near: " in situation
    assert "Available actions: " in situation, "what the host tells is data"
    bare = KIND.prompt(act(lived(plan()))).user
    assert "Available actions" not in bare
    assert "Near" not in bare
    assert bare.endswith("What does Klaus Mueller do next?")


def test_the_present_plan_item_is_told_once() -> None:
    item = {"id": "1-0", "description": "Write the paper", "location": "library", "minute": 600}
    user = KIND.prompt(act(lived(plan()), item=item, activity="Write the paper")).user
    assert user.partition("<memories>")[0].count("Write the paper") == 1
    assert "\nDoing: the present plan item\n" in user
    assert "\nDoing: Write a letter\n" in KIND.prompt(act(lived(plan()), item=item, activity="Write a letter")).user


def test_a_request_carries_neighbours_and_actions() -> None:
    ((_, params),) = turn(lived(plan()), near=("agent:maria",), actions=["read"])
    assert (params["near"], params["actions"]) == (["agent:maria"], ["read"])
    crowd, choices = [f"agent:{n}" for n in range(MOST_NEAR + 1)], [f"do {n}" for n in range(MOST_ACTIONS + 1)]
    ((_, params),) = turn(lived(plan()), near=crowd, actions=choices)
    assert (params["near"], params["actions"]) == (crowd[:-1], choices[:-1]), "as many as a request may name"


def test_a_request_carries_numeric_meters_in_a_fixed_order() -> None:
    ((_, params),) = turn(lived(plan()), status={"mood": 50, "name": "Bo", "hunger": 60.5, "energy": 70})
    assert list(params["status"].items()) == [("energy", 70), ("hunger", 60.5), ("mood", 50)]


def test_the_prompt_shows_meters_with_unit_and_direction_and_the_stage_of_the_story() -> None:
    vote = replace_tags(observation("Voting initiated.", 700), ("phase:council", "stage:voting", "round:2"))
    user = KIND.prompt(act(lived(plan(), vote), status={"hunger": fed(12), "gold": 3_000})).user
    assert "Condition: hunger: starving; gold 3000\n" in user
    assert "Under way: phase council, stage voting, round 2\n" in user


def replace_tags(entry: Entry, tags: tuple[str, ...]) -> Entry:
    return msgspec.structs.replace(entry, tags=tags)


@pytest.mark.parametrize(
    ("situation", "remembered"),
    [
        ({"item": {"id": "1", "description": "Mend the lighthouse"}}, "lighthouse"),
        ({"later": {"id": "2", "description": "Feed the donkeys"}}, "donkeys"),
        (
            {
                "item": {"id": "1", "description": "Mend the lighthouse"},
                "later": {"id": "2", "description": "Feed the donkeys"},
            },
            "lighthouse",
        ),
    ],
)
def test_the_prompt_recalls_the_present_item_or_else_the_next(situation: dict[str, Any], remembered: str) -> None:
    others = [observation(f"Saw page {i} of the book.", 700 + i % 10) for i in range(30)]
    stream = stream_of(observation("The lighthouse is dark.", 1), observation("The donkeys are hungry.", 2), *others)
    user = KIND.prompt(act(stream, **situation)).user
    assert [word for word in ("lighthouse", "donkeys") if f"The {word} " in user] == [remembered]


def test_a_prompt_shows_eight_memories() -> None:
    stream = stream_of(*(observation(f"Saw heron number {i}.", 600 + i) for i in range(12)))
    assert KIND.prompt(act(stream)).user.count("Saw heron") == 8
