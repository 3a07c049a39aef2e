"""Themes of words: what is near in meaning though not in letters."""

from __future__ import annotations

from cogitate.memory.language.meanings.concepts import THEMES, _read, is_theme
from cogitate.memory.language.text import stem


def test_a_word_has_the_themes_of_all_lines_that_name_it() -> None:
    assert _read("\nmeal eat lunch\n  lunches supper\npet dog eat\n") == {
        "meal": ("#meal",),
        "eat": ("#meal", "#pet"),
        "lunch": ("#meal",),
        "supper": ("#meal",),
        "pet": ("#pet",),
        "dog": ("#pet",),
    }


def test_words_of_everyday_life_share_themes() -> None:
    assert THEMES[stem("breakfast")] == THEMES[stem("cheese")] == ("#meal",)
    assert THEMES[stem("cook")] == ("#meal", "#kitchen")
    assert THEMES[stem("upset")] == ("#sorrow", "#anger")
    assert THEMES["accept"] == ("#identity",)
    assert "acceptance" not in THEMES, "stems"


def test_a_theme_is_no_word() -> None:
    assert is_theme("#meal")
    assert not is_theme("meal")
    assert not is_theme("")
