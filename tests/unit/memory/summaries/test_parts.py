"""Text that does not fit as a whole, cut into parts that do."""

from __future__ import annotations

import pytest

from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.parts import LEAST_PART, end_of_word, line_in_parts, sentence_in_parts


def numbered(first: int, last: int) -> str:
    return " ".join(f"w{n}" for n in range(first, last + 1))


def line(text: str) -> Utterance:
    return Utterance("Jon", text, 600, "Gina")


def part(text: str) -> Utterance:
    return Utterance("Jon", text, 600, "Gina", is_part=True)


@pytest.mark.parametrize("words", [1, 19, 20])
def test_a_sentence_that_has_room_stays_whole(words: int) -> None:
    whole = line(numbered(1, words))
    assert sentence_in_parts(whole, 20) == [whole]
    assert line_in_parts(whole, 20) == [whole]


def test_a_longer_sentence_is_cut_into_parts_of_half_the_room() -> None:
    assert sentence_in_parts(line(numbered(1, 21)), 20) == [
        part(numbered(1, 10)),
        part(numbered(11, 20)),
        part(numbered(21, 21)),
    ]
    assert sentence_in_parts(line(numbered(1, 25)), 24) == [part(numbered(1, 12)), part(numbered(13, 24)), part("w25")]
    assert sentence_in_parts(line(numbered(1, 40)), 31)[0] == part(numbered(1, 15))


def test_where_parts_would_be_shorter_than_ten_words_it_stays_whole() -> None:
    assert LEAST_PART == 10
    whole = line(numbered(1, 30))
    assert sentence_in_parts(whole, 19) == [whole]
    assert len(sentence_in_parts(whole, 20)) == 3


def test_a_long_word_counts_as_several_and_is_cut_where_it_alone_is_too_long() -> None:
    long = "x" * 33  # three words
    assert sentence_in_parts(line(f"{numbered(1, 8)} {long} {numbered(9, 18)}"), 20) == [
        part(numbered(1, 8)),
        part(f"{long} {numbered(9, 15)}"),
        part(numbered(16, 18)),
    ]
    assert sentence_in_parts(line("y" * 16 * 21), 20) == [part("y" * 160), part("y" * 160), part("y" * 16)]
    assert sentence_in_parts(line("日" * 21), 20) == [part("日" * 10), part("日" * 10), part("日")]


def test_only_clauses_without_room_are_cut_from_a_line() -> None:
    short, long = "Ann left.", f"{numbered(1, 24)}."
    told = line_in_parts(line(f"{short} Bo stays. {long} Cy ran."), 20)
    assert told == [
        line("Ann left. Bo stays."),
        part(numbered(1, 10)),
        part(numbered(11, 20)),
        part(f"{numbered(21, 24)}."),
        line("Cy ran."),
    ]


def test_a_line_of_many_clauses_that_have_room_is_not_cut() -> None:
    several = line(f"{numbered(1, 19)}. {numbered(1, 20)}. Cy ran.")
    assert line_in_parts(several, 20) == [several]


@pytest.mark.parametrize(
    ("word", "most", "end"),
    [
        ("x" * 40 + "y" * 16, 1, "y" * 16),
        ("x" * 40 + "y" * 16, 2, "x" * 16 + "y" * 16),
        ("東西南北中", 2, "北中"),
        ("東西南北中", 0, ""),
        ("a" + "東" * 3, 3, "東" * 3),
    ],
)
def test_the_end_of_a_word_is_cut_to_the_room(word: str, most: int, end: str) -> None:
    assert end_of_word(word, most) == end
    assert count_words(end) <= most
