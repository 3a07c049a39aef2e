"""The Redis in memory of an inline run: a tick of any length costs in proportion to its length."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedisConnection

from cogitate.hosting.redis_in_memory import PIECE, redis_in_memory


def test_a_long_command_is_sent_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    send = FakeRedisConnection.send_packed_command

    def noted(self: Any, command: list[bytes], check_health: bool = True) -> None:
        lengths.extend(len(part) for part in command)
        send(self, command, check_health)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(FakeRedisConnection, "send_packed_command", noted)
    client = redis_in_memory()
    values = [f"value {number}\r\n" for number in range(5_000)]
    client.rpush("many", *values, "x" * 3 * PIECE)
    found = client.lrange("many", 0, -1)
    assert [value.decode() for value in found] == [*values, "x" * 3 * PIECE]
    assert max(lengths) <= PIECE
    assert sum(lengths) > 5_000 * 12 + 3 * PIECE
