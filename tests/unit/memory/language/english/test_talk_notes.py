"""Notes of talks, told by one who took part or heard of them."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.talk_notes import retold

ADA, BO, CY = "Ada Smith", "Bo Lind", "Cy Lind"
NAMES = (ADA, BO, CY, "Ada Smith's home")


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("Ada Smith is conversing about goats.", "Bo Lind and I talked about goats."),
        ("Ada Smith is conversing about conversing about goats", "Bo Lind and I talked about goats."),
        (
            "Ada Smith is conversing about This is a conversation between Ada Smith and Bo Lind about goats.",
            "Bo Lind and I talked about goats.",
        ),
        ("Ada Smith is conversing about Bo and Ada discussing goats.", "Bo Lind and I talked about goats."),
        (
            "Ada Smith is conversing about two friends named Ada and Bo discussing goats.",
            "Bo Lind and I talked about goats.",
        ),
        ("Ada Smith is conversing about goats between Ada Smith and Bo Lind.", "Bo Lind and I talked about goats."),
        ("Ada Smith is conversing about Bo discussing goats.", "Bo Lind talked about goats."),
        ("Bo Lind is conversing about Bo and Cy discussing goats.", "Bo Lind and Cy Lind talked about goats."),
        ("Cy Lind is conversing about goats.", "Cy Lind talked about goats."),
    ],
)
def test_a_talk_is_told_by_who_took_part_and_its_topic(note: str, told: str) -> None:
    doers = (ADA, BO) if note.startswith(ADA) else (note.partition(" is ")[0],)
    assert retold(note, ADA, NAMES, doers).rstrip(".") + "." == told


@pytest.mark.parametrize(
    "gist",
    [
        "Ada mending her gate and Bo asking for goats",  # whose gate?
        "Ada discussing her goats",
        "Ada and Bo discussing their goats and how they eat",  # who eats?
    ],
)
def test_what_may_speak_of_the_owner_is_quoted(gist: str) -> None:
    told = retold(f"Ada Smith is conversing about {gist}.", ADA, NAMES, (ADA, BO))
    assert told == f'Bo Lind and I talked: "{gist}".'


@pytest.mark.parametrize("text", ["stove is conversing about Ada and Bo.", "Bo Lind is cooking.", ""])
def test_any_other_text_is_unchanged(text: str) -> None:
    assert retold(text, ADA, NAMES, (BO,)) == text
