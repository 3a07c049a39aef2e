"""Notes of talks, told as one sentence."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.notes import _talked as retold

ADA, BO, CY = "Ada Smith", "Bo Lind", "Cy Lind"
NAMES = (ADA, BO, CY, "Ada Smith's home")


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("Ada Smith is conversing about goats.", "Ada Smith and Bo Lind talked about goats."),
        ("Ada Smith is conversing about conversing about goats", "Ada Smith and Bo Lind talked about goats."),
        (
            "Ada Smith is conversing about This is a conversation between Ada Smith and Bo Lind about goats.",
            "Ada Smith and Bo Lind talked about goats.",
        ),
        ("Ada Smith is conversing about Bo and Ada discussing goats.", "Ada Smith and Bo Lind talked about goats."),
        (
            "Ada Smith is conversing about two friends named Ada and Bo discussing goats.",
            "Ada Smith and Bo Lind talked about goats.",
        ),
        (
            "Ada Smith is conversing about goats between Ada Smith and Bo Lind.",
            "Ada Smith and Bo Lind talked about goats.",
        ),
        ("Ada Smith is conversing about Bo discussing goats.", "Ada Smith and Bo Lind talked about goats."),
        ("Bo Lind is conversing about Bo and Cy discussing goats.", "Bo Lind and Cy Lind talked about goats."),
        (
            "Ada Smith is conversing about Ada mending her gate and Bo asking for goats.",
            "Ada Smith and Bo Lind talked about Ada mending her gate and Bo asking for goats.",
        ),
        ("Cy Lind is conversing about goats.", "Cy Lind talked about goats."),
    ],
)
def test_a_talk_is_told_by_who_took_part_and_its_topic(note: str, told: str) -> None:
    doers = (ADA, BO) if note.startswith(ADA) else (note.partition(" is ")[0],)
    assert retold(note, NAMES, lambda: doers).rstrip(".") + "." == told


@pytest.mark.parametrize("text", ["stove is conversing about Ada and Bo.", "Bo Lind is cooking.", ""])
def test_any_other_text_is_unchanged(text: str) -> None:
    assert retold(text, NAMES, lambda: (BO,)) == text
