"""The clock of a run: the game time of its ticks, and how texts name it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, Clock, clock_time, date, day_and_time, day_number
from cogitate.memory.entry import Entry
from cogitate.memory.language.times import anchor_days, is_over
from cogitate.memory.retrieval.scoring import recency
from cogitate.memory.summaries.conversations import is_header, summarise_entries

MONTHLY = Clock(seconds_per_tick=2_592_000, names="months")
CLOCKS = st.builds(
    Clock,
    seconds_per_tick=st.integers(1, 2_592_000),
    day_seconds=st.integers(60, 1_000_000),
    start=st.integers(0, 10_000),
)


def test_a_tick_has_a_name_in_the_words_of_its_world(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Clock, int, str]] = [
        (Clock(), 425, "day 1, 7:05 AM"),
        (Clock(seconds_per_tick=600), 144, "day 2, 12:00 AM"),
        (Clock(seconds_per_tick=10), 6 * 60 * 10 + 6 * 31 + 2, "day 1, 10:31:20 AM"),
        (Clock(seconds_per_tick=10, names="24h"), 6 * 60 * 22 + 1, "day 1, 22:00:10"),
        (Clock(seconds_per_tick=90, names="24h"), 1, "day 1, 00:01:30"),
        (Clock(seconds_per_tick=8 * 3600), 4, "day 2, 8:00 AM"),
        (Clock(seconds_per_tick=86_400), 3, "day 3"),
        (Clock(seconds_per_tick=3 * 86_400), 2, "day 6"),
        (Clock(seconds_per_tick=1, day_seconds=1_200, names="24h"), 1_200 + 300, "day 2, 06:00:00"),
        (Clock(seconds_per_tick=36_000, day_seconds=36_000), 5, "day 5"),
        (MONTHLY, 1, "year 1, month 1"),
        (MONTHLY, 14, "year 2, month 2"),
        (Clock(seconds_per_tick=7 * 86_400, names="months"), 6, "year 1, month 2, day 12"),
        (Clock(names="rounds"), 4, "round 4"),
        (Clock(names="10 rounds", start=77), 4, "round 4 of 10"),
        (Clock(names="10 rounds", start=77), 11, "round 11"),
        (Clock(names="rounds", seconds_per_tick=86_400), 4, "round 4"),
    ]
    for clock, tick, said in cases:
        with subtests.test(clock=clock):
            with clock.in_force():
                assert day_and_time(clock.minute(tick), tick) == said
            assert day_and_time(425) == "day 1, 7:05 AM", "the usual clock is in force again"


def test_seconds_are_shown_only_of_the_tick_at_which_a_thing_happened() -> None:
    with Clock(seconds_per_tick=10).in_force():
        assert day_and_time(1, 8) == "day 1, 12:01:20 AM"
        assert day_and_time(1, 80) == "day 1, 12:01 AM"
        assert clock_time(1) == "12:01 AM"


def test_memories_of_long_ticks_fade_by_ticks_as_others_by_hours() -> None:
    hourly = [recency(0, 60 * hours) for hours in range(10)]
    with MONTHLY.in_force():
        assert [recency(0, MONTHLY.minutes(ticks)) for ticks in range(10)] == pytest.approx(hourly)
    with Clock(seconds_per_tick=10).in_force():
        assert recency(0, 360) == hourly[6] == 0.5


def test_a_time_before_the_first_round_is_named_so() -> None:
    with Clock(names="10 rounds", start=600).in_force():
        assert date(590) == "before round 1"


@given(clock=CLOCKS, tick=st.integers(0, 10_000), ahead=st.integers(0, 5_000))
def test_ticks_and_minutes_agree(clock: Clock, tick: int, ahead: int) -> None:
    now = clock.minute(tick)
    assert clock.minute_before(tick + 1, clock.minute(tick + 1)) == now
    later = tick + clock.ticks_until(ahead, tick)
    assert clock.minute(later) >= now + ahead
    assert ahead == 0 or clock.minute(later - 1) < now + ahead
    assert clock.minutes(clock.ticks(ahead)) <= ahead


@given(minutes=st.integers(1, 60), tick=st.integers(0, 100_000), start=st.integers(0, 10_000))
def test_ticks_of_whole_minutes_begin_on_them(minutes: int, tick: int, start: int) -> None:
    clock = Clock(seconds_per_tick=60 * minutes, start=start)
    assert (clock.minute(tick), clock.minutes_per_tick) == (start + tick * minutes, minutes)
    assert clock.ticks(10_000) == 10_000 // minutes


@pytest.mark.parametrize("clock", [MONTHLY, Clock(names="rounds")])
def test_where_days_are_not_counted_texts_keep_their_words_for_them(clock: Clock) -> None:
    said = Entry(type="message", text="Ben: Let us meet tomorrow at 5 pm at the inn.", minute=100)
    with clock.in_force():
        assert anchor_days(said.text, 100) == said.text
        assert not is_over("The vote is on day 1.", 10 * DAY)
        assert appointments([said], [], 100, 3 * DAY) == []
    assert anchor_days(said.text, 100) != said.text
    assert appointments([said], [], 100, 3 * DAY) != []


@pytest.mark.parametrize(
    "clock", [Clock(), Clock(names="24h"), Clock(seconds_per_tick=86_400), MONTHLY, Clock(names="3 rounds")]
)
def test_the_summary_of_a_talk_names_its_time_by_the_clock(clock: Clock) -> None:
    lines = [
        Entry(type="message", text=text, minute=clock.minute(2), subjects=("Ann", "Ben"), source="dialogue")
        for text in ("Ann: The bridge needs new planks.", "Ben: I bring forty planks of oak.")
    ]
    with clock.in_force():
        text, now = summarise_entries(lines, {}), day_and_time(clock.minute(2))
        assert now in text
        assert is_header(text.partition(now)[0] + now + ".")
        assert day_number(clock.minute(2)) == (60 if clock is MONTHLY else 2 if clock.seconds_per_tick == 86_400 else 1)
