"""Prompts of different owners begin alike, for the caches of providers: instructions, places, and then who is asked."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.profile import Profile
from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.plan import Plan
from cogitate.tasks.reflect import Reflect
from tests.unit.tasks.kind_cases import KLAUS, MARIA, PROFILE, case_of, observation, stream_of

TEMPLATES = Templates()
OTHER = Profile(name="Maria Lopez", age=21, occupation="student of physics", traits=("curious",))


def asked(kind: Any, owner: str, profile: Profile) -> str:
    stream = stream_of(*(observation(f"{profile.name} saw boat {n}.", 400 + n) for n in range(5)), owner=owner)
    prompt = kind.prompt(case_of(kind, stream, 800, profile=profile))
    return f"{prompt.system}\n{prompt.user}"


@pytest.mark.parametrize("kind", [Plan, Act, Reflect])
def test_prompts_of_two_owners_are_alike_up_to_the_name(kind: type[Any]) -> None:
    one, other = asked(kind(TEMPLATES), KLAUS, PROFILE), asked(kind(TEMPLATES), MARIA, OTHER)
    shared, named, _ = one.partition(PROFILE.name)
    assert named
    assert other.partition(OTHER.name)[0] == shared
    assert ("- Hobbs Cafe" in shared) == (kind is not Reflect), "places are shared; a reflection shows none"


@pytest.mark.parametrize("kind", [Plan, Act, Reflect])
def test_the_question_comes_last(kind: type[Any]) -> None:
    question = asked(kind(TEMPLATES), KLAUS, PROFILE).splitlines()[-1]
    assert PROFILE.name in question
    assert question.endswith("?")
