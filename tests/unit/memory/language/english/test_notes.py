"""The wording of notes that are told later."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.notes import noted, says_i

ADA, BO = "Ada Smith", "Bo Lind"


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("Ada Smith is baking bread.", "Ada Smith was baking bread."),
        ("Bo Lind is baking bread.", "Bo Lind was baking bread."),
        ("Saw a cat.", "Ada Smith saw a cat."),
        ("the lamp is out", "The lamp is out"),
        ("Ada Smith lost her hat.", "Ada Smith lost her hat."),
        ("I am holding a party on day 3.", "I am holding a party on day 3."),
    ],
)
def test_a_note_keeps_its_person(note: str, told: str) -> None:
    assert noted(note, ADA, ADA, (ADA, BO), ()) == told


@pytest.mark.parametrize(
    ("summary", "told"),
    [
        ("Ada Smith promised to mend the gate.", "I promised to mend the gate."),
        ("Ada Smith mended her gate.", "Ada Smith mended her gate."),  # whose?
        ("Ada Smith is out.", "Ada Smith is out."),
        ("Bo Lind promised to mend the gate.", "Bo Lind promised to mend the gate."),
        ('Ada Smith told Bo Lind: "It broke."', 'I told Bo Lind: "It broke."'),
        ('Bo Lind told Ada Smith: "It broke."', 'Bo Lind told me: "It broke."'),
    ],
)
def test_a_summary_says_i_where_its_owner_is_the_subject_or_the_listener(summary: str, told: str) -> None:
    assert noted(summary, "I", ADA, (ADA, BO), ()) == told


def test_a_note_says_i_outside_quotation_marks() -> None:
    assert says_i("I saw a cat.")
    assert says_i("The cat took my hat.")
    assert not says_i('Bo said: "I saw a cat."')
    assert not says_i("Ada saw a cat.")
