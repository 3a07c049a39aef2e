"""Themes of words, which are near in meaning though not in letters, and how frequent a word is."""

from __future__ import annotations

from cogitate.memory.language.meanings import is_theme, rarity, themes, themes_in
from cogitate.memory.language.text import stem


def test_a_word_has_the_themes_of_all_lines_that_name_it() -> None:
    assert themes_in("\nmeal eat lunch lunches supper\npet dog eat\n") == {
        "meal": ("#meal",),
        "eat": ("#meal", "#pet"),
        "lunch": ("#meal",),
        "supper": ("#meal",),
        "pet": ("#pet",),
        "dog": ("#pet",),
    }


def test_words_of_everyday_life_share_themes() -> None:
    assert themes()[stem("breakfast")] == themes()[stem("cheese")] == ("#meal",)
    assert themes()[stem("cook")] == ("#meal", "#kitchen")
    assert themes()[stem("upset")] == ("#sorrow", "#anger")
    assert themes()["accept"] == ("#identity",)
    assert "acceptance" not in themes(), "stems"


def test_a_theme_is_not_a_word() -> None:
    assert is_theme("#meal")
    assert not is_theme("meal")
    assert not is_theme("")


def test_rarity_grows_with_the_rank_of_a_word() -> None:
    assert 0 < rarity("say") < rarity(stem("thing")) < rarity("trumpet") == 1
    assert rarity("面包") == 1
