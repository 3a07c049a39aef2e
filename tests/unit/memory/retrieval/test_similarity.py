"""The similarities that a host gives, checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError
from cogitate.memory.retrieval.similarity import SimilarityUnavailable, similarity_by_number

ENTRIES = [Entry(type="observation", text=text, minute=1, number=number) for number, text in ((3, "a"), (7, "b"))]


def given(said: Any) -> dict[int, float]:
    return similarity_by_number(lambda query, entries: said, "q", ENTRIES)


def test_each_entry_has_the_similarity_in_its_place() -> None:
    asked: list[tuple[str, Sequence[Entry]]] = []

    def similarity(query: str, entries: Sequence[Entry]) -> Iterator[float]:
        asked.append((query, entries))
        return iter((0.5, 2))

    assert similarity_by_number(similarity, "mill", ENTRIES) == {3: 0.5, 7: 2.0}
    assert asked == [("mill", tuple(ENTRIES))]
    assert given((True, -1e300)) == {3: 1.0, 7: -1e300}
    assert similarity_by_number(lambda query, entries: [], "q", []) == {}


@pytest.mark.parametrize("said", [None, 0.5, "ab", b"ab", {3: 0.5, 7: 0.1}])
def test_anything_but_a_list_is_refused(said: Any) -> None:
    with pytest.raises(InputError, match=r"similarity returned .*: return a list with a number for each entry"):
        given(said)


@pytest.mark.parametrize(("said", "how_many"), [([], "0"), ([1], "1"), ([1, 2, 3], "too many"), (count(), "too many")])
def test_the_number_of_values_must_match_the_entries(said: Any, how_many: str) -> None:
    with pytest.raises(InputError, match=rf"similarity returned {how_many} values for 2 entries: return one for each"):
        given(said)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", b"1", None, [], 10**400])
def test_a_value_is_a_finite_number(value: Any) -> None:
    with pytest.raises(InputError, match=r"for an entry: return a finite number for each"):
        given([0.5, value])


def test_a_failing_similarity_reports_a_bounded_reason() -> None:
    def fails(query: str, entries: Sequence[Entry]) -> list[float]:
        raise KeyError("x" * 1_000)

    with pytest.raises(InputError, match=r"^similarity failed: KeyError: 'x{299}$") as caught:
        similarity_by_number(fails, "q", ENTRIES)
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_unavailable_similarity_explains_itself() -> None:
    def away(query: str, entries: Sequence[Entry]) -> list[float]:
        raise SimilarityUnavailable("later")

    with pytest.raises(SimilarityUnavailable, match=r"^later$"):
        similarity_by_number(away, "q", ENTRIES)
