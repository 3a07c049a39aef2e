"""Words, keywords, stems and keys of repeats."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from cogitate.memory.language.text import (
    FUNCTION_WORDS,
    STOP_WORDS,
    extract_keywords,
    normal,
    normalized,
    stem,
    stems,
    words,
)


def test_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[str]]] = [
        ("", []),
        ("Isabella's café, at 5:30pm!", ["isabella", "s", "café", "at", "5", "30pm"]),
        ("well-being_and snake_case", ["well", "being", "and", "snake", "case"]),
        ("Привет, Москва!", ["привет", "москва"]),
        ("हिन्दी शब्द।", ["हिन्दी", "शब्द"]),
        ("日本語 東京", ["日本", "本語", "東京"]),
        ("Tokyo東京駅", ["tokyo", "東京", "京駅"]),
        ("cafe\u0301", ["café"]),
        ("😀 <b>hi</b>", ["b", "hi", "b"]),
    ]
    for text, expected in cases:
        with subtests.test(text=text):
            assert words(text) == expected


@given(
    st.text(alphabet=st.characters(max_codepoint=127))
    | st.lists(st.sampled_from([*sorted(STOP_WORDS), "party", "ox", "PM", "sun's"])).map(" ".join)
)
@example("The party was at Hobbs Cafe before 5 PM, and how very loud it was!")
def test_keywords_of_english_are_those_of_the_spec(text: str) -> None:
    cleaned = re.sub(r"[^a-z0-9\s]", " ", text.lower())
    assert extract_keywords(text) == [w for w in cleaned.split() if len(w) > 2 and w not in STOP_WORDS]


def test_keywords_are_useful_search_terms() -> None:
    text = "The party was at Hobbs Cafe before 5 PM, and how very loud it was! Would you do the same there again?"
    assert extract_keywords(text) == ["party", "hobbs", "cafe", "loud", "you"]  # the spec has no "you" in its list


def test_keywords_in_other_scripts_survive() -> None:
    assert extract_keywords("Мария придёт на вечеринку") == ["мария", "придёт", "вечеринку"]
    assert extract_keywords("東京駅で会う") == ["東京", "京駅", "駅で", "で会", "会う"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("paintings", "painted"), ("went", "going"), ("children", "child"), ("книгами", "книги"), ("bought", "buys")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@given(
    word=st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=12), digit=st.sampled_from("0123456789")
)
@example(word="running", digit="4")
@example(word="y", digit="1")
def test_a_word_that_ends_in_a_digit_is_its_own_stem(word: str, digit: str) -> None:
    assert stem(word + digit) == EnglishStemmer().stemWord(word + digit) == word + digit


def test_stems_leave_out_function_words_and_contractions() -> None:
    assert stems("She didn't go to the parties; we won") == ["go", "parti", "win"]
    assert STOP_WORDS < FUNCTION_WORDS


@given(st.text())
def test_any_text_is_split_into_words(text: str) -> None:
    assert all(words(text)), "no empty word"
    assert len(stems(text)) <= len(words(text))
    assert normal(normal(text)) == normal(text)


def test_exact_repeats_share_a_key() -> None:
    assert normal("  The Bed\tis idle ") == normal("the bed is\nIDLE")
    assert normal("the bed is idle") != normal("the bed is not idle")


@pytest.mark.parametrize("marks", [29, 30, 31, 32, 100])
@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_text_with_many_marks_has_its_usual_normal_form(marks: int, form: Literal["NFC", "NFKD"]) -> None:
    for odd in range(0xF70, 0xF85):  # some of these come apart into two marks
        for text in (f"e{chr(odd)}{chr(0x323) + chr(0x301)}", f"{chr(0x301)}{chr(odd)}{chr(0x323)}"):
            text = f"a{text * marks}b{text}"
            assert normalized(text, form) == unicodedata.normalize(form, text)
            long = f"a{(chr(0x301) + chr(odd) + chr(0x323)) * marks}b"
            assert normalized(long, form) == unicodedata.normalize(form, long)


def test_the_first_words_of_a_long_text_may_suffice() -> None:
    assert stems("The red ships sail north", most=3) == ["red", "ship"]
    assert stems("The red ships sail north") == ["red", "ship", "sail", "north"]
