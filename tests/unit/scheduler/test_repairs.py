"""Which provisional entries are repaired, in which order, and when."""

from __future__ import annotations

import pytest

from memory.apply import apply
from memory.entry import Entry
from memory.stream import Stream
from scheduler.budget.repairs import FAILED, failed_repair, is_time, repairs
from tasks.job import Request
from tests.unit.tasks.kind_cases import KLAUS, message, observation, stream_of

EVENING = 1200


def reflection(minute: int, importance: int = 6, provisional: bool = True) -> Entry:
    return Entry(type="reflection", text="A day.", minute=minute, importance=importance, provisional=provisional)


def day(owner: str = KLAUS, importance: int = 6) -> Stream:
    """Five things seen, two of them before an earlier reflection, and a provisional reflection."""
    return stream_of(
        *(observation(f"Saw {i}.", 500 + i) for i in range(2)),
        reflection(510, provisional=False),
        *(observation(f"Saw {i}.", 600 + i) for i in range(3)),
        reflection(1100, importance),
        observation("Saw the moon.", 1150),
        owner=owner,
    )


def wanted(*streams: Stream, minute: int = EVENING) -> list[Request]:
    return repairs({stream.owner: stream for stream in streams}, minute)


def test_a_reflection_is_repaired_from_what_it_was_made_of() -> None:
    stream = day()
    stream.archive(5, 2)
    (request,) = wanted(stream)
    assert (request.kind, request.numbers) == ("reflect", (4, 5, 6))
    assert request.params == {"replaces": 7, "minute": 1100}
    assert request.priority < 0


def test_the_most_important_goes_first_then_the_oldest_then_by_owner() -> None:
    streams = [day("agent:b", 6), day("agent:a", 6), day("agent:c", 8)]
    streams[0].append(reflection(1000, 6), 3)  # too little to reflect on: stays as it is
    assert [request.owner for request in wanted(*streams)] == ["agent:c", "agent:a", "agent:b"]


def test_what_is_not_provisional_or_gone_is_left_alone() -> None:
    stream = day()
    stream.archive(7, 5)
    assert wanted(stream, stream_of(reflection(500, provisional=False), owner="agent:x")) == []


def test_a_summary_is_repaired_while_its_lines_are_kept() -> None:
    stream = stream_of(message("Hello.", 600), message("See you at five.", 601))
    summary = Entry(
        type="summary", text="They met.", minute=601, importance=4, source="dialogue", evidence=(1, 2), provisional=True
    )
    stream.append(summary, 9)
    for number in (1, 2):
        stream.archive(number, 9, 3)
    (request,) = wanted(stream)
    assert (request.kind, request.numbers, request.params["replaces"]) == ("summarise", (1, 2), 3)
    stream.delete([1])
    assert wanted(stream) == []


@pytest.mark.parametrize(("minute", "count"), [(360 + 12 * 60, 1), (361 + 12 * 60, 0), (EVENING, 0)])
def test_a_plan_is_repaired_while_half_a_day_of_it_is_left(minute: int, count: int) -> None:
    plan = Entry(type="plan", text="Plan.", minute=360, importance=6, valid_until=360 + 1440, provisional=True)
    assert len(wanted(stream_of(plan), minute=minute)) == count


def test_an_owner_whose_repair_failed_is_left_alone_until_the_next_day() -> None:
    stream = day()
    effect = failed_repair(KLAUS, EVENING)
    apply({KLAUS: stream}, (effect,), 20)
    assert stream.head.counters[FAILED] == 1
    assert wanted(stream) == []
    assert len(wanted(stream, minute=EVENING + 1440)) == 1


@pytest.mark.parametrize(
    ("minute", "before", "time"),
    [(1200, 1199, True), (1201, 1200, False), (1190, 1189, False), (1260, 1200, True), (1440, 1430, False)],
)
def test_when_to_look(minute: int, before: int, time: bool) -> None:
    assert is_time(minute, before, 1200) is time
    assert not is_time(minute, before, 1440)
