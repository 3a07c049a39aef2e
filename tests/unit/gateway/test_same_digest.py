"""One life through the plain loop, a block of the host's own, asyncio, HTTP and a pipe: one digest, one journal."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import Settings, TickLoop
from cogitate.hosting.protocol.answers import applied
from cogitate.hosting.protocol.host_table import HostTable
from cogitate.hosting.protocol.stdio import StdioHost
from cogitate.scheduler.inspection.audit import audit
from tests.gateway_client import serving
from tests.unit.gateway.village_case import LAST, OPEN, OWNERS, brief, live, turn


def opened(**more: Any) -> TickLoop:
    """Return the village's loop in Python."""
    return TickLoop(run="v", owners=OWNERS, settings=Settings(), brief=brief, ticks=LAST, inline=True, **more)


@pytest.fixture(scope="module")
def straight() -> tuple[str, list[Any]]:
    """The digest of the plain loop, and what took effect in it."""
    told = []
    with opened() as loop:
        for tick in loop:
            told.append([one.model_dump(mode="json") for one in applied(tick.applied)])
            live(loop, tick)
    assert {one["kind"] for tick in told for one in tick} >= {"plan", "reflect"}
    return loop.digest, told


def test_a_block_of_the_hosts_own(straight: tuple[str, list[Any]]) -> None:
    with opened() as loop:
        while not loop.over:
            with loop.next_tick() as tick:
                live(loop, tick)
    assert loop.digest == straight[0]


def test_asyncio(straight: tuple[str, list[Any]]) -> None:
    async def host() -> str:
        async with opened() as loop:
            async for tick in loop:
                live(loop, tick)
        return loop.digest

    assert asyncio.run(host()) == straight[0]


def test_http(straight: tuple[str, list[Any]]) -> None:
    redis = FakeRedis()
    with serving(redis) as (client, _):
        client.answer("/runs/v/open", OPEN)
        told = [client.answer(f"/runs/v/ticks/{number}", turn(number)) for number in range(1, LAST + 1)]
        assert client.tick("v", LAST + 1).body["code"] == "over"
    assert [one["applied"] for one in told] == straight[1]
    assert told[-1]["digest"] == straight[0]
    assert [one["over"] for one in told] == [False] * (LAST - 1) + [True]
    assert audit(redis, "v") == []


def test_a_pipe(straight: tuple[str, list[Any]]) -> None:
    redis = FakeRedis()
    lines: list[dict[str, Any]] = [{"do": "open", "run": "v", "body": OPEN, "id": "first"}]
    lines += [{"do": "tick", "run": "v", "tick": number, "body": turn(number)} for number in range(1, LAST + 1)]
    answers = io.BytesIO()
    with HostTable(Settings(), redis) as table:
        StdioHost(table).serve(io.BytesIO(b"\n".join(json.dumps(line).encode() for line in lines)), answers)
    first, *told = map(json.loads, answers.getvalue().splitlines())
    assert first["id"] == "first"
    assert [one["ok"]["applied"] for one in told] == straight[1]
    assert told[-1]["ok"]["digest"] == straight[0]
    assert audit(redis, "v") == []
