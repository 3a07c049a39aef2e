"""Habits that an owner says it does not keep on the day of a plan."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.tasks.heuristics.plans.called_off import called_off_for, calls_off_habit, is_off

NAMES = {"agent:a": "Ada", "agent:b": "Bo"}


def _said(text: str, who: str = "Ada", minute: int = DAY + 300) -> list[str]:
    entry = Entry(type="message", text=f"{who}: {text}", minute=minute, number=1, subjects=("agent:a", "agent:b"))
    return called_off_for("agent:a", "Ada", [entry], NAMES, DAY + 360)


@pytest.mark.parametrize(
    ("text", "habit", "other"),
    [
        ("Hoy no salimos.", "salir a la mar", "descargar en la lonja"),
        ("Hoy tampoco hay subasta.", "subasta de la tarde", "abrir la lonja"),
        ("今日の練習は中止だよ。", "バンドの練習をする", "登校する"),
        ("Heute kein Unterricht.", "Unterricht geben", "Holz hacken"),
    ],
)
def test_an_owners_denial_calls_off_the_habit_that_it_names(text: str, habit: str, other: str) -> None:
    (sentence,) = _said(text)
    assert calls_off_habit(sentence, habit)
    assert not calls_off_habit(sentence, other)


def test_a_denial_of_something_else_leaves_the_habit() -> None:
    (sentence,) = _said("Hoy no hay hielo para la subasta.")
    assert not calls_off_habit(sentence, "subasta de la tarde")


@pytest.mark.parametrize(
    "text", ["¿Hoy no salimos?", "Hoy salimos.", "Mañana no salimos.", "Hoy no salimos a las seis."]
)
def test_questions_and_statements_about_other_days_or_hours_deny_nothing(text: str) -> None:
    assert _said(text) == []


def test_a_denial_of_another_speaker_calls_off_nothing() -> None:
    assert _said("Hoy no salimos.", who="Bo") == []


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("I won't be in today, my son is ill.", True),
        ("Ich habe heute frei.", True),
        ("今天休息，店不开门。", True),
        ("I'm off at six today.", False),
        ("The baker won't come in today.", False),
        ("Are we closed? Today?", False),
    ],
)
def test_an_owner_says_that_it_has_the_day_off(text: str, off: bool) -> None:
    entry = Entry(type="message", text=f"Ada: {text}", minute=DAY + 300, number=1, subjects=("agent:a", "agent:b"))
    assert is_off("agent:a", "Ada", [entry], NAMES, DAY + 360) is off
