"""Shared parts of the tests of the ledger's scripts: a small run written key by key, and calls of single scripts."""

from __future__ import annotations

import json
from typing import Any

from redis import Redis

from cogitate.scheduler.ledger.keys import script

PREFIX, NONCE = "{p}:", "n"


RUN = f"{PREFIX}{NONCE}:"


INCARNATION = f"{PREFIX}incarnation"


STATE = f"{RUN}state"


ANSWER = '{"source":"llm","usage":{"calls":1,"tokens":70,"usd_micros":4}}'


JOB: dict[Any, Any] = {
    "state": "open",
    "token": "",
    "claims": 0,
    "due": 9,
    "job": "J",
    "owner": "a",
    "calls": 1,
    "tokens": 100,
    "usd_micros": 0,
    "cells": '["day","run","gone","run"]',
    "pools": "[]",
    "last": "[0,0,0]",
    "latest": "",
    "tick": 6,
    "reads": "[]",
    "schema": 3,
    "losses": 0,
}


#: An attempt without a reservation.
FREE = json.dumps({"job": "k", "worker": "w", "tick": 6, "cells": [], "reserved": [0, 0, 0]})


def plain(answer: Any) -> Any:
    if isinstance(answer, list):
        return [plain(part) for part in answer]
    return answer.decode() if isinstance(answer, bytes) else answer


def held(client: Redis, key: str) -> dict[str, str]:
    """Return a hash of the run."""
    found: Any = client.hgetall(f"{RUN}{key}")
    return {name.decode(): value.decode() for name, value in found.items()}


def members(client: Redis, key: str) -> set[str]:
    found: Any = client.smembers(f"{RUN}{key}")
    return {member.decode() for member in found}


def everything(client: Redis) -> dict[Any, Any]:
    keys: Any = client.keys("*")
    return {key: client.dump(key) for key in keys}


def step(client: Redis, name: str, *args: Any, epoch: int = 1, holder: str = "h", seq: int = 4, of: str = "new") -> Any:
    """Call the script of a host's step."""
    return plain(script(client, name)(keys=[STATE], args=[RUN, epoch, holder, seq, of, *args]))


def call(client: Redis, name: str, *args: Any) -> Any:
    """Call a script that is not a host's step."""
    return plain(script(client, name)(keys=[INCARNATION], args=[PREFIX, *args]))


def acquire(client: Redis, how: str, nonce: str, holder: str, schema: int = 3, *fields: Any) -> Any:
    return call(client, "acquire", how, nonce, holder, schema, "somebody", *fields)


def claim(client: Redis, token: str = "t", worker: str = "w", schema: int = 3) -> Any:
    return call(client, "claim", "k", worker, token, schema)


def window(client: Redis) -> dict[str, int]:
    return {name.removeprefix("run|"): int(value) for name, value in held(client, "window:day").items() if int(value)}


def settle(
    client: Redis,
    result: str = ANSWER,
    used: tuple[int, int, int] = (1, 70, 0),
    token: str = "t",
    failure: str = "",
    note: str = "",
    incarnation: str = NONCE,
) -> Any:
    return call(client, "settle", incarnation, "k", token, result, *used, failure, note)


SAVED = '{"source":"cached","saved":true,"usage":{"calls":2,"tokens":30,"usd_micros":4}}'


def collect(client: Redis, *lost: str, tick: int = 9, mode: str = "due", seq: int = 4) -> Any:
    return step(client, "collect", tick, mode, *lost, seq=seq)


def advance(
    client: Redis,
    *,
    awaited: tuple[str, ...] = (),
    charged: tuple[str, ...] = (),
    closed: tuple[str, ...] = (),
    windows: tuple[tuple[str, int, int], ...] = (),
    shared: tuple[tuple[Any, ...], ...] = (),
    writes: tuple[Any, ...] = (),
    apart: tuple[bytes, ...] = (),
    tick: int = 7,
    seq: int = 4,
    mode: str = "due",
) -> Any:
    records = [
        ("awaited", [(key, f"awaits {key}") for key in awaited]),
        ("charged", [(key, f"charges {key}") for key in charged]),
    ]
    ticks = [(tick, "line", "digest", "chain", records, closed, windows, shared, writes)]
    return step(client, "advance", mode, json.dumps(ticks), *apart, seq=seq)


DAY = "cogitate:real_day:2026-01-01"


def real_day(client: Redis, what: str, token: str, tokens: int, micros: int, *limits: Any) -> str:
    return plain(script(client, "real_day")(keys=[DAY], args=[what, token, tokens, micros, *limits]))  # type: ignore[no-any-return]


def of_day(client: Redis) -> dict[str, str]:
    found: Any = client.hgetall(DAY)
    return {name.decode(): value.decode() for name, value in found.items()}
