"""Dialects of endpoints: how to request JSON and how to cap the answer, learned from refusals."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.requests.schema import full_schema, plain_schema

Form = Literal["json_schema", "json_object", "text"]
_BELOW: dict[Form, Form] = {"json_schema": "json_object", "json_object": "text"}

_BOUNDS_REFUSED = re.compile(
    r"\b(min|max)_?(items|length|imum)\b|\b(pattern|enum)\b|invalid[ _](json_)?schema|"
    r"too many states|"  # Gemini
    r"pars(e|ing) grammar|repetitions",  # llama.cpp
    re.IGNORECASE,
)
_FORM_REFUSED = re.compile(
    r"response[_ ]?(format|schema)|json[_ ]?(schema|object)|structured|grammar|specified schema|"
    r"schema in generationconfig|"  # Gemini
    r"in object schema|"  # Mistral
    r"no endpoints found that",  # OpenRouter: no provider of the model takes all parameters
    re.IGNORECASE,
)
_CAP_REFUSED = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed)|extra", re.IGNORECASE
)
_SYSTEM_REFUSED = re.compile(
    r"system (role|message|prompt|instruction)s? (is |are )?not (supported|allowed|enabled)|"
    r"developer instruction is not enabled|only user and assistant roles|roles must alternate",
    re.IGNORECASE,
)
_REFUSALS = (400, 404, 415, 422, 500, 501)  # statuses with which servers reject a parameter
_CONFIRMED = 2  # refusals that confirm each other: a single one may have been a transient fault
RELEARN_AFTER = 3_600.0  # seconds after which the first dialect is tried again, since servers change

_INSTRUCTION = "\n\nAnswer with one JSON object and nothing else. It matches this JSON schema:\n"


@dataclass(frozen=True)
class Dialect:
    """One form of request. Alternatives are listed in order of preference; a refusal names the part to omit."""

    form: Form = "json_schema"
    schema: Literal["full", "plain"] = "full"  # plain: without bounds, patterns and the job's own constraints
    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system: Literal["message", "merged"] = "message"  # merged: the instructions begin the user's message

    def without_refused(self, status: int, text: str) -> Dialect | None:
        """Return the dialect to try after this error response, or None if it refuses nothing that can be omitted."""
        if status not in _REFUSALS:
            return None
        if self.cap in text and _CAP_REFUSED.search(text):
            return replace(self, cap="max_tokens" if self.cap == "max_completion_tokens" else "max_completion_tokens")
        if self.system == "message" and _SYSTEM_REFUSED.search(text):
            return replace(self, system="merged")
        if (self.form, self.schema) == ("json_schema", "full") and _BOUNDS_REFUSED.search(text):
            return replace(self, schema="plain")
        if self.form in _BELOW and _FORM_REFUSED.search(text):
            return replace(self, form=_BELOW[self.form])
        return None

    def parameters(self, prompt: Prompt, cap: int) -> dict[str, object]:
        """Return the body of a chat completion, without its model.

        Raises:
            TypeError: if no schema can express the prompt's answer.
        """
        body: dict[str, object] = {self.cap: cap}
        system, user, answer = prompt.system, prompt.user, prompt.answer
        if self.form == "json_schema":
            schema = full_schema(answer, prompt.constraints) if self.schema == "full" else plain_schema(answer)
            json_schema = {"name": answer.__name__, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        else:
            system += schema_instruction(plain_schema(answer))
            if self.form == "json_object":
                body["response_format"] = {"type": "json_object"}
        if self.system == "merged":
            body["messages"] = [{"role": "user", "content": f"{system}\n\n{user}"}]
        else:
            body["messages"] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return body


def schema_instruction(schema: Mapping[str, object]) -> str:
    """Return the addition to the system prompt for an endpoint that does not accept a schema parameter."""
    return _INSTRUCTION + json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


class Store(Protocol):
    """The store of dialects beyond this process."""

    def load(self, server: str, model: str) -> Dialect | None:
        """Return the known dialect of this model, or None."""

    def save(self, server: str, model: str, dialect: Dialect) -> None:
        """Store the dialect of this model."""


class _Known:
    """The knowledge of this process about one model."""

    def __init__(self, dialect: Dialect, now: float) -> None:
        self.dialect = dialect
        self.since = now  # when the known dialect was learned
        self.trial: Dialect | None = None  # for the next call only
        self.refusals = Counter[Dialect]()
        self.is_stored = False


class Dialects:
    """The known dialects of one server, by model. Safe to share between threads.

    A single refusal may be a transient fault: the next call tries the alternative, and the call after that the refused
    dialect again. A second refusal without a success in between confirms it.

    Args:
        first: the dialect to try for an unknown model.
        store: read once per model, and written when a dialect is accepted; None: this process only.
        clock: returns seconds, from any starting point.
    """

    def __init__(
        self, server: str, first: Dialect, store: Store | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._server = server
        self._first = first
        self._store = store
        self._clock = clock
        self._models: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def load(self, model: str) -> None:
        """Look up this model's dialect in the store, once."""
        with self._lock:
            self._known(model)

    def next(self, model: str) -> Dialect:
        """Return the dialect for the next call to this model."""
        with self._lock:
            known = self._known(model)
            trial, known.trial = known.trial, None
            return trial or known.dialect

    def accepted(self, model: str, dialect: Dialect) -> None:
        """Record that the server has accepted a dialect, and store it if it is the known one."""
        with self._lock:
            known = self._known(model)
            known.refusals.pop(dialect, None)
            stores = self._store is not None and not known.is_stored and dialect == known.dialect
            known.is_stored |= stores
        if stores and self._store is not None:
            self._store.save(self._server, model, dialect)

    def learn(self, model: str, refused: Dialect, better: Dialect) -> bool:
        """Record that `refused` was refused; return False if no dialect is left to try."""
        with self._lock:
            known = self._known(model)
            known.refusals[refused] += 1
            if known.refusals[better] >= _CONFIRMED:
                return False
            if known.refusals[refused] < _CONFIRMED:
                known.trial = better
            elif known.dialect == refused:
                known.dialect, known.since, known.is_stored = better, self._clock(), False
            return True

    def _known(self, model: str) -> _Known:
        known = self._models.get(model)
        if known is None:
            found = self._store.load(self._server, model) if self._store is not None else None
            known = self._models[model] = _Known(found or self._first, self._clock())
        elif known.dialect != self._first and self._clock() - known.since > RELEARN_AFTER:
            known.dialect, known.since, known.is_stored = self._first, self._clock(), False
            known.refusals = Counter(dict.fromkeys(known.refusals, _CONFIRMED - 1))  # one more confirms it again
        return known
