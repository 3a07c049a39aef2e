"""Summaries of conversations: when they are due, what they replace, and what a model's answer may do."""

from __future__ import annotations

import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.clock import Clock
from cogitate.memory.effects import Archive, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.job import Request, ticks_of
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.shown import Piece, effects_of
from cogitate.tasks.summarise import LATEST, SETTLED, Summarise
from tests.unit.tasks.kind_cases import (
    ISABELLA,
    KLAUS,
    MARIA,
    WORLD,
    appended,
    case_of,
    due_turn,
    message,
    moment_of,
    stream_of,
)

KIND = Summarise(Templates())
START = 600


def talk(lines: int, importance: int = 4, speaker: str = MARIA, start: int = START) -> list[Entry]:
    return [
        message(f"Line {i} about 7 chairs.", start + i, speaker=speaker, importance=importance) for i in range(lines)
    ]


@pytest.mark.parametrize(
    ("lines", "importance", "age", "due"),
    [
        (10, 4, SETTLED - 40, False),  # long, but not a day old
        (10, 4, SETTLED + 1, True),  # twice the threshold
        (9, 4, SETTLED + 1, False),
        (5, 6, SETTLED + 1, True),  # at the threshold and valuable
        (4, 9, SETTLED + 1, False),
        (1, 1, LATEST - 180, True),  # none may become two days old
        (1, 1, LATEST - 300, False),
    ],
)
def test_due_as_specified(lines: int, importance: int, age: int, due: bool) -> None:
    stream = stream_of(*talk(lines, importance))
    asked = [r for m in range(START + age, START + age + 10) for r in KIND.due(moment_of(stream, m))]
    assert bool(asked) is due
    assert all(r.numbers == tuple(range(1, lines + 1)) for r in asked)


def latency(minutes_per_tick: int) -> int:
    return ticks_of(KIND.latency, tick_rate=None, clock=Clock(seconds_per_tick=60 * minutes_per_tick))


def test_the_catch_all_leaves_time_for_the_job_even_when_ticks_are_long() -> None:
    world = WorldFacts(names=WORLD.names, clock=Clock(seconds_per_tick=1800))
    stream = stream_of(*talk(2))
    first = next(
        tick for tick in range(200) if list(KIND.due(moment_of(stream, START + 30 * tick, tick=tick, world=world)))
    )
    assert 30 * (first + latency(30)) < LATEST


@pytest.mark.parametrize("minutes_per_tick", [1, 5, 20, 30])
@pytest.mark.parametrize("lead", [0, 12])
def test_a_summary_is_ready_in_time_for_any_owner_and_latency(minutes_per_tick: int, lead: int) -> None:
    world, ticks = (
        WorldFacts(names=WORLD.names, clock=Clock(seconds_per_tick=60 * minutes_per_tick)),
        LATEST // minutes_per_tick,
    )
    for number in range(10):  # each has turns of its own
        stream = stream_of(*talk(1, 1, start=0), owner=f"agent:{number}")
        first = next(
            tick
            for tick in range(ticks // 3, ticks + 50)
            if list(KIND.due(moment_of(stream, minutes_per_tick * tick, tick=tick, world=world, lead=lead)))
        )
        assert minutes_per_tick * (first + max(lead, latency(minutes_per_tick))) < LATEST


@pytest.mark.parametrize(
    ("minutes_per_tick", "age"), [(30, LATEST - 30 * 13), (90, LATEST - 90 * 13), (120, LATEST - 120 * 13)]
)
def test_a_few_lines_are_left_alone_as_long_as_a_turn_and_a_job_still_come_in_time(
    minutes_per_tick: int, age: int
) -> None:
    world, ages = WorldFacts(names=WORLD.names, clock=Clock(seconds_per_tick=60 * minutes_per_tick)), []
    for number in range(40):  # each has turns of its own
        stream = stream_of(*talk(1, 1, start=0), owner=f"agent:{number}")
        ages += [
            minutes_per_tick * tick
            for tick in range(110)
            if list(KIND.due(moment_of(stream, minutes_per_tick * tick, tick=tick, world=world)))
        ]
    assert min(ages) == age, "a job of 20 minutes after a turn that comes each 10 ticks, and 2 to spare"


def test_an_owner_with_an_old_talk_requests_once_in_ten_ticks() -> None:
    stream, begin = stream_of(*talk(10)), START + SETTLED + 10
    asked = [tick for tick in range(begin, begin + 40) if list(KIND.due(moment_of(stream, tick, tick=tick)))]
    assert asked == [asked[0], asked[0] + 10, asked[0] + 20, asked[0] + 30]


def test_one_request_for_each_conversation_and_none_for_entries_of_open_jobs() -> None:
    stream = stream_of(*talk(10), *talk(10, speaker=ISABELLA))
    minute = START + SETTLED + 20
    both = due_turn(KIND, stream, minute)
    assert [r.numbers for r in both] == [tuple(range(1, 11)), tuple(range(11, 21))]
    assert {r.priority for r in both} == {2}, "before pruning, and after plans and reflections"
    rest = due_turn(KIND, stream, minute, open_numbers=frozenset(range(1, 11)))
    assert [r.numbers for r in rest] == [tuple(range(11, 21))]
    assert due_turn(KIND, stream, minute, open_numbers=frozenset(range(1, 21))) == []


def test_waking_at_the_ticks_it_names_misses_no_due_time() -> None:
    stream, minute = stream_of(*talk(10)), START + 30
    while not list(KIND.due(moment_of(stream, minute))):
        wake = KIND.wake(moment_of(stream, minute))
        assert wake is not None
        assert wake > minute
        minute = wake
    assert START + SETTLED < minute <= START + SETTLED + 11
    assert KIND.wake(moment_of(stream_of(), 600)) is None


def run(stream: Stream, request: Request, minute: int = 2100) -> Entry:
    effects = KIND.heuristic(case_of(KIND, stream, minute, request=request))
    assert unmet({KLAUS: stream}, effects) is None
    apply({KLAUS: stream}, effects, minute)
    (summary,) = appended(effects)
    return summary


def test_the_summary_takes_the_place_of_its_sources() -> None:
    last = message("I promise 12 cakes at 5 pm.", 630, importance=9, location="square")
    stream = stream_of(*talk(10, importance=6)[:9], last)
    (request,) = due_turn(KIND, stream, START + SETTLED + 1)
    summary = run(stream, request)
    assert summary.type == "summary"
    assert summary.source == "dialogue"
    assert summary.importance == 9
    assert (summary.minute, summary.since_minute, summary.since_number) == (630, 600, 10)
    assert summary.subjects == (MARIA, KLAUS)
    assert summary.location == "cafe"


def test_a_group_is_archived_into_its_summary() -> None:
    stream = stream_of(*talk(10))
    (request,) = due_turn(KIND, stream, START + SETTLED + 1)
    run(stream, request)
    assert {n: a.into for n, a in stream.archived.items()} == dict.fromkeys(range(1, 11), 11)
    assert due_turn(KIND, stream, START + LATEST) == []


def test_a_host_may_ask_for_any_span_outright() -> None:
    stream = stream_of(*talk(6), Entry(type="plan", text="Plan.", minute=700, valid_until=1800))
    summary = run(stream, Request(kind="summarise", owner=KLAUS, numbers=(2, 3, 4, 7)))
    assert summary.evidence == (2, 3, 4)
    assert stream.is_live(7)


def test_without_a_span_it_takes_the_oldest_conversation() -> None:
    stream = stream_of(*talk(3, speaker=ISABELLA, start=900), *talk(2))
    assert run(stream, Request(kind="summarise", owner=KLAUS)).evidence == (4, 5)


def test_nothing_to_summarise_changes_nothing() -> None:
    request = Request(kind="summarise", owner=KLAUS, numbers=(4, 5))
    case = case_of(KIND, stream_of(*talk(2)), 2100, request=request)
    assert KIND.heuristic(case) == ()
    with pytest.raises(ValueError, match="none of the entries"):
        KIND.effects(case, SummaryAnswer(summary="They talked."), ())


def test_a_models_summary_archives_the_lines_that_were_shown_and_the_rest_is_due_next() -> None:
    stream = stream_of(*talk(60, importance=8))
    (request,) = due_turn(KIND, stream, START + SETTLED + 60)
    case = case_of(KIND, stream, START + SETTLED + 60, request=request)
    prompt = KIND.prompt(case, 0.4)
    shown = tuple(range(1, 25))
    assert prompt.used == prompt.shown == shown, "the oldest, each in full"
    append, archive = effects_of(KIND, case, SummaryAnswer(summary="Maria needs 7 chairs."), prompt)
    (summary,) = appended([append])
    assert (summary.text, summary.evidence, summary.since_number) == ("Maria needs 7 chairs.", shown, 24)
    assert archive == Archive(owner=KLAUS, numbers=shown, into_appended=True, shown=shown)
    apply({KLAUS: stream}, (append, archive), 2100)
    (again,) = due_turn(KIND, stream, START + SETTLED + 100)
    assert again.numbers == tuple(range(25, 61))


def test_two_jobs_for_one_span_cannot_both_be_applied() -> None:
    stream = stream_of(*talk(10))
    (request,) = due_turn(KIND, stream, START + SETTLED + 1)
    case = case_of(KIND, stream, 2100, request=request)
    first = second = KIND.heuristic(case)
    apply({KLAUS: stream}, first, 2100)
    assert unmet({KLAUS: stream}, second) == "entry 1 is not live"


def test_a_repair_replaces_the_provisional_summary_and_archives_nothing_again() -> None:
    stream = stream_of(*talk(3))
    effects = KIND.heuristic(
        case_of(
            KIND,
            stream,
            2100,
            request=Request(kind="summarise", owner=KLAUS, numbers=(1, 2, 3), params={"replaces": 9}),
        )
    )
    assert len(effects) == 1
    assert effects[0].replaces == 9  # type: ignore[union-attr]


def test_the_prompt_shows_the_speaker_of_each_line() -> None:
    stream = stream_of(*talk(2), message("Sure.", START + 2, speaker=KLAUS, hearer=MARIA))
    request = Request(kind="summarise", owner=KLAUS, numbers=(1, 2, 3))
    user = KIND.prompt(case_of(KIND, stream, 2100, request=request)).user
    assert "Maria Lopez: Line 0 about 7 chairs." in user
    assert "Klaus Mueller: Sure." in user
    assert "Where: Hobbs Cafe" in user


@pytest.mark.parametrize(("asked", "told"), [(21, "was going to sing"), (20, "will sing")])
def test_events_past_when_the_summary_is_ready_are_told_in_the_past(asked: int, told: str) -> None:
    """The summary is there some ticks after it was asked for."""
    more = (f"The miller says that wheel {n} of the mill turns by night, and that nobody mends it." for n in range(8))
    lines = ["I will sing at the mill today at 3:00 PM.", *more]  # too long for minutes
    stream = stream_of(*(message(said, START) for said in lines))
    ends = 15 * 60 - 2 * latency(1) + asked
    (summary,) = appended(KIND.heuristic(case_of(KIND, stream, ends)))
    assert told in summary.text


def test_a_partly_shown_line_is_not_archived() -> None:
    stream = stream_of(*talk(2))
    first, second = stream.live()
    case = case_of(KIND, stream, 5_000)
    part = (
        SetCounter(owner=KLAUS, name="summarise.part", value=1),
        SetCounter(owner=KLAUS, name="summarise.upto", value=9),
    )
    assert KIND._passed(case, [Piece(first, "Line", 9)]) == part
    archived = (Archive(owner=KLAUS, numbers=(1, 2), into_appended=True),)
    assert KIND._passed(case, [Piece(first, "Line"), Piece(second, "Line")]) == archived
    repair = case_of(KIND, stream, 5_000, params={"replaces": 2})
    assert KIND._passed(repair, [Piece(first, "Line")]) == ()
