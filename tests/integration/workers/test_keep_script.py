"""The script `keep`: texts are kept within a limit of bytes, and the oldest are dropped first."""

from __future__ import annotations

from redis import Redis

from tests.integration.workers.gate_script_case import NOW, ran

TEXTS = ["texts", "times", "bytes", "incarnation"]


def keep(client: Redis, field: str, text: str, *, now: int = NOW, most: int = 10, guarded: bool = False) -> int:
    keys = TEXTS if guarded else TEXTS[:3]
    return int(ran(client, "keep", [field, text, most, 5_000, "abc"], keys, now))


def test_texts_are_kept_within_the_limit_and_the_oldest_are_dropped_first(client: Redis) -> None:
    assert keep(client, "a", "1234") == 1
    assert keep(client, "b", "12345", now=NOW + 1_000) == 1
    assert client.hgetall("texts") == {b"a": b"1234", b"b": b"12345"}
    assert client.zrange("times", 0, -1, withscores=True) == [(b"a", 1_000_000.0), (b"b", 1_000_001.0)]
    assert client.get("bytes") == b"9"
    assert keep(client, "c", "1", now=NOW + 2_000) == 1, "ten bytes fit"
    assert keep(client, "d", "12", now=NOW + 3_000) == 1
    assert client.hgetall("texts") == {b"b": b"12345", b"c": b"1", b"d": b"12"}
    assert keep(client, "e", "1234567890", now=NOW + 4_000) == 1
    assert (client.hgetall("texts"), client.get("bytes")) == ({b"e": b"1234567890"}, b"10")
    assert keep(client, "f", "12345678901", now=NOW + 5_000) == 0, "this text alone is too long"
    assert (client.hgetall("texts"), client.get("bytes")) == ({b"e": b"1234567890"}, b"10")
    assert client.zrange("times", 0, -1) == [b"e"]
    assert keep(client, "e", "12345678901") == 0
    assert (client.hgetall("texts"), client.get("bytes"), client.zcard("times")) == ({}, b"0", 0)


def test_a_text_kept_again_counts_once_and_expires_after_its_last_keep(client: Redis) -> None:
    keep(client, "a", "1234")
    keep(client, "a", "123", now=NOW + 1_000_000)
    assert (client.hgetall("texts"), client.get("bytes")) == ({b"a": b"123"}, b"3")
    keep(client, "b", "1", now=NOW + 5_999_000)
    assert client.hlen("texts") == 2
    keep(client, "b", "1", now=NOW + 6_000_000)
    assert (client.hgetall("texts"), client.get("bytes"), client.zrange("times", 0, -1)) == ({b"b": b"1"}, b"1", [b"b"])
    for key in TEXTS[:3]:
        assert 0 < client.pttl(key) <= 5_000


def test_a_deleted_run_keeps_no_texts(client: Redis) -> None:
    assert keep(client, "a", "1", guarded=True) == 0
    client.set("incarnation", "other")
    assert keep(client, "a", "1", guarded=True) == 0
    assert client.exists("texts", "times", "bytes") == 0
    client.set("incarnation", "abc")
    assert keep(client, "a", "1", guarded=True) == 1
    assert client.pttl("incarnation") == -1
