"""Notes as they are told later."""

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
    assert noted(note, ADA, (ADA, BO), ()) == told


def test_a_note_says_i_outside_quotation_marks() -> None:
    assert says_i("I saw a cat.")
    assert says_i("The cat took my hat.")
    assert not says_i('Bo said: "I saw a cat."')
    assert not says_i("Ada saw a cat.")
