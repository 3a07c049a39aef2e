"""Dialects of endpoints, stored in Redis outside any run and shared by workers and later runs.

cogitate:dialect:<server> <model>   string   JSON of a `KnownDialect`; expires after an hour, since servers change
"""

from __future__ import annotations

import msgspec
import structlog
from redis import Redis
from redis.exceptions import RedisError

from cogitate.memory import typed_json
from cogitate.workers.llm.requests.dialect import RELEARN_AFTER, Dialect

PREFIX = "cogitate:dialect:"

_log = structlog.get_logger()


class KnownDialect(msgspec.Struct, frozen=True, kw_only=True):
    """The dialect of a model at a server."""

    server: str  # base URL without user and password
    model: str  # the server's name for it
    dialect: Dialect


class DialectStore:
    """The store of dialects in Redis. While Redis is down, each process learns them, at the cost of a refused call."""

    def __init__(self, client: Redis) -> None:
        self.client = client

    def load(self, server: str, model: str) -> Dialect | None:
        """Return the known dialect of this model, or None."""
        try:
            raw = self.client.get(_key(server, model))
            return typed_json.decode(raw, KnownDialect).dialect if raw else None
        except (RedisError, msgspec.MsgspecError) as error:
            _log.info("llm.dialect_unknown", server=server, model=model, error=type(error).__name__)
            return None

    def save(self, server: str, model: str, dialect: Dialect) -> None:
        """Store the dialect of this model."""
        try:
            known = KnownDialect(server=server, model=model, dialect=dialect)
            self.client.set(_key(server, model), msgspec.json.encode(known), ex=int(RELEARN_AFTER))
        except RedisError as error:
            _log.info("llm.dialect_not_kept", server=server, model=model, error=type(error).__name__)


def known_dialects(client: Redis) -> list[KnownDialect]:
    """Return all known dialects, sorted by server and model.

    Raises:
        RedisError: if the server cannot be reached.
    """
    keys = sorted(client.scan_iter(match=PREFIX + "*", count=1000))
    raw = client.mget(keys) if keys else []
    return [typed_json.decode(value, KnownDialect) for value in raw if value]


def _key(server: str, model: str) -> str:
    return f"{PREFIX}{server} {model}"
