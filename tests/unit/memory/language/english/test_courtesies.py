"""Sentences that hold nothing but courtesies."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.talk import Speakers


def test_small_talk_has_only_polite_words_and_names(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("", True),
        ("Wow, Mel!", True),
        ("Wow, Melon!", False),
        ("It’s so good to see you again, Ann", True),
        ("Pleased to meet you, Melanie.", True),
        ("Nice to meet Melanie Jones.", False),
        ("I have to get going.", True),
        ("I have to get going to Rome.", False),
        ("I had better tell the others.", True),
        ("I had better tell the queen.", False),
    ]
    for said, empty in cases:
        with subtests.test(said=said):
            assert is_small_talk(said, Speakers(["Melanie Smith", "Ann"])) is empty
