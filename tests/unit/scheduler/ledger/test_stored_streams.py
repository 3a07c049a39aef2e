"""Streams in the ledger: whatever happens to them, it holds what they hold, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.memory.entry import Entry, Marks
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.journal.unreadable_entries import unreadable_entries_of
from cogitate.scheduler.ledger import streams as module
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import chunked, differences, load_streams, stream_writes, write_streams
from tests.unit.scheduler.scheduler_case import ANN, BOB, seen

PREFIX = "cogitate:{r}:0:"


def live_through(stream: Stream, tick: int, chance: random.Random) -> None:
    """One of the things that a tick does to a stream."""
    live, archived = [entry.number for entry in stream.live()], [*stream.archived]
    match chance.randrange(9):
        case 0 | 1 | 2:
            stream.append(seen(f"at {tick}"), tick)
        case 3 if live:
            number = chance.choice(live)
            stream.archive(number, tick, into=chance.choice((0, number + 1)))
        case 4 if archived:
            stream.delete(chance.sample(archived, min(2, len(archived))))
        case 5 if stream.entries:
            stream.mark(chance.choice([*stream.entries]), Marks(accesses=tick, last_accessed=tick))
        case 6 if stream.marks:
            stream.forget_marks(chance.choice([*stream.marks]))
        case 7 if stream.entries:  # an archived one too: its rating came after
            stream.rate(chance.choice([*stream.entries]), 1 + tick % 10, tick)
        case 8 if archived:
            stream.forget_target(chance.choice(archived))
        case _:
            stream.set_counter("naps", tick)


def contents(client: FakeRedis) -> dict[bytes, Any]:
    found: dict[bytes, Any] = {}
    for key in client.scan_iter(PREFIX + "*"):
        is_set = client.type(key) == b"zset"
        found[key] = dict(client.zrange(key, 0, -1, withscores=True)) if is_set else client.hgetall(key)
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("chunk", [1, 500])
def test_a_stream_survives_a_round_trip_through_the_ledger(
    monkeypatch: pytest.MonkeyPatch, seed: int, chunk: int
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    chance, client = random.Random(seed), FakeRedis()
    store, streams = RunStore(client, PREFIX), [Stream(owner) for owner in (ANN, BOB)]
    for tick in range(1, 40):
        for stream in streams:
            for _ in range(chance.randrange(4)):
                live_through(stream, tick, chance)
        write_streams(store, streams)
        assert stream_writes(streams) == [], "nothing has changed since"
    whole = FakeRedis()
    for stream in streams:
        stream.note_all()
    write_streams(RunStore(whole, PREFIX), streams)
    assert contents(client) == contents(whole)
    read = load_streams(store, [ANN, BOB])
    assert [differences(read[stream.owner], stream) for stream in streams] == [[], []]
    for stream in streams:
        again = read[stream.owner]
        assert [entry.number for entry in again.live()] == [entry.number for entry in stream.live()]
        assert (again.archived, again.marks, again.head) == (stream.archived, stream.marks, stream.head)
    assert load_streams(store, ["agent:new"])["agent:new"].entries == {}


def test_an_unchanged_stream_delays_no_others() -> None:
    idle, busy = Stream(ANN), Stream(BOB)
    busy.append(seen("a cow"), 1)
    assert {write.key for write in stream_writes([idle, busy])} == {f"entries:{BOB}", "heads"}
    assert stream_writes([idle]) == []


def test_entries_are_written_in_order_of_number() -> None:
    stream = Stream(ANN)
    for number in range(1, 129):
        stream.append(seen(f"{number}"), 1)
    stream_writes([stream])
    for number in (64, 1, 128):
        assert [*{64, 1, 128}] != [1, 64, 128], "a set has another order"
        stream.mark(number, Marks(accesses=1))
        stream.rate(number, 3, 2)
    written = {write.key: [*write.args[::2]] for write in stream_writes([stream])}
    assert written == {f"entries:{ANN}": [1, 64, 128], f"marks:{ANN}": [1, 64, 128]}


def test_deletions_make_room_for_new_values() -> None:
    stream = Stream(ANN)
    for number in range(1, 4):
        stream.append(seen(f"{number}"), 1)
        stream.mark(number, Marks(accesses=1))
    stream.archive(1, 2, into=2)
    stream_writes([stream])
    stream.delete([1])
    stream.archive(2, 3)
    stream.append(seen("4"), 3)
    commands = [(write.command, write.key.partition(":")[0]) for write in stream_writes([stream])]
    assert commands == [
        ("HDEL", "archive"),
        ("ZREM", "archived"),
        ("HDEL", "into"),
        ("HDEL", "marks"),
        ("HSET", "entries"),
        ("HDEL", "entries"),
        ("HSET", "archive"),
        ("ZADD", "archived"),
        ("HSET", "heads"),
    ]


def test_many_values_take_several_commands_and_none_takes_no_command() -> None:
    assert [*chunked("HSET", "k", [*range(6)], 2)] == [Write("HSET", "k", (0, 1, 2, 3, 4, 5))]
    most = module.CHUNK
    parts = [*chunked("HSET", "k", [*range(4 * most + 2)], 2)]
    assert [len(part.args) for part in parts] == [2 * most, 2 * most, 2]
    assert [arg for part in parts for arg in part.args] == [*range(4 * most + 2)]
    assert [len(part.args) for part in chunked("HDEL", "k", [*range(most + 1)])] == [most, 1]
    assert [*chunked("HDEL", "k", [])] == []


def test_differences_of_a_stream_are_named_by_part_and_first_numbers() -> None:
    def made() -> Stream:
        stream = Stream(ANN)
        for number in range(1, 9):
            stream.append(seen(f"{number}"), 1)
        stream.archive(8, 2)
        stream.mark(1, Marks(accesses=1))
        return stream

    assert differences(made(), made()) == []
    changed = made()
    for number in range(7, 0, -1):
        changed.rate(number, 3, 2)
    changed.archive(7, 3)
    changed.forget_marks(1)
    changed.set_counter("naps", 1)
    for stored, said in ((changed, made()), (made(), changed)):
        assert differences(stored, said) == [
            "entries [1, 2, 3, 4, 5] are not what the journal says",
            "archived [7] are not what the journal says",
            "marks [1] are not what the journal says",
            "its head is not what the journal says",
        ]


def test_entries_are_compared_by_their_stored_form() -> None:
    class Odd(Entry, frozen=True, kw_only=True, omit_defaults=True):
        pass

    def made(kind: type[Entry], text: str = "A cow.") -> Stream:
        stream = Stream(ANN)
        stream.append(kind(type="observation", text=text, minute=1), 1)
        return stream

    assert made(Odd).entries[1] != made(Entry).entries[1]
    assert msgspec.to_builtins(made(Odd).entries[1]) == msgspec.to_builtins(made(Entry).entries[1])
    assert differences(made(Odd), made(Entry)) == []
    assert differences(made(Odd, "A bee."), made(Entry)) == ["entries [1] are not what the journal says"]


def test_unreadable_entries_of_all_owners_are_reported_and_other_damage_skipped() -> None:
    client = FakeRedis()
    client.sadd(RUNS, "r")
    client.set(incarnation_key("r"), "now")
    store = RunStore.of(client, "r", "now")
    client.hset(store.key("state"), mapping={"tick": 1, "schema": SCHEMA})
    streams = [Stream(owner) for owner in (BOB, ANN, "agent:cy", "agent:gone")]
    for stream in streams:
        stream.append(seen("A cow."), 1)
    write_streams(store, streams)
    odd = b'{"type":"dream","text":"Sheep.","minute":1,"number":1,"tick":1}'
    for owner, raw in ((BOB, odd), ("agent:gone", odd), (ANN, b"{")):
        client.hset(store.owner_key("entries", owner), "1", raw)
    client.hset(store.key("owners"), mapping={ANN: "{}", BOB: "{}", "agent:cy": "{}"})
    client.hset(store.key("retired"), "agent:gone", 1)
    assert [(one.owner, one.number) for one in unreadable_entries_of(client, "r")] == [(BOB, 1), ("agent:gone", 1)]
