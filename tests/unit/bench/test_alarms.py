"""A watch of cards: which were red or yellow, from when to when."""

from __future__ import annotations

from typing import Any

from bench.alarms import Watch


def reading(**grades: str) -> dict[str, Any]:
    cards = [{"name": name, "grade": grade, "value": "1 of 9", "lines": ["why"]} for name, grade in grades.items()]
    return {"clock": "day 1, 8:00 AM", "cards": cards}


def test_an_alarm_lasts_as_long_as_its_card_has_its_colour() -> None:
    watch = Watch()
    for at, late, host in (
        (0.0, "", "good"),
        (1.0, "warn", "bad"),
        (2.0, "bad", "bad"),
        (3.0, "bad", ""),
        (4.0, "", "bad"),
    ):
        watch.look(reading(late=late, host=host), at)
    assert [(one.card, one.colour, one.begin, one.end, one.looks) for one in watch.alarms] == [
        ("late", "yellow", 1.0, 1.0, 1),
        ("host", "red", 1.0, 2.0, 2),
        ("late", "red", 2.0, 3.0, 2),
        ("host", "red", 4.0, 4.0, 1),
    ]
    first, *_, red, yellow = watch.told().splitlines()
    assert first == "1 to 1 s, day 1, 8:00 AM: yellow late, 1 of 9: why"
    assert (red, yellow) == (
        "red: 3 alarms in 5 card readings of 5 looks",
        "yellow: 1 alarms in 1 card readings of 5 looks",
    )
