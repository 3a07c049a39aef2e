"""Each entry of an owner is read once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from cogitate.memory.entry import Entry
from cogitate.tasks.heuristics.reading import FoundOnce
from tests.unit.tasks.kind_cases import KLAUS, MARIA, WORLD, observation, stream_of

NAMES = WORLD.display_names


class Readings:
    """Finds an entry's text and the owner's name, and keeps what was read."""

    def __init__(self, most: int = 100) -> None:
        self.read: list[str] = []
        self.found = FoundOnce(self._find, most)

    def _find(self, entry: Entry, owner: str, names: Mapping[str, str]) -> str:
        self.read.append(entry.text)
        return f"{names[owner]}: {entry.text}"

    def of(self, entries: list[Entry], owner: str = KLAUS, names: Mapping[str, str] = NAMES) -> list[str]:
        """Return what was read for these entries, and check what was found."""
        self.read.clear()
        assert [*self.found.of(entries, owner, names)] == [f"{names[owner]}: {entry.text}" for entry in entries]
        return [*self.read]


@pytest.fixture
def live() -> list[Entry]:
    return stream_of(*(observation(text, 400) for text in "abcdef")).live()


def test_only_new_entries_are_read(live: list[Entry]) -> None:
    readings = Readings()
    assert readings.of(live[:4]) == ["a", "b", "c", "d"]
    assert readings.of(live) == ["e", "f"]
    assert readings.of(live) == []


def test_archiving_or_rating_an_entry_does_not_reread_the_others(live: list[Entry]) -> None:
    readings = Readings()
    readings.of(live)
    assert readings.of([*live[:1], *live[3:]]) == []
    rated = msgspec.structs.replace(live[3], importance=9, text="rated")
    assert readings.of([*live[:3], rated, *live[4:]]) == ["rated"]


def test_a_job_that_reads_fewer_entries_loses_none(live: list[Entry]) -> None:
    readings = Readings()
    readings.of(live)
    assert readings.of(live[:2]) == []
    assert readings.of(live) == []


def test_other_owners_and_other_names_are_read_apart(live: list[Entry]) -> None:
    readings = Readings()
    readings.of(live)
    assert len(readings.of(live, MARIA)) == len(live)
    assert readings.of(live) == []
    assert len(readings.of(live, names={KLAUS: "Nikolaus"})) == len(live)


def test_the_entries_kept_are_bounded_and_two_runs_have_their_own(live: list[Entry]) -> None:
    readings, others = Readings(most=8), dict(NAMES)
    assert readings.of(live) == [*"abcdef"]
    assert readings.of(live[:2], MARIA) == ["a", "b"]
    assert readings.of(live) == [], "eight are kept"
    assert readings.of(live[:1], names=others) == ["a"]
    assert readings.of(live[:2], MARIA) == []
    assert readings.of(live) == [*"abcdef"], "those read least recently went"
