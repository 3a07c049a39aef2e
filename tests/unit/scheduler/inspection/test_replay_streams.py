"""What a replay compares with the ledger: everything that is kept of a stream."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fakeredis import FakeRedis

from cogitate.memory.entry import Marks
from cogitate.memory.stream import Stream
from cogitate.scheduler.inspection.replay import STREAM_KEYS, compare
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import stream_writes
from tests.unit.scheduler.scheduler_case import ANN, BOB, seen

PREFIX = "cogitate:{r}:0:"


def kept() -> FakeRedis:
    """A ledger with two streams: entries, one of them archived, marks, a rating and a head."""
    client = FakeRedis()
    streams = [Stream(owner) for owner in (ANN, BOB)]
    for stream in streams:
        for number in range(1, 4):
            stream.append(seen(f"{number}"), number)
        stream.archive(1, 4, 2)
        stream.mark(2, Marks(accesses=2, last_accessed=7))
        stream.set_counter("served:plan", 3)
    for write in stream_writes(streams):
        client.execute_command(write.command, PREFIX + write.key, *write.args)
    return client


def test_two_ledgers_that_hold_the_same_agree() -> None:
    compare(RunStore(kept(), PREFIX), RunStore(kept(), PREFIX), [ANN, BOB])


CHANGES: dict[str, Callable[[FakeRedis], object]] = {
    "entries: changed": lambda client: client.hset(f"{PREFIX}entries:{BOB}", "3", "{}"),
    "entries: one more": lambda client: client.hset(f"{PREFIX}entries:{BOB}", "9", "{}"),
    "entries: gone": lambda client: client.delete(f"{PREFIX}entries:{BOB}"),
    "archive: changed": lambda client: client.hset(f"{PREFIX}archive:{BOB}", "1", "{}"),
    "archived: at another tick": lambda client: client.zadd(f"{PREFIX}archived:{BOB}", {"1": 5}),
    "archived: one more": lambda client: client.zadd(f"{PREFIX}archived:{BOB}", {"2": 4}),
    "marks: changed": lambda client: client.hset(f"{PREFIX}marks:{BOB}", "2", "{}"),
    "marks: gone": lambda client: client.delete(f"{PREFIX}marks:{BOB}"),
    "into: changed": lambda client: client.hset(f"{PREFIX}into:{BOB}", "1", "3"),
    "head: changed": lambda client: client.hset(f"{PREFIX}heads", BOB, "{}"),
    "head: gone": lambda client: client.hdel(f"{PREFIX}heads", BOB),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("swapped", [False, True])
def test_differences_are_named_on_both_sides(what: str, swapped: bool) -> None:
    here, there = kept(), kept()
    CHANGES[what](there)
    if swapped:
        here, there = there, here
    with pytest.raises(JournalError, match=rf"the stream of '{BOB}' differs .* {what.partition(':')[0]}"):
        compare(RunStore(here, PREFIX), RunStore(there, PREFIX), [ANN, BOB])


def test_every_key_of_a_stream_is_among_them() -> None:
    assert {what.partition(":")[0] for what in CHANGES} == {*STREAM_KEYS, "head"}
