"""Dialects of endpoints: how to request JSON and how to cap the answer, learned from refusals."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

Form = Literal["json_schema", "json_object", "text"]
_BELOW: dict[Form, Form] = {"json_schema": "json_object", "json_object": "text"}

_FORM_REFUSED = re.compile(r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|structured|grammar", re.IGNORECASE)
_CAP_REFUSED = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed)|extra", re.IGNORECASE
)
_REFUSALS = (400, 404, 415, 422, 500, 501)  # statuses with which servers say "I do not know this parameter"

_INSTRUCTION = "\n\nAnswer with one JSON object and nothing else. It matches this JSON schema:\n"


@dataclass(frozen=True)
class Dialect:
    """One form of request. The first is tried first; a refusal names the part to omit."""

    form: Form = "json_schema"
    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    def without_refused(self, status: int, text: str) -> Dialect | None:
        """Return the dialect to try after this error response, or None if it refuses nothing that can be omitted."""
        if status not in _REFUSALS:
            return None
        if self.cap in text and _CAP_REFUSED.search(text):
            return replace(self, cap="max_tokens" if self.cap == "max_completion_tokens" else "max_completion_tokens")
        if self.form in _BELOW and _FORM_REFUSED.search(text):
            return replace(self, form=_BELOW[self.form])
        return None

    def parameters(
        self, system: str, user: str, name: str, schema: Mapping[str, object], cap: int
    ) -> dict[str, object]:
        """Return the body of a chat completion, without its model."""
        body: dict[str, object] = {self.cap: cap}
        if self.form == "json_schema":
            json_schema = {"name": name, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        else:
            system += schema_instruction(schema)
            if self.form == "json_object":
                body["response_format"] = {"type": "json_object"}
        body["messages"] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return body


def schema_instruction(schema: Mapping[str, object]) -> str:
    """Return the addition to the system prompt for an endpoint that takes no schema as a parameter."""
    return _INSTRUCTION + json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


class Store(Protocol):
    """The store of dialects beyond this process."""

    def load(self, server: str, model: str) -> Dialect | None:
        """Return the known dialect of this model, or None."""

    def save(self, server: str, model: str, dialect: Dialect) -> None:
        """Store the dialect of this model."""


class Dialects:
    """The known dialects of one server, by model. Safe to share between threads.

    Args:
        first: the dialect to try for an unknown model.
        store: read once for each model, and written when a dialect is accepted; None: this process only.
    """

    def __init__(self, server: str, first: Dialect, store: Store | None = None) -> None:
        self._server = server
        self._first = first
        self._store = store
        self._known: dict[str, Dialect] = {}
        self._refused: dict[str, set[Dialect]] = {}
        self._accepted: set[str] = set()
        self._lock = threading.Lock()

    def of(self, model: str) -> Dialect:
        """Return the dialect of this model."""
        known = self._known.get(model)
        if known is not None:
            return known
        with self._lock:
            if model not in self._known:
                found = self._store.load(self._server, model) if self._store is not None else None
                self._known[model] = found or self._first
            return self._known[model]

    def accepted(self, model: str, dialect: Dialect) -> None:
        """Store a dialect that the server has accepted, once in each process."""
        if model not in self._accepted:
            self._accepted.add(model)
            if self._store is not None:
                self._store.save(self._server, model, dialect)

    def learn(self, model: str, refused: Dialect, better: Dialect) -> bool:
        """Record that `refused` does not work; return False if no dialect is left that was not refused."""
        with self._lock:
            known_bad = self._refused.setdefault(model, set())
            known_bad.add(refused)
            now = self._known.get(model, self._first)
            if now == refused and better not in known_bad:
                now = self._known[model] = better
                self._accepted.discard(model)  # stored once it is accepted
            return now not in known_bad
