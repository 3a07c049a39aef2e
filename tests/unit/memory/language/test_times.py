"""Clock times and words for days in a text."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.language.times import anchor_days, find_times, parse_clock, with_quoted_days, with_today


def test_clock_times_are_minutes_after_midnight(subtests: pytest.Subtests) -> None:
    for text, times in [
        ("7:00 AM", ["7:00"]),
        ("07:00", ["7:00"]),
        ("23:59", ["23:59"]),
        ("0:00", ["0:00"]),
        ("24:00", []),
        ("9:59", ["9:59"]),
        ("9:60", []),
        ("12 am", ["0:00"]),
        ("12:30 a.m.", ["0:30"]),
        ("12 pm", ["12:00"]),
        ("11 pm", ["23:00"]),
        ("1 pm", ["13:00"]),
        ("5.30 pm", ["17:30"]),
        ("13 pm", ["13:00"]),  # models say so
        ("17:05 pm", ["17:05"]),
        ("24 pm", []),
        ("noon", ["12:00"]),
        ("Midday", ["12:00"]),
        ("midnight", ["0:00"]),
        ("полдень", ["12:00"]),
        ("Полночь", ["0:00"]),
        ("0 o'clock", ["0:00"]),
        ("1 o'clock", ["13:00"]),
        ("6 o’clock", ["18:00"]),
        ("7 o'clock", ["7:00"]),
        ("12 oclock", ["12:00"]),
        ("from 5 to 7pm", ["17:00", "19:00"]),
        ("5-7 a.m.", ["5:00", "7:00"]),
        ("from 10 to 1pm", ["10:00", "13:00"]),
        ("from 11 until 12 pm", ["11:00", "12:00"]),
        ("from 12 to 1pm", ["12:00", "13:00"]),
        ("from 1 to 12pm", ["1:00", "12:00"]),
        ("from 12 to 12pm", ["12:00", "12:00"]),
        ("from 12 to 2am", ["0:00", "2:00"]),
        ("from 5 to 5:30 pm", ["17:00", "17:30"]),
        ("from 10:15 till 2:45pm", ["10:15", "14:45"]),
        ("from 14 to 3pm", ["14:00", "15:00"]),
        ("10 pm to 11 pm", ["22:00", "23:00"]),
        ("9 am to 5 pm", ["9:00", "17:00"]),
        ("at 7:30, then at 8:15", ["7:30", "8:15"]),
        ("$5 pm", []),
        ("room 7", []),
        ("", []),
    ]:
        with subtests.test(text=text, times=times):
            assert [f"{time.minute // 60}:{time.minute % 60:02}" for time in find_times(text)] == times


def test_a_time_stands_where_it_was_found() -> None:
    text = "Tea from 3 to 4:30 pm at home."
    assert [(time.start, time.end) for time in find_times(text)] == [(9, 14), (14, 21)]


def test_a_clock_is_the_first_time_or_a_bare_hour(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, int | None]] = [
        ("7", 420),
        ("0", 0),
        ("23", 1380),
        ("24", None),
        (" 8 ", 480),
        ("7h", 420),
        ("7 hours", 420),
        ("19 ч", 1140),
        ("7x", None),
        ("", None),
        ("soon", None),
        ("7:30, or 9:00", 450),
        ("123", None),
    ]
    for text, minute in cases:
        with subtests.test(text=text):
            assert parse_clock(text) == minute


def test_words_for_days_become_their_numbers(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, str]] = [
        ("We meet today.", "We meet on day 1.", "We meet on day 3."),
        ("I am ready for today.", "I am ready for day 1.", "I am ready for day 3."),
        ("Come tonight!", "Come on the evening of day 1!", "Come on the evening of day 3!"),
        ("I was wrong this morning.", "I was wrong on the morning of day 1.", "I was wrong on the morning of day 3."),
        ("I was wrong this time.", "I was wrong this time.", "I was wrong this time."),
        ("Come this evening!", "Come on the evening of day 1!", "Come on the evening of day 3!"),
        ("Tomorrow, then.", "on day 2, then.", "on day 4, then."),
        ("See you the day after tomorrow.", "See you on day 3.", "See you on day 5."),
        ("I sang yesterday.", "I sang yesterday.", "I sang on day 2."),
        ("Приходи сегодня.", "Приходи в день 1.", "Приходи в день 3."),
        ("Приходи завтра.", "Приходи в день 2.", "Приходи в день 4."),
        ("Приходи послезавтра.", "Приходи в день 3.", "Приходи в день 5."),
        ("Я пел вчера.", "Я пел вчера.", "Я пел в день 2."),
        ("Today's news, and tomorrow’s.", "Day 1's news, and day 2’s.", "Day 3's news, and day 4’s."),
        (
            "Tonight's play, a tomorrow-person's.",
            "Tonight's play, a tomorrow-person's.",
            "Tonight's play, a tomorrow-person's.",
        ),
        ("Not today, tomorrow.", "Not on day 1, on day 2.", "Not on day 3, on day 4."),
    ]
    for said, first_day, third_day in cases:
        with subtests.test(said=said):
            assert [anchor_days(said, 0), anchor_days(said, DAY - 1)] == [first_day] * 2
            assert [anchor_days(said, 2 * DAY), anchor_days(said, 3 * DAY - 1)] == [third_day] * 2


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        ("17:00 pm", 1020),
        ("17:00 am", 1020),
        ("12:00 am", 0),
        ("13:00 am", 780),
        ("from 11 to 10 am", 660),
        ("from 10 to 1pm", 600),
    ],
)
def test_am_and_pm_apply_only_to_hours_that_they_fit(text: str, minute: int) -> None:
    assert parse_clock(text) == minute


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            'Ben promised today: "I bring the ten coins tomorrow."',
            'Ben promised on day 3: "I bring the ten coins tomorrow."',
        ),
        ("«Приду завтра», — сказал он сегодня.", "«Приду завтра», — сказал он в день 3."),
        ("“I come tomorrow”, he said; we meet tomorrow.", "“I come tomorrow”, he said; we meet on day 4."),
        ("Aino: ”Nähdään huomenna.” Tavataan huomenna.", "Aino: ”Nähdään huomenna.” Tavataan päivänä 4."),
        ("דוד: ”אבוא מחר.“", "דוד: ”אבוא מחר.“"),
        ('He said: "I come tomorrow', 'He said: "I come tomorrow'),
        ('I come tomorrow."', 'I come tomorrow."'),
    ],
)
def test_days_in_a_quotation_stay_as_they_were_said(said: str, told: str) -> None:
    assert anchor_days(said, 2 * DAY) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("A reunião foi adiada para amanhã às 16h.", "A reunião foi adiada para o dia 3 às 16h."),
        ("La lista de hoy no está en la mesa.", "La lista del día 2 no está en la mesa."),
        ("Wir haben die Probe für morgen und nicht für heute.", "Wir haben die Probe für Tag 3 und nicht für Tag 2."),
    ],
)
def test_a_day_after_a_preposition_is_told_as_the_language_does(said: str, told: str) -> None:
    assert anchor_days(said, DAY + 500) == told


def test_an_hour_in_portuguese_has_its_mark() -> None:
    assert [time.minute for time in find_times("A tomografia é amanhã às 9h30, não às 14h.")] == [570, 840]
    assert find_times("Os 4 homens da ponte estão com fome.") == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('Ada told Bo: "I come tomorrow at 8."', 'Ada told Bo: "I come on day 4 at 8."'),
        ('Ada told Bo on day 1: "I come tomorrow at 8."', 'Ada told Bo on day 1: "I come on day 2 at 8."'),
        (
            "Ada zu Bo (Tag 1): „Ich bringe dir morgen die Säge.“",
            "Ada zu Bo (Tag 1): „Ich bringe dir an Tag 2 die Säge.“",
        ),
        ("Ada comes tomorrow.", "Ada comes tomorrow."),
    ],
)
def test_a_day_in_a_quotation_is_read_by_the_day_on_which_it_was_said(text: str, read: str) -> None:
    assert with_quoted_days(text, 2 * DAY + 600) == read


def test_days_by_their_number_are_told_on_that_day_by_the_word_for_it(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("The inspector comes on day 3 at 9.", "The inspector comes today at 9."),
        ("On the morning of day 3, the bell rings.", "This morning, the bell rings."),
        ("I need it by day 3, not on day 30.", "I need it by today, not on day 30."),
        ("Il caldaista viene la mattina del giorno 3 alle nove.", "Il caldaista viene stamattina alle nove."),
        ("Wir fahren von Tag 3 an nach Kiel.", "Wir fahren von heute an nach Kiel."),
        ("第3天上午九点检查，第13天不来。", "今天上午九点检查，第13天不来。"),
    ]
    for noted, told in cases:
        with subtests.test(noted=noted):
            assert with_today(noted, 2 * DAY + 360) == told
