"""The world's own state: kept compressed, refused when it was changed."""

import pytest
from fakeredis import FakeRedis
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis

from cogitate.scheduler.ledger.run_store import MOST_BYTES, RunStore, pack
from cogitate.scheduler.ledger.streams import load_world, world_writes

STATE = b'{"bodies":' + b'{"x":1},' * 1000 + b"}"


def keep(client: Redis, tick: int, state: bytes) -> None:
    for write in world_writes(tick, state):
        client.execute_command(write.command, "run:" + write.key, *write.args)  # type: ignore[no-untyped-call]


@given(st.binary(), st.integers(1, 10**9))
def test_the_stored_state_is_read(state: bytes, tick: int) -> None:
    client = FakeRedis()
    keep(client, tick, state)
    assert load_world(RunStore(client, "run:")) == (state, tick)


def test_it_takes_little_room() -> None:
    client = FakeRedis()
    keep(client, 7, STATE)
    kept = client.hgetall("run:checkpoint")
    assert kept.keys() == {b"tick", b"packed"}
    assert len(kept[b"packed"]) < len(STATE) / 10


def test_a_run_without_a_saved_world_loads_none() -> None:
    assert load_world(RunStore(FakeRedis(), "run:")) == (None, 0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (b"", "is cut short"),
        (b"no zlib", "cannot be decompressed"),
        (pack(STATE)[:-5], "is cut short"),
        (pack(STATE) + b"!", "something follows it"),
    ],
    ids=["empty", "foreign", "cut", "longer"],
)
def test_a_changed_state_is_refused(changed: bytes, said: str) -> None:
    client = FakeRedis()
    client.hset("run:checkpoint", mapping={"tick": 60, "packed": changed})
    with pytest.raises(ValueError, match=f"the world's state .*{said}"):
        load_world(RunStore(client, "run:"))


def test_a_state_that_unpacks_beyond_a_servers_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeRedis()
    keep(client, 60, STATE)
    monkeypatch.setattr("cogitate.scheduler.ledger.run_store.MOST_BYTES", len(STATE) - 1)
    with pytest.raises(ValueError, match="is cut short, or something follows it"):
        load_world(RunStore(client, "run:"))


def test_the_largest_value_is_a_servers_default() -> None:
    assert MOST_BYTES == 536_870_912, "proto-max-bulk-len 512mb"


def test_a_state_without_its_tick_is_refused() -> None:
    client = FakeRedis()
    keep(client, 60, STATE)
    client.hdel("run:checkpoint", "tick")
    with pytest.raises(ValueError, match="the world's state"):
        load_world(RunStore(client, "run:"))
