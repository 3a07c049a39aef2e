"""The game time that a job writes about, and the entry that a repair replaces."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.tasks.job import Job, JobKey
from cogitate.tasks.recall import replaced_entry, result_minute


def job(**params: Any) -> Job:
    return Job(run="r", key=JobKey(9, "plan", "agent:a", 0, 0), minute=600, due=12, reads=(), params=params)


@pytest.mark.parametrize(
    ("params", "entry", "minute"),
    [
        ({}, 0, 600),
        ({"minute": 5}, 0, 600),
        ({"replaces": 3}, 3, 600),
        ({"replaces": 3, "minute": 5}, 3, 5),
        ({"replaces": 3, "minute": "noon"}, 3, 600),
        ({"replaces": "3", "minute": 5}, 0, 600),
        ({"replaces": 0, "minute": 5}, 0, 600),
    ],
)
def test_only_a_repair_is_dated_as_its_target(params: dict[str, Any], entry: int, minute: int) -> None:
    assert (replaced_entry(job(**params)), result_minute(job(**params))) == (entry, minute)
