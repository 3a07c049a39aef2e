"""The gate's scripts, run by tests on a frozen clock."""

from __future__ import annotations

from typing import Any

from redis import Redis

from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.workers.lua import source

NOW = 1_000_000_000  # microseconds of the clock
SECOND = 1_000_000
KEYS = endpoint_keys("e")
#: A prefix of scripts that answers their TIME calls with the test's time.
CLOCK = """
local real = redis
local redis = {call = function(command, ...)
  if command == 'TIME' then return {'%d', '%d'} end
  return real.call(command, ...)
end}
"""
ENTER = {
    "token": "t",
    "patience": 60 * SECOND,
    "pace": 0,
    "cost": 0,
    "cap": 0,
    "place": "",
    "token_place": "",
    "waited": 0,
    "fresh": 0,
    "model": "m",
    "ahead": 0,
    "may_wait": 0,
    "again": 0,
    "slow": 0,
    "server": "",
}
LEAVE = {
    "token": "t",
    "verdict": "fine",
    "failure": "",
    "calls": 1,
    "requests": 1,
    "tokens": 10,
    "took": 1_000,
    "give_back": 0,
    "retry_after": -1,
    "pace": 0,
    "first": 0,
    "model": "m",
    "tried_aside": 0,
    "in_a_row": 3,
    "share": 0.5,
    "window": 10,
    "first_pause": SECOND,
    "longest_pause": 8 * SECOND,
    "ahead": 0,
    "estimated": 0,
    "reasoning": 0,
    "times": "",
    "prompt": "p",
    "left": NOW,
}


def ran(client: Redis, name: str, args: list[Any], keys: list[str] = KEYS, now: int = NOW) -> Any:
    """Run a script at a time, and return its answer."""
    answer = client.register_script(CLOCK % divmod(now, SECOND) + source(name))(keys=keys, args=args)
    return [part.decode() if isinstance(part, bytes) else part for part in answer] if type(answer) is list else answer


def enter(client: Redis, **changed: Any) -> list[Any]:
    assert changed.keys() <= ENTER.keys()
    return ran(client, "enter", [*(ENTER | changed).values()])  # type: ignore[no-any-return]


def leave(client: Redis, **changed: Any) -> list[Any]:
    assert changed.keys() <= LEAVE.keys()
    return ran(client, "leave", [*(LEAVE | changed).values()])  # type: ignore[no-any-return]


def gate(client: Redis) -> dict[str, str]:
    found: Any = client.hgetall(KEYS[0])
    return {field.decode(): value.decode() for field, value in found.items()}


def counters(client: Redis) -> dict[str, int]:
    found: Any = client.hgetall(KEYS[2])
    return {field.decode(): int(value) for field, value in found.items()}


def slots(client: Redis) -> dict[str, float]:
    found: Any = client.zrange(KEYS[1], 0, -1, withscores=True)
    return {token.decode(): score for token, score in found}


def given(client: Redis, **fields: Any) -> None:
    """Set fields of the gate; a double underscore in a name stands for a dot."""
    if fields:
        client.hset(KEYS[0], mapping={name.replace("__", "."): value for name, value in fields.items()})
