"""A job's parameter of another type than its kind writes counts as omitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.kind import Kind
from cogitate.tasks.plan import Plan
from cogitate.tasks.plan_times import FROM
from cogitate.tasks.reflect import Reflect
from tests.unit.tasks.every_kind.test_full_prompts import FULL, NOW, PARAMS, STREAM
from tests.unit.tasks.kind_cases import case_of, moment_of, observation, stream_of

KINDS: dict[str, Kind] = {"act": Act(Templates()), "plan": Plan(Templates()), "reflect": Reflect(Templates())}
SAID: dict[str, dict[str, Any]] = {
    "act": {
        "status": {"energy": 3},
        "location": "library",
        "activity": "Write",
        "near": ["agent:maria"],
        "actions": ["read"],
        "item": {"id": "1-0", "description": "Write the paper", "minute": 600},
        "later": {"id": "1-1", "description": "Have lunch", "minute": 780},
    },
    "plan": {**PARAMS["plan"], FROM: NOW + 90, "replaces": 1, "minute": NOW - 10, "done": ["Write the paper"]},
    "reflect": {**PARAMS["reflect"], "replaces": 3, "minute": NOW - 9, "plan": {"1-0": "completed"}},
}
WRONG = (None, "x", 3, -1.5, ["x", [1]], {"x": [1]})


def told(kind: Kind, params: Mapping[str, Any]) -> list[object]:
    """What the prompt shows of a job with these parameters, and what its heuristic makes of it."""
    case = case_of(kind, STREAM, NOW, profile=FULL, params=dict(params))
    return [kind.prompt(case).user, kind.heuristic(case)]


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, said in SAID.items() for key in said])
def test_a_parameter_of_another_type_counts_as_none(name: str, key: str) -> None:
    kind, said = KINDS[name], SAID[name]
    without = told(kind, {other: value for other, value in said.items() if other != key})
    for wrong in WRONG:
        if not isinstance(wrong, type(said[key])):
            assert told(kind, {**said, key: wrong}) == without, wrong


@pytest.mark.parametrize(
    ("name", "key"),
    [("act", key) for key in SAID["act"]] + [("plan", "status"), ("plan", "unfinished"), ("reflect", "status")],
)
def test_a_parameter_of_its_type_is_heeded(name: str, key: str) -> None:
    said = SAID[name]
    assert told(KINDS[name], said) != told(KINDS[name], {other: value for other, value in said.items() if other != key})


@pytest.mark.parametrize("status", [None, "ill", 3, ["energy"]])
def test_a_condition_that_names_no_meters_is_not_carried(status: object) -> None:
    stream = stream_of(*(observation(f"Read page {i}.", 420 + i) for i in range(30)))
    kind = KINDS["reflect"]
    found = [one for at in range(1_000, 2_000, 10) for one in kind.due(moment_of(stream, at, status=status))]
    assert found
    assert "status" not in found[0].params
