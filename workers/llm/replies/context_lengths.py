"""Context lengths of models, learned from prompts that were too long.

Most endpoints name the length in the error. A worker accepts it if the refused request exceeded it by our estimate,
which errs on the safe side. If the error names none, the next prompts take three quarters of the refused one. Redis
keeps learned lengths for an hour; other workers look them up twice a minute.

cogitate:context:<server> <model>   string   tokens of prompt and answer; expires after an hour
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable

import structlog
from redis import Redis
from redis.exceptions import RedisError

KEY = "cogitate:context:"
LEARNED_FOR = 3_600.0  # seconds; servers change
LOOKED_UP_EVERY = 30.0  # seconds between two lookups in the store
_LEAST, _MOST = 128, 100_000_000  # plausible context lengths, in tokens

_STATUSES = frozenset(range(400, 600))

_log = structlog.get_logger()

_NUMBER = re.compile(r"(?<![\w.,:/<-])\d[\d,]{2,11}(?![\w/>-])")
_NAMED = re.compile(
    r"(?:context(?!_)|ctx|limit|max(?!_(?:completion_)?tokens))[^\d(]{1,60}\(?(\d[\d,]{2,11})(?!\w)", re.IGNORECASE
)


def named_context(error_text: str) -> int:
    """Return the context length in an error's text, in tokens; 0 if there is none.

    It is the number after a word for a limit. Without such a word it is the second largest number, since the size of
    the request is larger; a number that may be an HTTP error status does not count.
    """
    named, numbers = (
        [size for digits in pattern.findall(error_text) if _LEAST <= (size := int(digits.replace(",", ""))) <= _MOST]
        for pattern in (_NAMED, _NUMBER)
    )
    return (*named, *sorted({*numbers} - _STATUSES)[-2:], 0)[0]


class ContextLengths:
    """The learned context lengths of one server's models. Thread-safe.

    Args:
        client: shares the lengths with other workers; None: this process learns its own.
        clock: returns seconds, from any starting point.
    """

    def __init__(self, server: str, client: Redis | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._client = client
        self._clock = clock
        self._known: dict[str, tuple[int, float]] = {}  # tokens, and when they were learned or looked up
        self._lock = threading.Lock()

    def of(self, model: str) -> int:
        """Return the most tokens that prompt and answer may have together, or 0 if unknown."""
        now = self._clock()
        with self._lock:
            tokens, since = self._known.get(model, (0, -LOOKED_UP_EVERY))
            if now - since < LOOKED_UP_EVERY:
                return tokens
            self._known[model] = tokens, now  # meanwhile other threads use the known value
        if self._client is not None:
            with contextlib.suppress(RedisError, ValueError):
                tokens = int(self._client.get(self._key(model)) or 0)
        self._known[model] = tokens, now
        return tokens

    def overflowed(self, model: str, named: int, prompt_tokens: int, output_cap: int) -> None:
        """Record that a prompt was too long.

        Args:
            named: the context length that the error names, or 0.
            prompt_tokens: the estimate of the prompt.
        """
        if named and named >= prompt_tokens + output_cap:
            return  # by that figure the prompt fitted: a contradiction teaches nothing
        tokens = named or prompt_tokens * 3 // 4 + output_cap
        with self._lock:
            known, _ = self._known.get(model, (0, 0.0))
            if known and not named:
                tokens = min(tokens, known)
            self._known[model] = tokens, self._clock()
        _log.warning("llm.context_learned", server=self._server, model=model, tokens=tokens)
        if self._client is not None:
            try:
                self._client.set(self._key(model), tokens, ex=int(LEARNED_FOR))
            except RedisError as error:
                _log.info("llm.context_not_kept", server=self._server, model=model, error=type(error).__name__)

    def _key(self, model: str) -> str:
        return f"{KEY}{self._server} {model}"
