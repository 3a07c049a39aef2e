"""Notes as their owner tells them later."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.notes import noted

ADA, BO = "Ada Smith", "Bo Lind"


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("Ada Smith is baking bread.", "I was baking bread."),
        ("Bo Lind is baking bread.", "Bo Lind was baking bread."),
        ("You are at your stall.", "I am at my stall."),
        ("You find the cow lying in the barn.", "I find the cow lying in the barn."),
        ("You were hurt yourself.", "I was hurt myself."),
        (
            "You hear that the guard seeks you.",
            "You hear that the guard seeks you.",
        ),  # "me"
        ("the lamp is out", "The lamp is out"),
        ("Ada Smith lost her hat.", 'I noted: "Ada Smith lost her hat."'),
    ],
)
def test_a_note_is_told_by_its_owner_or_quoted(note: str, told: str) -> None:
    assert noted(note, ADA, (ADA, BO), ()) == told
