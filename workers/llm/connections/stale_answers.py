"""Answers that belong to another request of the same connection, as far as an answer shows it.

A server, or a proxy before it, that answers a request twice or late makes its answer that of the next request. The pool
does not reuse a connection on which such an answer waits already (`cogitate.workers.llm.connections.pool`). One that
comes after the next request was sent is known by either of two signs:

* It carries the id of another request. Several servers return `X-Request-Id` in the header of the answer, or, as vLLM
  does, within the answer's own `id`.
* It equals the answer to another question byte for byte. Completions have an id and a time of their own, so this is a
  copy, unless the endpoint is one that always says the same. It is if it says so on a connection that carried nothing
  else, or to the same question once more. That is known of this one answer: copies of others are still refused.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Any

REQUEST_ID = "X-Request-Id"
_KEPT = 1_000  # earlier answers that are recognised
_HEAD = 400  # bytes of an answer in which its id stands


class StaleAnswers:
    """The requests and answers of one pool of connections, to recognise an answer to another request."""

    def __init__(self) -> None:
        self._name = f"cogitate-{secrets.token_hex(8)}-"
        self._ids = re.compile(re.escape(self._name) + r"\d+")
        self._requests = 0
        self._questions: dict[bytes, bytes] = {}  # digest of an answer -> digest of its question, oldest first
        self._repeated: dict[bytes, None] = {}  # digests of answers that the endpoint gives to several questions
        self._refused: dict[tuple[bytes, bytes], None] = {}  # answers and questions

    def new_request_id(self) -> str:
        """Return the id of a new request."""
        self._requests += 1
        return f"{self._name}{self._requests}"

    def names_another(self, request_id: str, headers: Mapping[str, str], content: bytes) -> bool:
        """Return whether an answer carries the id of another request than this one."""
        named = f"{headers.get(REQUEST_ID, '')} {content[:_HEAD].decode(errors='replace')}"
        return any(found != request_id for found in self._ids.findall(named))

    def is_copy(self, question: bytes, content: bytes, *, reused: bool) -> bool:
        """Return whether a completion is a copy of the one that answered another question.

        Args:
            question: the body of its request.
            reused: whether its connection had carried other exchanges before.
        """
        asked, answer = _digest(question), _digest(content)
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
    """Forget the oldest of what is more than is kept."""
    if len(kept) > _KEPT:
        del kept[next(iter(kept))]


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
