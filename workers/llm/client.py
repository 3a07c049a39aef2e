"""The client of one endpoint: it sends a prompt and returns a validated answer or a named failure, with the cost.

It works with any endpoint that speaks OpenAI's chat completions. A provider's fault never raises: it becomes a
`Failure` in the `ModelAnswer`. The client never retries; the caller does, since each retry needs its own reservation.
Keys, prompts and texts from models and providers never reach a log, a repr or an error message.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import ssl
import threading
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec
import structlog

from cogitate.memory import typed_json
from cogitate.scheduler.config.endpoints import BATCH, Endpoint, Model
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.event_loop import EventLoopThread
from cogitate.workers.llm.http import Exchange, HttpResponse, NoResponse, PooledRequest
from cogitate.workers.llm.replies.context_lengths import ContextLengths
from cogitate.workers.llm.replies.error_responses import error_text, from_status
from cogitate.workers.llm.replies.extract import clean
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer, charged_in_doubt
from cogitate.workers.llm.replies.reply import (
    Reply,
    charge_of,
    is_possible,
    read_completion,
    read_usage,
    validated,
)
from cogitate.workers.llm.requests.address import address_of, request_to
from cogitate.workers.llm.requests.dialect import REFUSALS, Dialect, Dialects, DialectStore
from cogitate.workers.llm.requests.schema import full_schema
from cogitate.workers.llm.requests.tokens import prompt_tokens

_SHORTEST = 12  # characters; real keys are no shorter
_ESCAPED = re.compile(r"\\{1,8}(?:u([0-9a-fA-F]{4})|/)")  # JSON within JSON multiplies the backslashes


class Redaction:
    """Removes keys from the texts of an endpoint, which may repeat the keys that it receives.

    A key too short to be real, such as "none" for a local server, stays: it may be any word.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        real = sorted((key for key in keys if len(key) >= _SHORTEST), key=len, reverse=True)
        self._keys = re.compile("|".join(map(re.escape, real)), re.IGNORECASE) if real else None

    def of_text(self, text: str) -> str:
        """Replace each key in a text with "[key]".

        Drops the whole text if it hides a key behind escapes or invisible characters.
        """
        if self._keys is None:
            return text
        redacted = self._keys.sub("[key]", text)
        if redacted.isascii() and "\\" not in redacted:
            return redacted
        letters = _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else "/", redacted).replace("\\", "")
        visible: str = clean(letters)
        return "" if self._keys.search(visible) else redacted

    def of_reply(self, reply: Reply) -> Reply:
        """Redact keys in the stored parts of a reply. A streamed reply is already joined, so no key is split."""
        failure = reply.failure
        if failure is not None and failure.detail:
            failure = replace(failure, detail=self.of_text(failure.detail))
        text = self.of_text(reply.text)
        return replace(reply, text=text, failure=failure) if (text, failure) != (reply.text, reply.failure) else reply


CONNECT_TIMEOUT = 10.0  # seconds
UNREACHABLE = 3.0  # seconds without a connection; TCP has then sent three packets (RFC 6298: again after 1 s and 3 s)
_OF_REQUESTS = ("bad_request", "unsupported", "server", "model_missing")  # failures that a refused parameter may cause
_KEPT = frozenset({"service_tier"})  # parameters on which the price of a call depends
_CLOSED = Failure(kind="connection", detail="closed")

_log = structlog.get_logger()


class ModelClient:
    """The client of one endpoint, with one pool of connections. `cogitate.workers.llm.clients` keeps one per endpoint.

    Thread-safe. Calls beyond `connections` wait for a connection within their deadlines.

    Args:
        loop: the loop on which all calls run; endpoints may share it.
        store: the store of dialects; None: this process learns its own.

    Raises:
        ConfigurationError: if the key or the endpoint's URL is missing or invalid.
    """

    def __init__(
        self, endpoint: Endpoint, connections: int, loop: EventLoopThread, store: DialectStore | None = None
    ) -> None:
        self._address = address_of(endpoint)
        self._redaction = Redaction(self._address.keys)
        self._connections = connections
        self._tls = _tls() if self._address.is_encrypted else None
        logging.getLogger("aiohttp").setLevel(logging.WARNING)  # at INFO it writes full URLs
        self._loop = loop
        # OpenAI's newer models accept only max_completion_tokens; others may ignore it and write without a limit.
        first = Dialect(cap="max_completion_tokens" if self._address.is_openai else "max_tokens")
        self._dialects = Dialects(self._address.server, first, store)
        self._contexts = ContextLengths(self._address.server, store.client if store is not None else None)
        self.context_of = self._contexts.of  # takes the server's name for a model
        self._has_answered = False
        self._closed = threading.Event()
        # Used on the event loop only:
        self._request: PooledRequest | None = None
        self._calls: set[asyncio.Task[object]] = set()

    def ask(
        self, prompt: Prompt, *, model: Model, max_output_tokens: int, deadline: float, service_tier: str = ""
    ) -> ModelAnswer:
        """Send one request, since each request needs its own reservation. The calling thread waits for the answer.

        The client learns which parts of a request the endpoint refuses (a schema, a parameter, a system message): the
        failure is `unsupported`, and the next call omits that part. Once a second refusal confirms it, every process
        and run that shares the store omits the part for an hour.

        Args:
            max_output_tokens: the most that the model may write, including its reasoning.
            deadline: the instant of `time.monotonic()` by which this returns.
            service_tier: the tier to ask in; "" for the one in the model's parameters. A refusal of the tier teaches
                nothing about other parts of the request.

        Raises:
            TypeError: if no schema can express the prompt's answer.
        """
        dialect, parameters = self._dialects.next(model.model), _parameters(model, service_tier)
        body = dialect.body(prompt, max_output_tokens, parameters)
        request = msgspec.json.encode({"model": model.model, **body})
        exchange = Exchange(deadline)
        response = self._loop.run(self._exchange(request, exchange))
        reply = self._redaction.of_reply(self._read(response, model, dialect))
        if reply.failure is not None and reply.failure.kind == "context_overflow":
            size = prompt_tokens(prompt)
            self._contexts.overflowed(model.model, reply.failure.context, size, max_output_tokens)
        if reply.failure is not None and not service_tier:
            left_out = self._left_out(model, dialect, reply, reply.failure, parameters)
            if left_out:
                reply = replace(reply, failure=Failure(kind="unsupported", detail=left_out))
        answer = _answer(model, prompt, reply, len(request), exchange.sent, max_output_tokens)
        _log_outcome(model, answer)
        return answer

    def batch_request(self, prompt: Prompt, *, model: Model, max_output_tokens: int) -> bytes:
        """Return the body of the request that `ask` would send, for a line of a batch file."""
        parameters = _parameters(model)
        parameters.pop("service_tier", None)  # a batch has its own
        body = self._dialects.next(model.model).body(prompt, max_output_tokens, parameters)
        return msgspec.json.encode({"model": model.model, **body})

    def read_batched(
        self, completion: bytes, prompt: Prompt, *, model: Model, max_output_tokens: int, size: int
    ) -> ModelAnswer:
        """Read the answer to one request from a batch file.

        Args:
            size: of the request, in bytes.
        """
        reply = replace(read_completion(completion, {}), service_tier=BATCH)
        return _answer(model, prompt, self._redaction.of_reply(reply), size, 1, max_output_tokens)

    def _read(self, response: HttpResponse | Failure, model: Model, dialect: Dialect) -> Reply:
        """Read the outcome of a request in this dialect, and note what it shows about the endpoint."""
        if isinstance(response, Failure):
            return _failed(response)
        if response.answers:
            reply = read_completion(response.content, response.headers)
            self._dialects.accepted(model.model, dialect)
        else:
            reply = _refused(response)
        if reply.failure is None:
            self._has_answered = True
        elif reply.failure.kind == "no_completion" and self._is_away(response):
            return replace(reply, failure=replace(reply.failure, kind="blocked"))
        return reply

    def _is_away(self, response: HttpResponse) -> bool:
        """Return whether a response redirects to another host, or is not JSON from an endpoint that has answered."""
        leads: str | None = None
        with contextlib.suppress(ValueError):
            leads = urllib.parse.urlsplit(response.headers.get("Location", "")).hostname
        if leads is not None:
            return leads != urllib.parse.urlsplit(self._address.base_url).hostname
        return self._has_answered and not response.content.lstrip().startswith((b"{", b"["))

    def _left_out(
        self, model: Model, dialect: Dialect, reply: Reply, failure: Failure, parameters: Mapping[str, object]
    ) -> str:
        """Return the part that the next call omits if the endpoint may have refused it in this request; else ""."""
        if failure.status not in REFUSALS or failure.kind not in _OF_REQUESTS:
            return ""
        sent = [name for name in parameters if name not in dialect.left_out and name not in _KEPT]
        unnamed = failure.kind == "bad_request" and failure.status in (400, 422)
        return self._dialects.learn(model.model, dialect, reply.error_text, sent, unnamed=unnamed)

    def probe(self, deadline: float) -> Failure | None:
        """Request the list of models, which is free; return why the endpoint does not answer, or None."""
        response = self._loop.run(self._exchange(b"", Exchange(deadline), models=True))
        if isinstance(response, Failure):
            return response
        return None if response.answers else self._redaction.of_reply(_refused(response)).failure

    def get_ready(self, prompt: Prompt, *, model: Model) -> None:
        """Open the pool, derive the answer's schema and look up the dialect, each once per process.

        Raises:
            TypeError: if no schema can express the prompt's answer.
        """
        full_schema(prompt.answer)
        self._dialects.load(model.model)
        if self._request is None:
            self._loop.run(self._open())

    def close(self) -> None:
        """Close the pool. Calls in flight fail as `connection`."""
        self._loop.run(self._close())

    # -- on the event loop -----------------------------------------------------------------------------

    async def _exchange(self, body: bytes, exchange: Exchange, *, models: bool = False) -> HttpResponse | Failure:
        """Send one request; return its response if it is complete before the deadline. It may contain the key."""
        if self._closed.is_set():
            return _CLOSED
        if exchange.remaining() <= 0:
            return Failure(kind="no_time", detail="the deadline passed before the call")
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            async with asyncio.timeout_at(exchange.deadline):  # the loop's clock is time.monotonic()
                return await (self._listed(exchange) if models else self._pooled().send(body, exchange))
        except TimeoutError:
            return _late(exchange)
        except NoResponse as error:
            return Failure(kind=error.kind, detail=error.detail)
        except asyncio.CancelledError:
            if not self._closed.is_set():
                raise
            return _CLOSED
        finally:
            self._calls.discard(task)

    async def _open(self) -> None:
        if not self._closed.is_set():
            self._pooled()

    def _pooled(self) -> PooledRequest:
        if self._request is None:
            self._request = PooledRequest(
                request_to(self._address, "/chat/completions"),
                self._connections,
                CONNECT_TIMEOUT,
                self._address.proxy,
                self._tls,
            )
        return self._request

    async def _listed(self, exchange: Exchange) -> HttpResponse:
        request = PooledRequest(
            request_to(self._address, "/models"), 1, CONNECT_TIMEOUT, self._address.proxy, self._tls
        )
        try:
            return await request.send(b"", exchange)
        finally:
            await request.close()

    async def _close(self) -> None:
        self._closed.set()
        for task in self._calls:
            task.cancel()
        await asyncio.gather(*self._calls)
        if self._request is not None:
            await self._request.close()


def _parameters(model: Model, service_tier: str = "") -> dict[str, object]:
    """Return the parameters of a request besides those of its dialect, with this service tier if one is given."""
    parameters: dict[str, object] = {} if model.seed is None else {"seed": model.seed}
    if model.parameters:
        parameters |= typed_json.decode(model.parameters, dict[str, object])
    if service_tier:
        parameters["service_tier"] = service_tier
    return parameters


def _answer(model: Model, prompt: Prompt, reply: Reply, size: int, sent: int, max_output_tokens: int) -> ModelAnswer:
    """Validate a reply, and return the answer with its cost.

    Args:
        size: of the request, in bytes.
        sent: how often it was sent.
    """
    if reply.usage is not None and not is_possible(reply.usage, size):
        reply = replace(reply, usage=None)
    charge = charge_of(model, prompt, reply, sent, max_output_tokens)
    value, failure = validated(reply, prompt.answer)
    return ModelAnswer(
        usage=charge.cost,
        estimated=charge.estimated,
        value=value,
        failure=failure,
        prompt_tokens=reply.usage.prompt if reply.usage is not None else 0,
        reasoning=reply.usage.reasoning if reply.usage is not None else 0,
        text=reply.text,
        service_tier=reply.service_tier,
        discount=charge.discount,
    )


def _log_outcome(model: Model, answer: ModelAnswer) -> None:
    failure = answer.failure
    if failure is None:
        if answer.estimated:
            _log.info("llm.no_usage", model=model.name)
        return
    log = _log.error if failure.kind in ("auth", "quota_exhausted", "model_missing") else _log.info
    log(
        "llm.failed",
        model=model.name,
        kind=failure.kind,
        status=failure.status,
        retry_after=failure.retry_after,
        detail=failure.detail,
    )


def _tls() -> ssl.SSLContext:
    """Return a TLS context like OpenAI's SDK's: it trusts the system, or SSL_CERT_FILE and SSL_CERT_DIR."""
    import httpx2  # here: only endpoints behind TLS need it

    return httpx2.create_ssl_context()


def _late(exchange: Exchange) -> Failure:
    """Return the failure of a call that its deadline ended."""
    if exchange.sent:
        return Failure(kind="timeout", detail="the answer was incomplete at the deadline")
    if exchange.connecting_for() >= UNREACHABLE:
        return Failure(kind="connection", detail="no connection by the deadline")
    return Failure(kind="no_time", detail="the deadline passed before the request was sent")


def _refused(response: HttpResponse) -> Reply:
    """Convert an error response to a reply."""
    body: object = response.content.decode(errors="replace")
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(response.content)
    return _failed(from_status(response.status, body, response.headers), body)


def _failed(failure: Failure, body: object = None) -> Reply:
    return Reply(
        failure=failure,
        error_text=error_text(body),
        usage=read_usage(body) if isinstance(body, Mapping) else None,
        unreported="all" if charged_in_doubt(failure) else "nothing",
    )
