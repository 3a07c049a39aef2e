"""Jobs as they are named and kept: what is left out of a journal means the same in every version."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.clock import Clock
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.unreadable import UnreadableEntry
from cogitate.tasks.job import Cost, Job, JobKey, Reads, Request, added, split_job_id, ticks_of
from cogitate.tasks.kind import WorldFacts, build_case
from tests.unit.scheduler.scheduler_case import ANN, BOB

LEFT_OUT: list[tuple[type[Any], dict[str, Any], dict[str, Any]]] = [
    (Reads, {"owner": "a", "upto": 3}, {"numbers": None}),
    (
        Request,
        {"kind": "plan", "owner": "a"},
        {"priority": 0, "params": {}, "numbers": None, "reads": [], "trial": 0, "at": 0, "within": 0},
    ),
    (
        Job,
        {"run": "r", "key": [1, "plan", "a", 0, 0], "minute": 3, "due": 4, "reads": []},
        {
            "params": {},
            "priority": 0,
            "model": "",
            "prompt_cap": 0,
            "output_cap": 0,
            "correction": 1_000,
            "correction_others": 1_000,
            "facts": 0,
            "summary": "",
            "summary_version": 0,
            "character": {},
            "reserved": {},
            "ahead": 0,
            "at": 0,
            "refused": "",
            "valued": None,
        },
    ),
]


@pytest.mark.parametrize(("struct", "given", "rest"), LEFT_OUT, ids=[struct.__name__ for struct, _, _ in LEFT_OUT])
def test_defaults_are_unchanged(struct: type[Any], given: dict[str, Any], rest: dict[str, Any]) -> None:
    read = typed_json.decode(msgspec.json.encode(given), struct)
    assert {name: typed_json.decode(msgspec.json.encode(getattr(read, name))) for name in rest} == rest
    assert {*struct.__struct_fields__} == {*given, *rest}
    assert typed_json.decode(msgspec.json.encode(read)).keys() == given.keys()


def test_a_cost_is_nothing_at_first_and_adds_up_unit_by_unit() -> None:
    assert msgspec.structs.astuple(Cost()) == (0, 0, 0)
    assert added(Cost(1, 20, 300), Cost(4, 50, 600)) == Cost(5, 70, 900)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (JobKey(3, "plan", "agent:ann", 1, 2), "3/plan/agent:ann/1/2"),
        (JobKey(3, "plan", "agent:a/b//c", 0, 0), "3/plan/agent:a/b//c/0/0"),
        (JobKey(0, "x", "", 0, 0), "0/x//0/0"),
    ],
)
def test_a_key_survives_a_round_trip_with_any_owner(key: JobKey, text: str) -> None:
    assert key.text() == text
    assert JobKey.parse(text) == key
    assert split_job_id(f"run/{text}") == ("run", key)
    assert Job(run="run", key=key, minute=0, due=1, reads=()).id == f"run/{text}"


@pytest.mark.parametrize("text", ["", "x", "1/plan/a", "1/plan/a/0", "x/plan/a/0/0", "1/plan/a/x/0", "1/plan/a/0/x"])
def test_an_invalid_key_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{text}' is not a job key: expected"):
        JobKey.parse(text)


def test_a_long_invalid_key_is_cut() -> None:
    with pytest.raises(ValueError, match=rf"^'{'x' * 200}' is"):
        JobKey.parse("x" * 300)
    with pytest.raises(ValueError, match=rf"^'/{'x' * 199}' is not a job id"):
        split_job_id("/" + "x" * 300)


@pytest.mark.parametrize("text", ["", "run", "/1/plan/a/0/0"])
def test_an_invalid_job_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a job id"):
        split_job_id(text)


def test_a_case_holds_its_readable_entries_as_of_its_time_by_number() -> None:
    def entry(number: int, made: type[Entry] = Entry, **more: Any) -> Entry:
        return made(type="observation", text=f"No. {number}.", minute=1, number=number, tick=1, **more)

    kept = {
        ANN: [entry(5), entry(4), entry(1), entry(2, UnreadableEntry), entry(3, importance=8, rated=9)],
        BOB: [entry(7, importance=8, rated=8)],
    }
    job = Job(run="r", key=JobKey(8, "plan", ANN, 0, 0), minute=3, due=4, reads=(Reads(ANN, 4), Reads(BOB, 9)))
    case = build_case(job, Profile(name="Ann"), WorldFacts(), lambda reads: iter(kept[reads.owner]))
    assert [one.number for one in case.memories[ANN]] == [1, 3, 4], "neither later ones nor what cannot be read"
    assert [one.importance for one in case.memories[ANN]] == [0, 0, 0], "it was rated after the job was made"
    assert [one.importance for one in case.memories[BOB]] == [8]
    assert (case.job, case.profile.name, case.world) == (job, "Ann", WorldFacts())


@pytest.mark.parametrize("latency", ["soon", "0s", "5", "-1s"])
@pytest.mark.parametrize("rate", [None, 20.0])
def test_an_invalid_latency_is_refused(latency: str, rate: float | None) -> None:
    with pytest.raises(ValueError, match=f"{latency!r} is not a latency"):
        ticks_of(latency, tick_rate=rate, clock=Clock(seconds_per_tick=60))
