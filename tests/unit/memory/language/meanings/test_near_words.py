"""Words that are near in meaning, and how the table of them is made."""

from __future__ import annotations

from pathlib import Path

from bench.quality import near_words as making
from cogitate.memory.language.meanings.near_words import near_words, read
from cogitate.memory.language.text import stem


def test_a_word_that_is_near_another_has_it_near_too() -> None:
    assert read("storm rain wind\nrain flood\n") == {
        "storm": {"rain", "wind"},
        "rain": {"storm", "flood"},
        "wind": {"storm"},
        "flood": {"rain"},
    }


def test_the_table_knows_words_of_everyday_life_by_their_stems() -> None:
    assert stem("flooding") in near_words(stem("storms"))
    assert stem("storms") in near_words(stem("flooding"))
    assert stem("surgeon") in near_words(stem("doctor"))
    assert near_words("xyzzy") == frozenset()


def test_words_for_groups_of_people_are_near_to_none() -> None:
    assert not any(near_words(stem(word)) for word in ("muslim", "jewish", "gay", "immigrant", "black", "refugee"))


def test_words_are_near_that_are_among_the_nearest_of_each_other(tmp_path: Path) -> None:
    vectors = {  # the first number is what all words share most
        "the": (5, 0, 0, 0),
        "is't": (5, 4, 0, 0),  # a function word, and none
        "rain": (20, 4, 0, 0),
        "storm": (1, 4, 0, 0),
        "storms": (2, 4, 0.1, 0),  # one stem
        "cat": (1, 0, 4, 0),
        "kitten": (20, 0, 4, 0.1),
        "stone": (20, 0, 0, 4),
        "muslim": (1, 0, 0, 4),
    }
    file = tmp_path / "vectors.txt"
    file.write_text("".join(f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in vectors.items()))
    assert making.lines(file) == ["rain storm", "cat kitten"]
