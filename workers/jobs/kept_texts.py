"""Texts that Redis stores for a limited time and up to a byte limit: models' answers and captured prompts.

They are a convenience, never authoritative: while Redis is down, nothing is stored or found.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import structlog
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError
from redis.typing import EncodableT

from cogitate.workers import lua

log = structlog.get_logger()


class KeptTexts:
    """The texts of one type. Thread-safe.

    Args:
        what: the name of the type in the log.
        most_bytes: the limit for all texts together; the oldest are dropped first, and a larger text is not stored.
        seconds: the time until a text expires.
    """

    def __init__(self, client: Redis, what: str, *, most_bytes: int, seconds: float) -> None:
        self._client = client
        self._what = what
        self._most_bytes = most_bytes
        self._milliseconds = max(1, int(seconds * 1_000))
        self._script: Script = client.register_script((resources.files(lua) / "keep.lua").read_text(encoding="utf-8"))

    def keep(self, keys: Sequence[str], field: str, text: bytes, incarnation: str = "") -> None:
        """Store a text under `field`.

        Args:
            keys: see `workers/lua/keep.lua`; a fourth one guards the text of a run, which must be `incarnation`.
        """
        args: list[EncodableT] = [field, text, self._most_bytes, self._milliseconds, incarnation]
        try:
            self._script(keys=keys, args=args)
        except RedisError as error:
            log.warning("text.not_kept", what=self._what, error=type(error).__name__)

    def find(self, keys: Sequence[str], fields: Sequence[str]) -> list[bytes | None]:
        """Return the texts under these fields; None for each that is missing or expired."""
        try:
            with self._client.pipeline(transaction=False) as pipe:
                pipe.time()
                for field in fields:
                    pipe.hget(keys[0], field)
                    pipe.zscore(keys[1], field)
                (seconds, micros), *found = pipe.execute()
        except RedisError as error:
            log.warning("text.not_kept", what=self._what, error=type(error).__name__)
            return [None] * len(fields)
        oldest = seconds * 1_000 + micros // 1_000 - self._milliseconds
        texts, times = found[::2], found[1::2]
        return [text if at is not None and at > oldest else None for text, at in zip(texts, times, strict=True)]
