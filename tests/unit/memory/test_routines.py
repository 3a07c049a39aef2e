"""Routines as hosts write them, in any language: habits with their time, place and words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.clock import DAY
from cogitate.memory.routines import MOST_HABITS, Habit, check_routine, read_routine, routine_text


def test_a_habit_is_read_with_its_times_and_place(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, Habit]] = [
        ("07:00 breakfast @home", Habit("breakfast", 420, place="home")),
        ("7:00 breakfast", Habit("breakfast", 420)),
        ("7.00: breakfast", Habit("breakfast", 420)),
        ("08:00–20:00 shift @module-b", Habit("shift", 480, 1200, "module-b")),
        ("08:00 - 20:00 shift", Habit("shift", 480, 1200)),
        ("from 8:00 to 20:00 shift", Habit("shift", 480, 1200)),
        ("22:00–06:00 watch @the bridge", Habit("watch", 1320, 360, "the bridge")),
        ("19h30 souper @taverne", Habit("souper", 1170, place="taverne")),
        ("um 7 Uhr Frühstück", Habit("Frühstück", 420)),
        ("8–20h Schicht", Habit("Schicht", 480, 1200)),
        ("5 to 7pm walk", Habit("walk", 1020, 1140)),
        ("9am standup: code", Habit("standup: code", 540)),
        ("~18:30 chess @park", Habit("chess", 1110, place="park", loose=True)),
        ("24:00 sleep", Habit("sleep", 0)),
        ("7点半吃早饭 ＠家", Habit("吃早饭", 450, place="家")),
        ("08：00—17：00 卖菜@市场", Habit("卖菜", 480, 1020, "市场")),
        ("晚上8点 收摊", Habit("收摊", 1200)),
        ("12時30分 昼ごはん", Habit("昼ごはん", 750)),
        ("в 7:00 завтрак", Habit("завтрак", 420)),
        ("patrol the wall @wall", Habit("patrol the wall", place="wall")),
        ("@galley", Habit("", place="galley")),
        ("12:00 @food", Habit("", 720, place="food")),
        ("15 push-ups", Habit("15 push-ups")),
        ("write to ann@example.org", Habit("write to ann@example.org")),
    ]
    for line, habit in cases:
        with subtests.test(line=line):
            assert read_routine((line,)) == (habit,)
            check_routine((line,))


@pytest.mark.parametrize(
    "routine",
    [
        ("07:00 breakfast, with tea @home", "08:00–20:00 shift"),
        "07:00 breakfast, with tea @home\n08:00–20:00 shift",
        "07:00 breakfast, with tea @home; 08:00–20:00 shift",
        "07:00 breakfast, with tea @home, 08:00–20:00 shift",
        "- 07:00 breakfast, with tea @home\n- 08:00–20:00 shift\n",
    ],
)
def test_habits_are_separated_by_lines_semicolons_or_their_times(routine: str | tuple[str, ...]) -> None:
    assert read_routine(routine) == (Habit("breakfast, with tea", 420, place="home"), Habit("shift", 480, 1200))


@pytest.mark.parametrize(
    ("prose", "habits"),
    [
        (
            "Klaus goes to bed around 11pm, awakes up around 6am, eats dinner around 5pm.",
            [("goes to bed", 1380, None), ("awakes up", 360, None), ("eats dinner", 1020, None)],
        ),
        ("Klaus works from 9am to 5pm and sings at 8pm", [("works", 540, 1020), ("sings", 1200, None)]),
        ("She sings and dances and plays at 6pm", [("plays", 1080, None)]),
        ("She hangs out at the cafe if it's before 6pm.", []),
        (
            "Анна просыпается в 6:30, ложится спать около 23:00",
            [("Анна просыпается", 390, None), ("ложится спать", 1380, None)],
        ),
        ("Frühstück um 7:00 im Garten", [("Frühstück um 7:00 im Garten", 420, None)]),
    ],
)
def test_habits_in_prose_are_read_with_their_times(prose: str, habits: list[tuple[str, int, int | None]]) -> None:
    assert [(one.what, one.begins, one.ends) for one in read_routine(prose, "Klaus")] == habits


@pytest.mark.parametrize(
    ("routine", "fault"),
    [
        ("25:00 breakfast", "'25:00 breakfast' begins or ends at '25:00', which is not a time from 0:00 to 24:00"),
        ("7:75 breakfast", "not a time from 0:00 to 24:00"),
        ("7:00–26:00 shift", "'26:00'"),
        (("7:00 breakfast", "08:00"), "'08:00' names nothing to do"),
        (("sing",) * (MOST_HABITS + 1), "it has 101 habits, at most 100"),
    ],
)
def test_a_habit_that_cannot_be_kept_is_refused_by_name(routine: str | tuple[str, ...], fault: str) -> None:
    with pytest.raises(ValueError, match=fault.replace("(", r"\(")):
        check_routine(routine)


@given(st.text(max_size=80) | st.tuples(st.text(max_size=40), st.text(max_size=40)))
def test_any_text_is_read_as_a_routine(routine: str | tuple[str, ...]) -> None:
    for habit in read_routine(routine):
        assert habit.what or habit.place
        assert habit.begins is None or 0 <= habit.begins < DAY
        assert habit.ends is None or 0 <= habit.ends <= DAY
    assert isinstance(routine_text(routine), str)
