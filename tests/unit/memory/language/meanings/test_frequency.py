"""How frequent a word is in English."""

from __future__ import annotations

from cogitate.memory.language.meanings import rarity
from cogitate.memory.language.text import stem


def test_rarity_grows_with_the_rank_of_a_word() -> None:
    assert 0 < rarity("say") < rarity(stem("thing")) < rarity("trumpet") == 1
    assert rarity("面包") == 1
