"""How a tick's commands are sent to the script that carries them out."""

from __future__ import annotations

from cogitate.scheduler.ledger.ledger import Write, sent_writes


def test_numbers_are_sent_as_one_text() -> None:
    assert sent_writes([Write("HDEL", "marks:o", (3, 17))]) == [1, "HDEL", "marks:o", "numbers", "3 17"]
    assert sent_writes([Write("LTRIM", "answers", (-100, -1))]) == [1, "LTRIM", "answers", "numbers", "-100 -1"]
    assert sent_writes([Write("HSET", "entries:o", (3, b"{}"))]) == [1, "HSET", "entries:o", 2, 3, b"{}"]
    assert sent_writes([Write("DEL", "view", ())]) == [1, "DEL", "view", 0]


def test_what_commands_in_a_row_share_is_sent_once() -> None:
    shared = ("state", "open")
    writes = [Write("HSET", "job:a", ("due", 7), shared), Write("HSET", "job:b", ("due", 8), shared)]
    assert sent_writes([*writes, Write("HSET", "job:c", (), ("state", "held"))]) == [
        *(5, "", "", 2, "state", "open"),
        *("HSET", "job:a", "shared", 2, "due", 7, "HSET", "job:b", "shared", 2, "due", 8),
        *("", "", 2, "state", "held", "HSET", "job:c", "shared", 0),
    ]
