"""Promises are read from stored memories, and read again only if these have changed."""

from __future__ import annotations

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.ops.report import minds_reading as module
from cogitate.ops.report.minds_promises import remembered_promises
from cogitate.ops.report.minds_reading import PromisesReading
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import write_streams
from tests.live_redis import empty_redis
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, WORLD

GIVEN = Entry(type="message", text="Maria Lopez: I promise to lend you my ladder.", minute=600, subjects=(MARIA, KLAUS))
KEPT = Entry(type="message", text="Maria Lopez: I kept my word.", minute=900, subjects=(MARIA, KLAUS))
WEATHER = Entry(type="observation", text="It rains.", minute=610, subjects=(MARIA,))
OWNERS = [ISABELLA, KLAUS, MARIA]


class Case:
    """Three memories on a real server, and the owners whose promises were read since the last check."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = RunStore.of(empty_redis(), "town", "1")
        self.streams = {owner: Stream(owner) for owner in OWNERS}
        self.reading, self._read = PromisesReading(), list[str]()

        def noted(owner: str, *rest: object) -> object:
            self._read.append(owner)
            return remembered_promises(owner, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(module, "remembered_promises", noted)
        self.learn(MARIA, GIVEN)
        self.learn(KLAUS, GIVEN)
        self.learn(ISABELLA, WEATHER)

    def learn(self, owner: str, entry: Entry) -> None:
        self.streams[owner].append(entry, 1)
        write_streams(self.store, self.streams.values())

    def states(self, about: str = "", names: dict[str, str] | None = None) -> dict[str, list[str]]:
        found = self.reading.of(self.store, OWNERS, WORLD.names if names is None else names, about)
        return {owner: [one.promise.state for one in promises] for owner, promises in found.items()}

    def read(self) -> set[str]:
        read = {*self._read}
        self._read.clear()
        return read


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> Case:
    return Case(monkeypatch)


def test_only_owners_whose_memories_have_changed_are_read_again(case: Case) -> None:
    assert case.states() == {ISABELLA: [], KLAUS: ["open"], MARIA: ["open"]}
    assert case.read() == {KLAUS, MARIA}, "an owner without a memory of a promise is not read"
    case.learn(KLAUS, KEPT)
    assert case.states() == {ISABELLA: [], KLAUS: ["kept"], MARIA: ["open"]}
    assert case.read() == {KLAUS}
    case.streams[KLAUS].archive(2, 3)
    write_streams(case.store, case.streams.values())
    assert case.states() == {ISABELLA: [], KLAUS: ["kept"], MARIA: ["open"]}, "archived memories still count"
    case.read()
    case.states(names={**WORLD.names, "agent:new": "New"})
    assert case.read() == {KLAUS, MARIA}, "names decide who speaks"


def test_promises_about_an_owner_are_read_from_its_witnesses_only(case: Case) -> None:
    assert case.states(ISABELLA) == {ISABELLA: []}
    assert case.states(KLAUS) == {KLAUS: ["open"], MARIA: ["open"]}
