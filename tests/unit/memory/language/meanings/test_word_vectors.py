"""Vectors of words and of texts, how rare a word is, and how the table is made."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.quality import word_vectors as making
from cogitate.memory.language.meanings.word_vectors import cosine, mean_vector, rarity
from cogitate.memory.language.text import stem, stems


def likeness(first: str, second: str) -> float:
    return cosine(mean_vector(stems(first)), mean_vector(stems(second)))


def test_what_is_said_in_other_words_is_nearer_than_what_is_not_said() -> None:
    assert likeness("her salary was raised", "they pay more wages now") > 0.4
    assert likeness("her salary was raised", "the cat sleeps on the piano") < 0.2
    assert likeness("a storm", "a storm") == pytest.approx(1, abs=0.02)


def test_a_text_without_known_words_is_near_to_none() -> None:
    assert likeness("xyzzy plugh", "a storm") == likeness("", "") == 0


@given(st.lists(st.sampled_from(stems("storm cat say one salary winter kitchen xyzzy")), max_size=6))
def test_the_order_and_repeats_of_words_do_not_matter(words: list[str]) -> None:
    assert max(map(abs, _differences(words, [*reversed(words), *words])), default=0) <= 1, "but for rounding"


def _differences(first: list[str], second: list[str]) -> list[int]:
    return [one - other for one, other in zip(mean_vector(first), mean_vector(second), strict=True)]


def test_a_frequent_word_counts_less_than_a_rare_one() -> None:
    both = "say piano"
    assert likeness(both, "piano") > 0.95
    assert likeness(both, "say") < 0.5


def test_rarity_grows_with_the_rank_of_a_word() -> None:
    assert 0 < rarity("say") < rarity(stem("thing")) < rarity(stem("kitchen")) < rarity(stem("trumpet")) < 1
    assert rarity("xyzzy") == 1


def test_words_for_groups_of_people_have_no_vector() -> None:
    assert all(len(mean_vector([stem(word)])) == 0 for word in ("muslim", "jewish", "gay", "immigrant", "refugee"))


def test_the_table_keeps_what_words_do_not_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "KEPT", 2)
    monkeypatch.setattr(making, "SHARED", 1)
    vectors = {  # the first number is what sets some words apart most and is taken off
        "the": (9, 0, 0),
        "rain": (9, 1, 0),
        "storm": (-9, 1, 0),
        "storms": (-9, 1, 0),
        "cat": (9, -1, 1),
        "kitten": (-9, -1, 1),
        "stone": (9, 0, -2),
        "rock": (-9, 0, -2),
        "muslim": (9, 0, 0),
    }
    file = tmp_path / "vectors.txt"
    file.write_text("".join(f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in vectors.items()))
    table = dict(line.split(" ") for line in making.lines(file))
    assert list(table) == ["rain", "storm", "cat", "kitten", "stone", "rock"]
    numbers = {name: [byte - 256 * (byte > 127) for byte in b64decode(code)] for name, code in table.items()}
    for one, other, apart in (("rain", "storm", "cat"), ("cat", "kitten", "stone"), ("stone", "rock", "rain")):
        products = [sum(a * b for a, b in zip(numbers[one], numbers[two], strict=True)) for two in (one, other, apart)]
        assert products[0] == pytest.approx(127**2, rel=0.02)
        assert products[1] > 0.9 * products[0]
        assert products[2] < 0.5 * products[0]
