"""How a view ranks what it recalls: by profile, by weights, by a similarity of the host's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError
from cogitate.memory.retrieval.candidates import Query
from cogitate.memory.retrieval.profiles import MEASURES, PROFILES, profile_of
from cogitate.memory.retrieval.retrieval import retrieve
from cogitate.memory.stream import Stream
from cogitate.memory.view import MemoryView
from tests.unit.memory.view.day_case import numbers
from tests.unit.memory.view.view_case import BEN, CY, view_of


def test_recall_explains_each_score(view: MemoryView) -> None:
    found = view.recall("Who has bellows?", limit=3)
    assert found[0].entry.number in (1, 5)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        assert one.score == pytest.approx(sum(part.weight * part.value for part in one.parts))
        assert all((f"{part.name} {part.weight:g}×" in one.why) == bool(part.value) for part in one.parts)


@pytest.mark.parametrize("name", PROFILES)
def test_recall_scores_as_the_profile_of_that_name(stream: Stream, name: str) -> None:
    asked = {"minute": 1_000, "text": "Who has bellows?", "limit": 5}
    expected = tuple(retrieve(stream.live(), Query(**asked), PROFILES[name]))
    assert view_of(stream).recall("Who has bellows?", limit=5, profile=name) == expected
    assert view_of(stream, choice=name).recall("Who has bellows?", limit=5) == expected, (
        "the run's own, if none is given"
    )


def test_a_table_of_weights_is_a_profile(stream: Stream) -> None:
    (first, *_) = view_of(stream).recall("bellows", profile={"recency": 1, "relevance": 0.5})
    assert [(part.name, part.weight) for part in first.parts] == [("relevance", 0.5), ("recency", 1.0)]
    weights = {part.name: part.weight for part in PROFILES["default"].components}
    as_default = view_of(stream).recall("bellows", profile=weights)
    assert {one.entry.number: pytest.approx(one.score) for one in as_default} == {
        one.entry.number: one.score for one in view_of(stream).recall("bellows")
    }
    assert view_of(stream, choice={"recency": 1.0}).recall("bellows")[0].entry.minute == 900


@pytest.mark.parametrize("name", MEASURES)
def test_every_component_can_be_weighed_alone(stream: Stream, name: str) -> None:
    for one in retrieve(stream.live(), Query(minute=1_000, text="When did Ben speak?"), profile_of({name: 2.0})):
        assert one.score == 2.0 * one.parts[0].value
        assert one.parts[0].name == name


def test_recall_filters(view: MemoryView) -> None:
    def found(**filters: Any) -> list[int]:
        return sorted(numbers([one.entry for one in view.recall("bellows", limit=20, **filters)]))

    assert found(about=CY) == found(about=["Cy Dale"]) == [6, 8]
    assert found(about=[BEN, CY], types="message") == [3, 4, 6]
    assert found(types=["reflection", "plan"]) == [2, 7]
    assert found(since=850) == [6, 7]
    assert found() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_similarity_of_the_hosts_own_counts(stream: Stream) -> None:
    asked: list[tuple[str, list[int]]] = []

    def nearest_is_the_fire(query: str, entries: Sequence[Entry]) -> Iterator[float]:
        asked.append((query, numbers(entries)))
        return (1.0 if "burned" in entry.text else 0.0 for entry in entries)

    view = view_of(stream, similarity=nearest_is_the_fire)
    assert view.recall("A catastrophe")[0].entry.number == 6
    assert view.recall("A catastrophe", types="message", profile={"similarity": 1.0})[0].entry.number == 6
    assert asked == [("A catastrophe", [1, 2, 3, 4, 5, 6, 7, 8]), ("A catastrophe", [3, 4, 6])]
    assert view.recall("A catastrophe", profile="spec") == view_of(stream).recall("A catastrophe", profile="spec")
    assert len(asked) == 2, "the profile spec has no use for it"
    plain = view_of(stream).recall("A catastrophe")
    assert all(part.name != "similarity" or not part.value for one in plain for part in one.parts)


@pytest.mark.parametrize(
    ("similarity", "says"),
    [
        (lambda query, entries: [1.0], "similarity returned 1 values for 8 entries"),
        (lambda query, entries: [1.0] * 99, "similarity returned too many values for 8 entries"),
        (lambda query, entries: "near", "similarity returned 'near': return a list"),
        (lambda query, entries: [float("nan")] * 8, "similarity returned nan for an entry"),
        (lambda query, entries: ["1"] * 8, "similarity returned '1' for an entry"),
        (lambda query: [], "similarity failed: TypeError: "),
    ],
)
def test_a_similarity_that_cannot_be_used_is_named(stream: Stream, similarity: Any, says: str) -> None:
    with pytest.raises(InputError) as refused:
        view_of(stream, similarity=similarity).recall("bellows")
    assert says in str(refused.value)


def test_a_long_error_of_a_similarity_is_cut(stream: Stream) -> None:
    def fails(query: str, entries: Sequence[Entry]) -> list[float]:
        raise ValueError("x" * 5_000)

    with pytest.raises(InputError) as refused:
        view_of(stream, similarity=fails).recall("bellows")
    assert str(refused.value) == f"similarity failed: ValueError: {'x' * 300}"
