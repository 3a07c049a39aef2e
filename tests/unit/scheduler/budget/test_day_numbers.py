"""Game time in words: days count from 1 in output and in input."""

from __future__ import annotations

import pytest

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, day_and_time, day_number, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.times import anchor_days
from cogitate.scheduler.budget.budget import format_cell, format_window


def test_first_day_is_day_1() -> None:
    assert [(day_of(minute), day_number(minute)) for minute in (0, DAY - 1, DAY)] == [(0, 1), (0, 1), (1, 2)]
    assert day_and_time(DAY + 425) == "day 2, 7:05 AM"


def test_day_numbers_round_trip() -> None:
    for today in range(4):
        said = anchor_days("We meet for the concert tomorrow at 5 PM.", today * DAY + 600)
        assert said == f"We meet for the concert on day {today + 2} at 5 PM."
        entry = Entry(type="observation", text=said, minute=today * DAY + 600, number=1)
        tomorrow = (today + 1) * DAY
        (found,) = appointments([entry], (), tomorrow + 360, tomorrow + DAY + 360)
        assert found.minute == tomorrow + 17 * 60
        assert appointments([entry], (), tomorrow + DAY + 360, tomorrow + 2 * DAY) == []


def test_yesterday_on_day_1_stays_unchanged() -> None:
    assert anchor_days("I saw him yesterday.", 600) == "I saw him yesterday."
    assert anchor_days("I saw him yesterday.", DAY + 600) == "I saw him on day 1."


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("day:0 kind:reflect calls", "day 1 kind:reflect calls"),
        ("day:11 owner:agent:ada", "day 12 owner:agent:ada"),
        ("run:0 run tokens", "whole run run tokens"),
        ("tick:5 run calls", "tick 5 run calls"),
        ("drained", "drained"),
        ("day:x run calls", "day:x run calls"),
    ],
)
def test_windows_are_named_in_words(cell: str, words: str) -> None:
    assert format_cell(cell) == words
    assert format_window(cell.partition(" ")[0]) == words.removesuffix(" " + cell.partition(" ")[2])
