"""Writes that MONITOR takes down are sent once more as they were."""

from __future__ import annotations

from bench.monitored_writes import command_of


def test_words_are_read_with_their_escapes() -> None:
    line = rb'1700000000.1 [0 lua] "hset" "a key" "\"x\\" "\x00\n\xff"'
    assert command_of(line) == [b"hset", b"a key", b'"x\\', b"\x00\n\xff"]
