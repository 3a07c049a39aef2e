"""Detection of answers that belong to another request of the same connection.

A server, or a proxy in front of it, that answers a request twice or late makes that answer appear as the answer to the
next request. The pool does not reuse a connection with an unread answer (`cogitate.workers.llm.connections.pool`). An
answer that arrives after the next request was sent is recognised by either of two signs:

* It carries the id of another request. Several servers return `X-Request-Id` in the header of the answer, or, as vLLM
  does, within the answer's own `id`.
* It equals the answer to another question byte for byte, or has its completion id. Completions contain an id and a
  time, so this is a copy, unless the endpoint gives constant answers or ids. It does if it gives this one on a
  connection that carried nothing else, or to the same question again. This is learned per answer and id: copies of
  others are still refused.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Any

REQUEST_ID = "X-Request-Id"
_KEPT = 1_000  # earlier answers that are recognised
_HEAD = 400  # bytes at the start of an answer that contain its id
_COMPLETION_ID = re.compile(rb'"id"\s*:\s*"([^"]{16,200})"')  # a shorter one may be constant


class StaleAnswers:
    """The requests and answers of one pool of connections, to recognise an answer to another request."""

    def __init__(self) -> None:
        self._name = f"cogitate-{secrets.token_hex(8)}-"
        self._ids = re.compile(re.escape(self._name) + r"\d+")
        self._requests = 0
        self._questions: dict[bytes, bytes] = {}  # digest or id of an answer -> digest of its question, oldest first
        self._repeated: dict[bytes, None] = {}  # digests and ids that the endpoint legitimately repeats
        self._refused: dict[tuple[bytes, bytes], None] = {}  # answers and questions

    def new_request_id(self) -> str:
        """Return the id of a new request."""
        self._requests += 1
        return f"{self._name}{self._requests}"

    def names_another(self, request_id: str, headers: Mapping[str, str], content: bytes) -> bool:
        """Return whether an answer carries another request's id."""
        named = f"{headers.get(REQUEST_ID, '')} {content[:_HEAD].decode(errors='replace')}"
        return any(found != request_id for found in self._ids.findall(named))

    def is_copy(self, question: bytes, content: bytes, *, reused: bool) -> bool:
        """Return whether a completion is a copy of the answer to another question, or has its completion id.

        Args:
            question: the body of its request.
            reused: whether its connection had carried other exchanges before.
        """
        signs = [_digest(content)]
        if (named := _COMPLETION_ID.search(content, 0, _HEAD)) is not None:
            signs.append(named[1])
        seen = [self._was_seen(sign, _digest(question), reused=reused) for sign in signs]  # each is remembered
        return any(seen)

    def _was_seen(self, answer: bytes, asked: bytes, *, reused: bool) -> bool:
        """Return whether a sign of an answer came with the answer to another question."""
        known = self._questions.setdefault(answer, asked)
        _bound(self._questions)
        if known == asked or answer in self._repeated:
            return False
        if not reused or (answer, asked) in self._refused:
            self._repeated[answer] = None
            _bound(self._repeated)
            return False
        self._refused[answer, asked] = None
        _bound(self._refused)
        return True


def _bound(kept: dict[Any, Any]) -> None:
    """Drop the oldest items beyond the limit."""
    if len(kept) > _KEPT:
        del kept[next(iter(kept))]


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
