"""Vectors with one byte a number: their cosine is that of the numbers, and an invalid vector is refused."""

from __future__ import annotations

import math
import random

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.similarity import similarities, without_names
from cogitate.memory.retrieval.vectors import cosine, dimensions, packed


def test_the_cosine_of_packed_vectors_is_that_of_their_numbers() -> None:
    draw = random.Random(3)
    for size in (2, 384):
        one, other = ([draw.gauss(0, 0.2) for _ in range(size)] for _ in range(2))
        dot = sum(a * b for a, b in zip(one, other, strict=True))
        exact = dot / math.hypot(*one) / math.hypot(*other)
        assert cosine(packed(one), packed(other)) == pytest.approx(exact, abs=0.02)
        assert cosine(packed(one), packed([9 * number for number in one])) == pytest.approx(1)
        assert dimensions(packed(one)) == size


def test_vectors_of_different_dimensions_are_not_similar() -> None:
    assert cosine(packed([1.0, 0.0]), packed([1.0, 0.0, 0.0])) == 0


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [1.0, math.nan], [math.inf, 1.0]])
def test_an_invalid_vector_is_refused(numbers: list[float]) -> None:
    with pytest.raises(ValueError, match="finite numbers, not all 0"):
        packed(numbers)


def entry(number: int, text: str, *subjects: str) -> Entry:
    return Entry(type="message", text=text, minute=1, number=number, subjects=subjects)


TALK = [entry(1, "a", "agent:will_turner", "Ann Lee"), entry(2, "b", "Ann Lee")]


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("What did Ann say about the boat?", "What did say about the boat?"),
        ("Ann Lee's boat", "boat"),
        ("Will Turner will sail", "will sail"),
        ("Ann", "Ann"),
        ("Annabel sails", "Annabel sails"),
        ("", ""),
    ],
)
def test_names_of_those_whom_memories_involve_are_taken_out_of_a_query(query: str, left: str) -> None:
    assert without_names(query, TALK) == left


def test_only_entries_with_vectors_have_similarities_to_a_query_with_one() -> None:
    near, far = packed([1.0, 0.1]), packed([0.1, 1.0])
    found = similarities("q", TALK, {"q": near, "a": far, "b": None})
    assert found.keys() == {1}
    assert found[1] == pytest.approx(0.198, abs=0.01)
    assert similarities("q", TALK, {"q": None, "a": far}) == {}
