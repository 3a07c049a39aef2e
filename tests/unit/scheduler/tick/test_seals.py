"""Seals of a run's memory: which are written with a tick, and what a host that goes on finds by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate.memory.entry import Entry, Marks
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.ledger.errors import RunAltered
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.restore import Seals
from tests.unit.scheduler.run_lines_case import ANN, BOB, CY, lines, store_of

TICK = 6  # of the last line of the journal


def stream_of(owner: str) -> Stream:
    stream = Stream(owner)
    for text in ("A fire.", "Rain."):
        stream.append(Entry(type="observation", text=text, minute=1), 1)
    return stream


def state_of() -> Any:
    """The part of a run's state that is sealed."""
    return SimpleNamespace(
        run="town",
        facts_at={1: Facts()},
        profiles={o: Profile(name=o) for o in (ANN, BOB)},
        retired={CY},
        streams={owner: stream_of(owner) for owner in (ANN, BOB)},
    )


@pytest.fixture
def store() -> RunStore:
    return store_of(lines())


def write(
    store: RunStore, seals: Seals, state: Any, changed: Iterable[Stream] = (), tick: int = TICK, *, run: bool = False
) -> list[Write]:
    """Seal a tick; what was written, but for the tick itself."""
    *writes, last = seals.take_writes(state, changed, tick, run_changed=run)
    assert last == Write("HSET", "state", ("sealed", tick))
    for one in (*writes, last):
        store.client.execute_command(one.command, store.prefix + one.key, *one.args)
    return writes


def names(writes: list[Write]) -> list[str]:
    """Of what seals were written."""
    assert all((one.command, one.key) == ("HSET", "seals") for one in writes)
    return [str(arg) for one in writes for arg in one.args[::2]]


def refusal(store: RunStore, state: Any, tick: int = TICK) -> str:
    with pytest.raises(RunAltered) as refused:
        Seals().check(store, state, tick)
    return str(refused.value)


def is_sound(store: RunStore, state: Any) -> Seals:
    seals = Seals()
    with capture_logs() as logs:
        seals.check(store, state, TICK)
    assert logs == [], "it went by the seals"
    return seals


# -- written -----------------------------------------------------------------------------------------


def test_the_first_tick_seals_everything_and_later_ones_their_changes(store: RunStore) -> None:
    seals, state = Seals(), state_of()
    assert names(write(store, seals, state)) == [ANN, BOB, ":facts", ":owners"]
    assert write(store, seals, state) == []
    assert write(store, seals, state, [state.streams[ANN]], run=True) == [], "nothing has changed after all"
    state.streams[BOB].append(Entry(type="observation", text="A cow.", minute=2), 2)
    assert names(write(store, seals, state, state.streams.values())) == [BOB]
    state.streams[CY] = stream_of(CY)
    assert names(write(store, seals, state, run=True)) == [CY], "it came with this tick, and has not changed since"
    is_sound(store, state)


@pytest.mark.parametrize(
    ("change", "sealed"),
    [
        (lambda state: state.facts_at.update({6: Facts(morning=1)}), ":facts"),
        (lambda state: state.profiles.pop(BOB), ":owners"),
        (lambda state: state.retired.add(BOB), ":owners"),
    ],
)
def test_changed_facts_and_owners_are_sealed(store: RunStore, change: Callable[[Any], object], sealed: str) -> None:
    seals, state = Seals(), state_of()
    write(store, seals, state)
    change(state)
    assert write(store, seals, state) == [], "the caller did not say so"
    assert names(write(store, seals, state, run=True)) == [sealed]
    is_sound(store, state)


def test_a_restored_loop_seals_only_later_changes(store: RunStore) -> None:
    state = state_of()
    write(store, Seals(), state)
    resumed = is_sound(store, state)
    assert write(store, resumed, state, state.streams.values(), run=True) == []


# -- checked -----------------------------------------------------------------------------------------

ALTERED: list[tuple[str, Callable[[Any], object]]] = [
    ("facts", lambda state: state.facts_at.update({1: Facts(morning=1)})),
    ("facts", lambda state: state.facts_at.clear()),
    ("owners", lambda state: state.profiles.update({ANN: Profile(name="Eve")})),
    ("owners", lambda state: state.retired.clear()),
    (
        f"entries of {BOB}, heads of {BOB}",
        lambda state: state.streams[BOB].append(Entry(type="observation", text="A cow.", minute=2), 2),
    ),
    (f"marks of {ANN}", lambda state: state.streams[ANN].mark(1, Marks(accesses=1))),
    (f"archive of {ANN}", lambda state: state.streams[ANN].archive(1, 2)),
]


@pytest.mark.parametrize(("part", "alter"), ALTERED)
def test_altered_values_are_named(store: RunStore, part: str, alter: Callable[[Any], object]) -> None:
    state = state_of()
    write(store, Seals(), state)
    is_sound(store, state)
    alter(state)
    assert part in refusal(store, state)


def test_everything_that_was_altered_is_named(store: RunStore) -> None:
    state = state_of()
    write(store, Seals(), state)
    state.facts_at.clear()
    state.retired.clear()
    for owner in (BOB, ANN):
        state.streams[owner].mark(1, Marks(accesses=1))
    assert f"facts, owners, marks of {ANN}, marks of {BOB}" in refusal(store, state)


def test_an_owner_without_a_seal_counts_as_changed(store: RunStore) -> None:
    state = state_of()
    write(store, Seals(), state)
    store.client.hdel(store.key("seals"), ANN)
    said = refusal(store, state)
    assert all(f"{part} of {ANN}" in said for part in ("entries", "archive", "marks", "heads"))
    assert BOB not in said


# -- without seals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["never", "of an earlier tick", "removed"])
def test_without_the_last_ticks_seals_a_run_is_compared_with_its_journal(store: RunStore, how: str) -> None:
    sealed = {"of an earlier tick": TICK - 1, "removed": TICK}
    if how in sealed:
        write(store, Seals(), state_of(), tick=sealed[how])
    if how == "removed":
        store.client.delete(store.key("seals"))
    state = state_of()
    state.streams, state.retired = {}, set()
    state.profiles = {owner: Profile(name=owner) for owner in (ANN, BOB, CY)}
    with capture_logs() as logs:
        Seals().check(store, state, TICK)
    assert [(log["event"], log["run"], log["tick"]) for log in logs] == [("ledger.unsealed", "town", TICK)]
    state.profiles, state.facts_at = {}, {}
    assert "facts, owners" in refusal(store, state)


def test_the_seals_of_the_last_tick_decide(store: RunStore) -> None:
    """A run whose journal was trimmed of what its memory holds, for example."""
    state = state_of()
    write(store, Seals(), state)
    store.client.delete(store.key("journal"))
    is_sound(store, state)


def test_without_seals_a_run_is_compared_with_its_journal() -> None:
    store = store_of(lines())
    streams: dict[str, Stream] = {}
    for line in read_journal(store, 1, 6):
        redo(line, streams)
    whole: dict[str, Any] = {
        "run": "town",
        "facts_at": {1: Facts()},
        "profiles": {o: Profile(name=o) for o in (ANN, BOB, CY)},
    }
    sound: Any = SimpleNamespace(**whole, streams=streams, retired=set())
    Seals().check(store, sound, 6)
    streams[BOB].append(Entry(type="observation", text="A cow.", minute=1), 6)
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, BOB),
        ({"facts_at": {1: Facts(morning=1)}}, "facts"),
        ({"profiles": {}}, "owners"),
    )
    for changed, told in changes:
        state: Any = SimpleNamespace(**whole | changed, streams=streams, retired=set())
        with pytest.raises(RunAltered, match=told):
            Seals().check(store, state, 6)
