"""The calls of a recorded day: who makes how many at which step, and when their results are used."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.pace.recorded_calls import RATING, THOUGHT, RecordedCalls, calls_of, recordings_in, steps_of
from bench.recording.load_profile import job_demand
from tests.repository import ROOT


@pytest.fixture(scope="module")
def calls() -> list[RecordedCalls]:
    (recording,) = recordings_in(ROOT / "simulation" / "recordings")
    return calls_of(recording)


def test_there_are_as_many_calls_as_the_load_of_the_recording_says(calls: list[RecordedCalls]) -> None:
    (recording,) = recordings_in(ROOT / "simulation" / "recordings")
    _, *lines = job_demand(recording).splitlines()
    rows = [[int(cell) for cell in line.split(",")[1:]] for line in lines]
    of = Counter[str]()
    for one in calls:
        of[one.kind] += one.number
    assert of[RATING] == sum(ratings + chats for ratings, chats, _, _ in rows)
    assert of[THOUGHT] == sum(asked for *_, asked in rows) > 0


def test_a_result_is_used_when_the_agent_next_reflects_or_talks(calls: list[RecordedCalls]) -> None:
    (recording,) = recordings_in(ROOT / "simulation" / "recordings")
    reflected = {(one.owner, one.step) for one in calls if one.kind == THOUGHT}
    end = steps_of(recording)
    used = {(one.owner, one.use) for one in calls if one.use != end}
    assert reflected & used
    for one in calls:
        assert one.step < one.use <= end
        assert not any(one.step < step < one.use for owner, step in reflected if owner == one.owner)
