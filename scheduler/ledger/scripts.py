"""The Lua scripts of the ledger, each with the preludes it needs."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from redis import Redis
from redis.commands.core import Script

from cogitate.scheduler.ledger import lua

#: The halves in Redis of the engine's parts that have one, in the order in which a host is shown what they keep.
_PARTS = ("parts", "late", "corrections", "retries")

_PRELUDES: dict[str, tuple[str, ...]] = {
    "acquire": (),
    "claim": ("accounts", "parts", "retries"),
    "settle": ("accounts", *_PARTS),
    "beat": (),
    "ask_ready": ("fence",),
    "ready": (),
    "collect": ("fence", "accounts", "rows", *_PARTS),
    "advance": ("fence", "accounts", "rows", *_PARTS),
    "present": (),
    "checkpoint": ("fence",),
    "trim": ("fence",),
    "finish": ("fence",),
    "control": (),
    "delete": (),
    "real_day": (),
}


Reply = list[Any]  # of a script: texts as bytes, integers, and lists of them


@cache
def source(name: str) -> str:
    """Return the text of a script, preludes first."""
    folder = resources.files(lua)
    return "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in (*_PRELUDES[name], name))


def script(client: Redis, name: str) -> Script:
    """Return a script bound to a client; it is sent by its digest, and loaded when the server does not know it."""
    return client.register_script(source(name))
