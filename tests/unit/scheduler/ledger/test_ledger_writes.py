"""How a tick is sent to the script that commits it."""

from __future__ import annotations

from cogitate.scheduler.ledger.ledger import Commit, Records, Write
from cogitate.tasks.job import JobKey

KEY = JobKey(3, "plan", "agent:a", 0, 0)


def commit(*writes: Write, line: bytes = b"line") -> Commit:
    return Commit(
        tick=7,
        line=line,
        digest="d",
        chain="c",
        records=[Records("awaited", [(KEY, b"{}")])],
        closed=[KEY],
        windows=[("tick:6", 6, 6)],
        writes=writes,
    )


def test_a_tick_is_sent_as_one_value_of_json() -> None:
    apart: list[bytes] = []
    sent = commit(Write("HSET", "entries:o", (3, b'"\xc3\xa9"')), Write("DEL", "view", ())).as_json(apart)
    assert sent == (
        *(7, "line", "d", "c", [("awaited", [(KEY.text(), "{}")])], [KEY.text()], [("tick:6", 6, 6)], []),
        [("HSET", "entries:o", [3, '"é"']), ("DEL", "view", [])],
    )
    assert apart == []


def test_bytes_that_are_no_text_are_sent_apart() -> None:
    apart = [b"\xfe"]
    _, line, *_, writes = commit(Write("HSET", "checkpoint", ("packed", b"\xff")), line=b"\xfd").as_json(apart)
    assert apart == [b"\xfe", b"\xff", b"\xfd"]
    assert line == (3,)
    assert writes == [("HSET", "checkpoint", ["packed", (2,)])]


def test_shared_fields_of_consecutive_writes_are_sent_once() -> None:
    shared = ("state", b"open")
    writes = [Write("HSET", "job:a", ("due", 7), shared), Write("HSET", "job:b", ("due", 8), shared)]
    *_, common, sent = commit(*writes, Write("HSET", "job:c", (), ("state", "held"))).as_json([])
    assert common == [["state", "open"], ["state", "held"]]
    assert sent == [
        ("HSET", "job:a", ["due", 7], 1),
        ("HSET", "job:b", ["due", 8], 1),
        ("HSET", "job:c", [], 2),
    ]
