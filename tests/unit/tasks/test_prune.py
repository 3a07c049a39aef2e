"""Pruning: when it is due, what it takes, and that it keeps what matters."""

from __future__ import annotations

import itertools

import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Archive
from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import SummaryAnswer
from cogitate.tasks.prune import EVERY, SOON, Prune
from tests.unit.tasks.kind_cases import (
    KLAUS,
    MARIA,
    WORLD,
    appended,
    case_of,
    due_turn,
    message,
    moment_of,
    observation,
    stream_of,
)

KIND = Prune()


def crowded(count: int = 175, importance: int = 2) -> Stream:
    return stream_of(*(observation(f"Saw tree {i}.", 400 + i, importance=importance) for i in range(count)))


def test_it_is_due_every_hundred_ticks_at_an_owners_own_tick() -> None:
    stream = crowded()
    ticks = [tick for tick in range(600, 900) if list(KIND.due(moment_of(stream, 2000, tick=tick)))]
    assert len(ticks) == 3
    assert {b - a for a, b in itertools.pairwise(ticks)} == {EVERY}
    others = {
        next(t for t in range(100) if list(KIND.due(moment_of(stream_of(*stream.live(), owner=o), 2000, tick=t))))
        for o in (f"agent:{i}" for i in range(20))
    }
    assert len(others) > 10


def test_it_has_no_model_and_the_lowest_priority() -> None:
    (request,) = due_turn(KIND, crowded(), 600)
    assert (request.priority, KIND.prompt_cap, KIND.output_cap) == (1, 0, 0)


def test_it_wakes_at_its_own_turn() -> None:
    stream = crowded()
    moment = moment_of(stream, 2000, tick=600)
    wake = KIND.wake(moment)
    assert wake is not None
    assert 600 < wake <= 600 + EVERY
    assert list(KIND.due(moment_of(stream, 2000, tick=wake)))


def test_near_the_limit_it_does_not_wait_for_its_turn() -> None:
    assert len([t for t in range(600, 700) if list(KIND.due(moment_of(crowded(182), 2000, tick=t)))]) == 100 // SOON


@pytest.mark.parametrize(("count", "times"), [(179, 1), (180, 100 // SOON)])
def test_at_nine_tenths_of_the_limit_it_waits_no_longer(count: int, times: int) -> None:
    asked = [tick for tick in range(600, 700) if list(KIND.due(moment_of(crowded(count), 2000, tick=tick)))]
    assert len(asked) == times
    wakes = {KIND.wake(moment_of(crowded(count), 2000, tick=tick)) for tick in range(600, 700)}
    assert len(wakes) in (times, times + 1)


@pytest.mark.parametrize(("age", "soon"), [(42 * 60 - 1, False), (42 * 60, True)])
def test_an_ordinary_conversation_waits_for_its_turn_until_it_is_overdue(age: int, soon: bool) -> None:
    talk = stream_of(message("Maria: Hello!", 10_000 - age), message("Klaus: Bye.", 10_000 - age + 1))
    asked = [tick for tick in range(600, 700) if list(KIND.due(moment_of(talk, 10_000, tick=tick)))]
    assert len(asked) == (100 // SOON if soon else 1)


def test_it_is_not_due_when_there_is_nothing_to_prune() -> None:
    assert due_turn(KIND, crowded(100), 600) == []
    assert due_turn(KIND, crowded(175, importance=5), 600) == []
    assert due_turn(KIND, stream_of(), 600) == []


def test_routine_observations_become_one_summary_by_place() -> None:
    stream = crowded()
    (request,) = due_turn(KIND, stream, 2000)
    effects = KIND.heuristic(case_of(KIND, stream, 2000, request=request))
    (summary,) = appended(effects)
    assert summary.type == "summary"
    assert summary.importance == 3
    assert "routine events occurred" in summary.text
    assert request.numbers == summary.evidence
    apply({KLAUS: stream}, effects, 2000)
    assert stream.observed() == 150


def test_important_memories_are_never_taken() -> None:
    stream = crowded(150)
    for i in range(25):
        stream.append(observation(f"Learned secret {i}.", 100, importance=5 + i % 6), 2)
    (request,) = due_turn(KIND, stream, 9000)
    taken = [stream.entries[n] for n in request.numbers or ()]
    assert taken
    assert all(e.importance < 5 for e in taken)


def test_each_ordinary_old_conversation_becomes_a_summary() -> None:
    stream = stream_of(
        message("I will bring 3 cakes on day 5.", 500),
        message("Thanks.", 501, speaker=KLAUS, hearer=MARIA),
        message("Hello again, the cakes are 4 now.", 800),
        *(message(f"Long talk line {i}.", 600 + i, speaker="agent:isabella") for i in range(10)),
    )
    (request,) = due_turn(KIND, stream, 800 + 36 * 60)
    assert request.numbers == (1, 2, 3)
    effects = KIND.heuristic(case_of(KIND, stream, 800 + 36 * 60, request=request))
    morning, later = appended(effects)
    assert {morning.source, later.source} == {"dialogue"}
    assert ("3 cakes" in morning.text, "4 now" in later.text) == (True, True)
    gone = [effect for effect in effects if isinstance(effect, Archive)]
    assert gone == [Archive(owner=KLAUS, numbers=numbers, into_appended=True) for numbers in ((1, 2), (3,))]


def test_entries_of_open_jobs_are_left_alone() -> None:
    stream = stream_of(message("Hi.", 500), message("Hello.", 501))
    assert due_turn(KIND, stream, 500 + 37 * 60, open_numbers={1, 2}) == []


def test_reflections_and_plans_beyond_their_limits_are_archived() -> None:
    stream = stream_of(
        *(Entry(type="reflection", text=f"Quiet day {i}.", minute=i, importance=4) for i in range(52)),
        *(Entry(type="plan", text=f"Plan {i}.", minute=i * 1440, valid_until=(i + 1) * 1440) for i in range(9)),
    )
    (request,) = due_turn(KIND, stream, 9 * 1440)
    effects = KIND.heuristic(case_of(KIND, stream, 9 * 1440, request=request))
    assert unmet({KLAUS: stream}, effects) is None
    apply({KLAUS: stream}, effects, 1)
    assert stream.count("reflection") == 48
    assert stream.count("plan") == 7


@pytest.mark.parametrize(("hour", "told"), [("1:24 AM", "was going to sell"), ("1:26 AM", "will sell")])
def test_events_past_at_the_due_time_are_told_in_the_past(hour: str, told: str) -> None:
    """The job is due five ticks, here minutes, after its request."""
    more = [f"The baker says that oven {n} of the mill burns by night, and that nobody mends it." for n in range(8)]
    lines = [f"I will sell 3 cakes on day 2 at {hour}.", *more]  # too long for minutes
    stream = stream_of(*(message(said, 500) for said in lines))
    minute = 1_440 + 80
    params = {"routine": [], "talks": [[*range(1, len(lines) + 1)]]}
    (summary,) = appended(KIND.heuristic(case_of(KIND, stream, minute, params=params)))
    assert f"{told} 3 cakes" in summary.text


def test_a_host_may_ask_without_naming_anything() -> None:
    stream = crowded()
    effects = KIND.heuristic(case_of(KIND, stream, 2000))
    apply({KLAUS: stream}, effects, 2000)
    assert stream.observed() == 150
    assert KIND.heuristic(case_of(KIND, stream_of(), 2000)) == ()


def test_entries_archived_meanwhile_are_left_out() -> None:
    stream = crowded()
    (request,) = due_turn(KIND, stream, 2000)
    assert request.numbers is not None
    stream.archive(request.numbers[0], 1)
    effects = KIND.heuristic(case_of(KIND, stream, 2000, request=request))
    assert unmet({KLAUS: stream}, effects) is None


def test_it_never_calls_a_model() -> None:
    assert KIND.output_cap == 0
    case = case_of(KIND, crowded(), 2000, world=WORLD)
    with pytest.raises(NotImplementedError, match="asks no model"):
        KIND.prompt(case)
    with pytest.raises(NotImplementedError, match="asks no model"):
        KIND.effects(case, SummaryAnswer(summary="x"), ())


def test_a_shared_history_is_not_pruned() -> None:
    """The boundary cuts its oldest entries."""
    for owner in ("world", "group:assembly"):
        stream = stream_of(*crowded().live(), owner=owner)
        assert not any(list(KIND.due(moment_of(stream, 2000, tick=tick))) for tick in range(600, 700))
        assert KIND.wake(moment_of(stream, 2000, tick=600)) is None
