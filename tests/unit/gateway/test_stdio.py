"""The protocol on a pipe: an answer for each line, in order, whatever the line is."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import Settings
from cogitate.hosting.protocol import stdio
from cogitate.hosting.protocol.host_table import HostTable
from cogitate.hosting.protocol.stdio import StdioHost
from tests.unit.gateway.village_case import ADA, OPEN

SEEN = {"observations": [{"owner": ADA, "text": "A stranger came."}]}


def said(*lines: object, redis: FakeRedis | None = None) -> list[Any]:
    """The answers to these lines, each a value or bytes as they are."""
    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    answers = io.BytesIO()
    with HostTable(Settings(), redis or FakeRedis()) as table:
        StdioHost(table).serve(io.BytesIO(raw), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def line(do: str, body: object = None, **more: object) -> dict[str, object]:
    """Return a line about the village."""
    return {"do": do, "run": "v", **({} if body is None else {"body": body}), **more}


def test_each_line_gets_its_answer() -> None:
    answers = said(
        line("open", OPEN),
        line("tick", SEEN, tick=1, id=[7]),
        line("tick", SEEN, tick=1, id="again"),
        line("stand"),
        line("memory", {"read": "recent", "owner": ADA}),
        line("steer", {"mode": "paused"}),
        line("status"),
        line("close"),
        line("stand"),
    )
    assert [one.get("id") for one in answers[:3]] == [None, [7], "again"]
    assert answers[1]["ok"] == answers[2]["ok"]
    assert answers[3]["ok"]["tick"] == 1
    assert [one["text"] for one in answers[4]["ok"]["found"]] == ["A stranger came."]
    assert answers[5]["ok"]["state"] == "waits"
    assert answers[6]["ok"]["summary"]["tick"] == 1
    assert answers[7]["ok"]["digest"] == answers[1]["ok"]["digest"]
    assert answers[8]["error"]["code"] == "not_open"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (b"{", "malformed"),
        (b"[]", "malformed"),
        (b'{"do": NaN}', "malformed"),
        (b"\xff", "malformed"),
        ({"do": "dance", "run": "v"}, "malformed"),
        ({"do": "stand"}, "malformed"),
        (line("tick", {}), "malformed"),
        (line("tick", {"observation": []}, tick=1), "malformed"),
        (line("tick", {}, tick=0), "malformed"),
        (line("tick", {}, tick=2), "out_of_order"),
        (line("tick", {"leaves": ["agent:x"]}, tick=1), "input_refused"),
        (line("memory", {"read": "recent"}), "malformed"),
        (line("open", OPEN | {"x": 1}), "malformed"),
        ({"do": "open", "run": "../x"}, "setting_refused"),
        (line("stand", more=1), "malformed"),
    ],
)
def test_a_line_that_cannot_be_is_refused_and_the_next_one_answered(wrong: object, code: str) -> None:
    _, refused, taken = said(line("open", OPEN), wrong, line("tick", SEEN, tick=1))
    assert refused["error"]["code"] == code, refused
    assert refused["error"]["do"]
    assert taken["ok"]["tick"] == 1


def test_a_line_that_is_too_long_is_refused_and_the_next_one_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_LINE", 1_000)
    for length in (1_001, 2_000, 2_001, 5_000):
        refused, taken = said(b"x" * length, line("open", OPEN))
        assert refused["error"]["code"] == "too_long"
        assert taken["ok"]["tick"] == 0


def test_a_lost_parent_leaves_a_resumable_run() -> None:
    redis = FakeRedis()
    (_, first) = said(line("open", OPEN), line("tick", SEEN, tick=1), redis=redis)
    opened, again, second = said(
        line("open", OPEN | {"exist": "resume"}), line("tick", SEEN, tick=1), line("tick", {}, tick=2), redis=redis
    )
    assert opened["ok"]["tick"] == 1
    assert again == first
    assert second["ok"]["tick"] == 2
