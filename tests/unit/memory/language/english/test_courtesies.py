"""Sentences that hold nothing but courtesies."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.talk import Speakers


def test_small_talk_is_a_formula_or_has_only_polite_words_and_names(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("", True),
        ("Wow, Mel!", True),
        ("Wow, Melon!", False),
        ("It’s so good to see you again, Ann", True),
        ("Nice to meet Melanie Smith.", True),
        ("Nice to meet Melanie Jones.", False),
        ("  So do I!  ", True),
        ("So do I, on Sundays.", False),
        ("I have to get going.", True),
        ("I have to get going to Rome.", False),
        ("How have you been?", True),
        ("I am not sure yet.", True),
        ("I am not sure that he lives.", False),
        ("I will think about it.", True),
        ("I do not think we have talked before.", True),
        ("I do not think we have talked before the queen.", False),
        ("I had better tell the others.", True),
        ("I had better tell the queen.", False),
        ("Pleased to meet you, Melanie.", True),
        ("I have a favour to ask, Ann.", True),
        ("Oh no, I forgot.", True),
        ("I have a favour to ask of the queen.", False),
    ]
    for said, empty in cases:
        with subtests.test(said=said):
            assert is_small_talk(said, Speakers(["Melanie Smith", "Ann"])) is empty
