"""Dialects of endpoints, learned from refusals: how to request JSON and how to cap the answer.

Workers and later runs share known dialects; Redis keeps them outside any run.

cogitate:dialect:<server> <model>   string   JSON of a `KnownDialect`; expires after an hour, since servers change
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

import msgspec
import structlog
from redis import Redis
from redis.exceptions import RedisError

from cogitate.memory import typed_json
from cogitate.scheduler.ledger.connect import read_value, scan_keys
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.requests.schema import BOUNDS, narrowed_schema, plain_schema

Form = Literal["json_schema", "json_object", "text"]
_BELOW: dict[Form, Form] = {"json_schema": "json_object", "json_object": "text"}

# An error names a part of a request by the request's own key, or by these words. If it names none, later calls omit
# one part after another.
_SCHEMA_NAMED = re.compile(r"schema|grammar|endpoints found that", re.IGNORECASE)
_SYSTEM_NAMED = re.compile(r"(system|developer) (role|message|prompt|instruction)|\broles?\b", re.IGNORECASE)
_REQUIRED = re.compile(r"\b([a-z]\w{2,40}) must be (?:set to )?(true|false)\b", re.IGNORECASE)
REFUSALS = frozenset({400, 404, 415, 422, 500, 501})  # statuses with which servers reject a parameter
_CONFIRMED = 2  # refusals that confirm each other: a single one may have been a transient fault
KEY_PREFIX = "cogitate:dialect:"
RELEARN_AFTER = 3_600.0  # seconds after which a client tries the first dialect again, since servers change

_log = structlog.get_logger()

_INSTRUCTION = "\n\nAnswer with one JSON object and nothing else. It matches this JSON schema:\n"


@dataclass(frozen=True)
class Dialect:
    """One form of request. Each field lists its alternatives in order of preference."""

    form: Form = "json_schema"
    schema: Literal["full", "plain"] = "full"  # plain: without bounds, patterns and the job's choices
    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system: Literal["message", "merged"] = "message"  # merged: the instructions begin the user's message
    left_out: tuple[str, ...] = ()  # parameters of the model to omit, such as temperature
    switches: tuple[tuple[str, bool], ...] = ()  # parameters that the endpoint requires

    def without_named(self, text: str, parameters: Collection[str] = ()) -> Dialect | None:
        """Return a dialect without the part of the request that an error names; None if it names none.

        Args:
            parameters: the model's parameters in the request.
        """
        for name in parameters:
            if _names(text, name):
                return self._without(name)
        if (required := _REQUIRED.search(text)) is not None and required[1] not in (*dict(self.switches), "stream"):
            return replace(self, switches=(*self.switches, (required[1], required[2].lower() == "true")))
        if _names(text, self.cap):
            return self._recapped()
        is_full = (self.form, self.schema) == ("json_schema", "full")
        if is_full and _names(text, *BOUNDS[2:]):  # "minimum" and "maximum" may occur in any error
            return replace(self, schema="plain")
        is_of_form = _names(text, "response_format", "response_schema", "json_schema", "json_object")
        if self.form in _BELOW and (is_of_form or _SCHEMA_NAMED.search(text)):
            return replace(self, form=_BELOW[self.form]) if is_of_form or not is_full else replace(self, schema="plain")
        if self.system == "message" and _SYSTEM_NAMED.search(text):
            return replace(self, system="merged")
        return None

    def alternatives(self, parameters: Collection[str] = ()) -> list[Dialect]:
        """Return dialects that each omit or rename one part, the least important first."""
        others = [self._without(name) for name in parameters]
        if (self.form, self.schema) == ("json_schema", "full"):
            others.append(replace(self, schema="plain"))
        others.append(self._recapped())
        form = self.form
        while form in _BELOW:
            form = _BELOW[form]
            others.append(replace(self, form=form))
        if self.system == "message":
            others.append(replace(self, system="merged"))
        return others

    def difference(self, other: Dialect) -> str:
        """Return the parts that differ in another dialect, by their names in requests."""
        parts = [*sorted({*self.left_out} ^ {*other.left_out})]
        parts += [f"{name}={str(value).lower()}" for name, value in sorted({*self.switches} ^ {*other.switches})]
        parts += [self.cap] if self.cap != other.cap else []
        parts += [f"response_format {self.form}"] if self.form != other.form else []
        parts += ["schema keywords"] if self.schema != other.schema else []
        parts += ["system role"] if self.system != other.system else []
        return ", ".join(parts)

    def _without(self, name: str) -> Dialect:
        return replace(self, left_out=(*self.left_out, name))

    def _recapped(self) -> Dialect:
        return replace(self, cap="max_tokens" if self.cap == "max_completion_tokens" else "max_completion_tokens")

    def body(
        self, prompt: Prompt, cap: int, parameters: Mapping[str, object] = MappingProxyType({})
    ) -> dict[str, object]:
        """Return the body of a chat completion, without its model.

        Args:
            parameters: the model's parameters; those that the endpoint refuses are omitted.

        Raises:
            TypeError: if no schema can express the prompt's answer.
        """
        body: dict[str, object] = {self.cap: cap}
        system, user, answer = prompt.system, prompt.user, prompt.answer
        if self.form == "json_schema":
            schema = narrowed_schema(answer, prompt.enforced) if self.schema == "full" else plain_schema(answer)
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
        kept = {name: value for name, value in parameters.items() if name not in self.left_out}
        return body | kept | dict(self.switches)


def _names(text: str, *keys: str) -> bool:
    """Return whether an error names a key of the request in any spelling: "minItems", "min_items"."""
    spelled = (re.sub("_|(?=[A-Z])", "[ _-]?", key) for key in keys)
    return re.search(rf"(?<![a-z])(?:{'|'.join(spelled)})(?![a-z])", text, re.IGNORECASE) is not None


def schema_instruction(schema: Mapping[str, object]) -> str:
    """Return the addition to the system prompt for an endpoint that accepts no schema parameter."""
    return _INSTRUCTION + json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


class KnownDialect(msgspec.Struct, frozen=True, kw_only=True):
    """The dialect of a model at a server."""

    server: str  # base URL without user and password
    model: str  # the server's name for it
    dialect: Dialect


class DialectStore:
    """The store of dialects in Redis. While Redis is down, each process learns its own at the cost of refused calls."""

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
    keys = sorted(key for page in scan_keys(client, KEY_PREFIX + "*", 1000) for key in page)
    raw = [read_value(client, key.decode()) for key in keys]
    return [typed_json.decode(value, KnownDialect) for value in raw if value]


def _key(server: str, model: str) -> str:
    return f"{KEY_PREFIX}{server} {model}"


@dataclass
class _Known:
    """The facts that this process has learnt about one model."""

    dialect: Dialect
    since: float  # when the known dialect was learned
    worked: bool  # whether the server has accepted it
    other: Dialect | None = None  # the latest other dialect that the server has accepted
    trial: Dialect | None = None  # the dialect of the next call, or of all calls until it replaces the known one
    refusals: Counter[Dialect] = field(default_factory=Counter)
    is_stored: bool = False


class Dialects:
    """The known dialects of one server, by model. Safe to share between threads.

    A single refusal may be a transient fault: the next call tries an alternative, and the call after that the refused
    dialect again. After a second refusal, an alternative that the server accepts replaces it. A refusal that names no
    part of the request is the prompt's fault if the dialect has worked before; otherwise, from the second such refusal
    on, each call omits one part.

    Args:
        first: the dialect to try for an unknown model.
        store: read once per model, and written when the server accepts a dialect; None: this process learns its own.
        clock: returns seconds, from any starting point.
    """

    def __init__(
        self,
        server: str,
        first: Dialect,
        store: DialectStore | None = None,
        clock: Callable[[], float] = time.monotonic,
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
            trial = known.trial
            if known.refusals[known.dialect] < _CONFIRMED:
                known.trial = None
            return trial or known.dialect

    def accepted(self, model: str, dialect: Dialect) -> None:
        """Record that the server has accepted a dialect, and store it if it is the known one."""
        with self._lock:
            known = self._known(model)
            known.refusals.pop(dialect, None)
            if dialect == known.dialect:
                known.worked = True
            else:
                known.other = dialect
                self._replace_if_confirmed(model, known)
            stores = self._store is not None and not known.is_stored and dialect == known.dialect
            known.is_stored |= stores
        if stores and self._store is not None:
            self._store.save(self._server, model, dialect)

    def learn(
        self, model: str, refused: Dialect, text: str, parameters: Collection[str] = (), *, unnamed: bool = False
    ) -> str:
        """Record that the server refused a dialect; return what the next call omits, or "" if nothing is left to try.

        Args:
            text: the text of the error.
            parameters: the model's parameters in the request.
            unnamed: whether any part may be at fault if the text names none.
        """
        with self._lock:
            known = self._known(model)
            better = refused.without_named(text, parameters)
            blamed = "parameter" in text.lower() and not known.worked  # a part is at fault, even if the text omits it
            if better is None and not blamed and (not unnamed or known.worked):
                return ""
            known.refusals[refused] += 1
            if better is None and known.refusals[known.dialect] < _CONFIRMED:
                return ""  # it may be this prompt's fault
            if refused == known.dialect and known.other is not None:
                better = known.other
            elif better is None or (blamed and known.refusals[better]):
                others = known.dialect.alternatives(parameters)
                better = next((other for other in others if not known.refusals[other]), better)
            known.trial = None
            if better is None or known.refusals[better] >= _CONFIRMED:
                return ""
            if not self._replace_if_confirmed(model, known):
                known.trial = better
            return known.dialect.difference(better) or refused.difference(better)

    def _replace_if_confirmed(self, model: str, known: _Known) -> bool:
        """Replace a dialect that the server refused repeatedly by one that it accepted."""
        if known.other is None or known.refusals[known.dialect] < _CONFIRMED:
            return False
        left_out = known.dialect.difference(known.other)
        _log.warning("llm.parameter_left_out", server=self._server, model=model, parameter=left_out)
        known.dialect, known.since, known.is_stored = known.other, self._clock(), False
        known.worked, known.other, known.trial = True, None, None
        return True

    def _known(self, model: str) -> _Known:
        known = self._models.get(model)
        if known is None:
            stored = self._store.load(self._server, model) if self._store is not None else None
            known = self._models[model] = _Known(stored or self._first, self._clock(), worked=stored is not None)
        elif known.dialect != self._first and self._clock() - known.since > RELEARN_AFTER:
            known.other = known.dialect
            known.dialect, known.since, known.is_stored, known.worked = self._first, self._clock(), False, False
            known.refusals = Counter({self._first: _CONFIRMED - 1})  # one more refusal confirms it again
        return known
