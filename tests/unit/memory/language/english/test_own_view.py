"""Observations whose subject is left out."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.notes import with_subject


def test_a_subject_that_is_left_out_is_the_owner_where_a_verb_is_certain() -> None:
    assert with_subject("Arrived at the inn", "Ada") == "Ada arrived at the inn"
    assert with_subject("Found the key", "Ada") == "Ada found the key"
    assert with_subject("Found dead: the miller", "Ada") == "Found dead: the miller"
    assert with_subject("Saw a cat", "") == "Saw a cat"


@pytest.mark.parametrize("seen", ["Burned village at the ford.", "Lost child found at the mill.", "Ada lost the key."])
def test_any_other_text_is_unchanged(seen: str) -> None:
    assert with_subject(seen, "I") == seen
