"""Texts that Redis keeps: each for a while, all of them within a bound, none for a run that is gone."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from structlog.testing import capture_logs

from cogitate.workers.jobs.stored_texts import KeptTexts

KEYS = ["texts", "texts_at", "texts_bytes"]


@pytest.fixture
def client() -> FakeRedis:
    return FakeRedis()


def kept(client: Redis, most_bytes: int = 100, seconds: float = 60.0) -> KeptTexts:
    return KeptTexts(client, "prompt", most_bytes=most_bytes, seconds=seconds)


def test_a_stored_text_is_found_and_replaced_by_a_newer_one(client: FakeRedis) -> None:
    texts = kept(client)
    texts.keep(KEYS, "a", b"first")
    texts.keep(KEYS, "a", b"second one")
    assert texts.find(KEYS, ["a", "b"]) == [b"second one", None]
    assert client.get("texts_bytes") == b"10"


def test_the_oldest_make_room_and_oversized_texts_are_not_stored(client: FakeRedis) -> None:
    texts = kept(client)
    texts.keep(KEYS, "a", b"x" * 40)
    texts.keep(KEYS, "b", b"x" * 40)
    client.zincrby("texts_at", -1, "a")  # both may have come in the same millisecond
    texts.keep(KEYS, "c", b"x" * 40)
    texts.keep(KEYS, "d", b"x" * 101)
    assert sorted(client.hkeys("texts")) == [b"b", b"c"]
    assert client.get("texts_bytes") == b"80"


def test_an_expired_text_is_neither_found_nor_counted(client: FakeRedis) -> None:
    texts = kept(client)
    texts.keep(KEYS, "a", b"old")
    client.zadd("texts_at", {"a": 1})
    assert texts.find(KEYS, ["a"]) == [None]
    texts.keep(KEYS, "b", b"new")
    assert (client.hkeys("texts"), client.get("texts_bytes")) == ([b"b"], b"3")
    assert all(0 < client.pttl(key) <= 60_000 for key in KEYS)


def test_a_deleted_run_keeps_no_texts(client: FakeRedis) -> None:
    client.set("incarnation", "new")
    kept(client).keep([*KEYS, "incarnation"], "a", b"text", "old")
    assert client.keys() == [b"incarnation"]
    kept(client).keep([*KEYS, "incarnation"], "a", b"text", "new")
    assert client.hlen("texts") == 1


def test_without_redis_nothing_is_stored_or_found() -> None:
    away = Redis(port=1, retry=Retry(NoBackoff(), 0))
    texts = kept(away)
    with capture_logs() as logs:
        texts.keep(KEYS, "a", b"text")
        assert texts.find(KEYS, ["a"]) == [None]
    assert [line["event"] for line in logs] == ["text.not_kept", "text.not_read"]
    away.close()


class At:
    """A Redis whose clock stands still, with a text of each age."""

    def __init__(self, *times: float | None) -> None:
        self.read: list[object] = []
        for number, at in enumerate(times):
            self.read += [b"text %d" % number, at]

    def register_script(self, text: str) -> None:
        """Keep nothing."""

    def pipeline(self, *, transaction: bool) -> At:
        return self

    def __enter__(self) -> At:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""

    def time(self) -> tuple[int, int]:
        """Return seconds and microseconds: 10,999 ms."""
        return 10, 999_999

    hget = zscore = lambda self, *_: None

    def execute(self) -> list[object]:
        return self.read


def test_a_text_is_found_until_the_millisecond_in_which_it_expires() -> None:
    redis: Any = At(10_000, 9_999, None, 10_998)
    found = KeptTexts(redis, "text", most_bytes=100, seconds=1.0).find(["texts", "times"], ["a", "b", "c", "d"])
    assert found == [b"text 0", None, None, b"text 3"]


def test_a_text_that_is_kept_for_no_time_is_kept_for_a_millisecond() -> None:
    redis: Any = At(10_998, 10_999)
    assert KeptTexts(redis, "text", most_bytes=100, seconds=0.0).find(["texts", "times"], ["a", "b"]) == [
        None,
        b"text 1",
    ]
