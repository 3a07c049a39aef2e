"""Ask a model, and say exactly what came of it: a validated answer or a named failure, and in either case its cost.

Any endpoint that speaks OpenAI's chat completions will do. A provider's fault never raises: it is a `Failure` in the
`Answer`. Retries are the caller's, since each needs a reservation of its own; the client's are switched off.

Keys, prompts and what models and providers write never reach a log, a repr or an error text.
"""

from __future__ import annotations

import json
import logging
import os
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx2
import openai
import structlog
from pydantic import BaseModel, ValidationError

from scheduler.endpoints import Endpoint, Model
from scheduler.prices import call_cost
from scheduler.settings import ConfigurationError
from tasks.job import Cost
from tasks.kind import Prompt
from workers import llm_failures as failures
from workers.llm_dialect import Dialect, Dialects
from workers.llm_extract import json_objects
from workers.llm_failures import Failure
from workers.llm_http import Call, DeadlineTransport, Unreadable, calling
from workers.llm_schema import plain_schema
from workers.llm_usage import Usage, read_usage
from workers.tokens import estimate_tokens, prompt_tokens

CONNECT_TIMEOUT = 10.0  # seconds

_log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of one `ask`: a value or a failure, never both, and what it cost."""

    usage: Cost  # calls: requests really sent; tokens: prompt and output, reasoning included
    estimated: bool = False  # some of the usage was not reported and is an estimate on the safe side
    value: BaseModel | None = None
    failure: Failure | None = None

    @property
    def retryable(self) -> bool:
        """Whether another attempt may help."""
        return self.failure is not None and self.failure.retryable


@dataclass(frozen=True, kw_only=True)
class _Reply:
    """One HTTP exchange: the answer's text or the failure, and usage if it was told."""

    text: str = ""
    failure: Failure | None = None
    error_text: str = ""  # what an error response said: to learn from, never kept
    usage: Usage | None = None
    unreported: Literal["nothing", "text", "all"] = "nothing"  # what to charge when usage is None
    thought: str = ""  # reasoning that was shown


class ModelClient:
    """One endpoint, through one pool of connections. Build it once per process, after any fork, and share it.

    Safe to use from many threads; more than `concurrency` at once wait for a connection, within their deadlines.

    Raises:
        ConfigurationError: when the key or the endpoint's URL is missing or cannot be used.
    """

    def __init__(self, endpoint: Endpoint, concurrency: int) -> None:
        own_endpoint = endpoint.base_url is None and not os.environ.get("OPENAI_BASE_URL")
        base_url = endpoint.base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._http = httpx2.Client(
            transport=DeadlineTransport(concurrency, _proxy(base_url)), headers={"Accept-Encoding": "identity"}
        )
        self._openai = openai.OpenAI(
            api_key=_key(endpoint, own_endpoint), base_url=base_url, max_retries=0, http_client=self._http
        )
        # OpenAI's newer models know only max_completion_tokens; others may ignore it and write without end.
        self._dialects = Dialects(Dialect(cap="max_completion_tokens" if own_endpoint else "max_tokens"))
        for name in ("openai", "httpx2", "httpcore2"):  # at DEBUG these write whole prompts, at INFO whole URLs
            logging.getLogger(name).setLevel(logging.WARNING)

    def ask(self, prompt: Prompt, *, model: Model, max_output_tokens: int, deadline: float) -> Answer:
        """Ask once: one request, since each needs a reservation of its own.

        What the endpoint refuses (a schema, a parameter) is learned: the failure is `unsupported`, and the next ask of
        this process leaves it out.

        Args:
            max_output_tokens: the most the model may write, its reasoning included.
            deadline: the instant of `time.monotonic()` by which this returns; only the system's resolving of a host
                name may take longer.

        Raises:
            TypeError: when the prompt's answer model cannot be said as a plain schema.
        """
        schema = plain_schema(prompt.answer)
        dialect = self._dialects.of(model.model)
        body = dialect.parameters(prompt.system, prompt.user, prompt.answer.__name__, schema, max_output_tokens)
        call = Call(deadline)
        reply = self._exchange({"model": model.model, **body}, call)
        spent, estimated = _cost(model, prompt, reply, call.sent, max_output_tokens)
        better = self._better(dialect, reply)
        if better is not None and self._dialects.learn(model.model, dialect, better):
            reply = replace(reply, failure=Failure(kind="unsupported", detail=f"{dialect.form}, {dialect.cap}"))
        value, failure = _validated(reply, prompt.answer)
        if failure is not None:
            failure = replace(failure, detail=self._without_key(failure.detail))
            log = _log.error if failure.kind in ("auth", "quota_exhausted", "model_missing") else _log.info
            log(
                "llm.failed",
                model=model.name,
                kind=failure.kind,
                status=failure.status,
                retry_after=failure.retry_after,
                detail=failure.detail,
            )
        elif estimated:
            _log.info("llm.no_usage", model=model.name)
        return Answer(usage=spent, estimated=estimated, value=value, failure=failure)

    def close(self) -> None:
        """Close the pool. Calls in flight fail as `connection`."""
        self._http.close()

    def _exchange(self, body: dict[str, Any], call: Call) -> _Reply:
        """One request and its response, read as far as it can be."""
        left = call.remaining()
        if left <= 0:
            return _Reply(failure=Failure(kind="timeout", detail="the deadline was over before the call"))
        timeout = httpx2.Timeout(left, connect=min(left, CONNECT_TIMEOUT))
        try:
            with calling(call):
                raw = self._openai.chat.completions.with_raw_response.create(**body, timeout=timeout)
        except (openai.APIError, Unreadable) as error:
            failure = failures.from_error(error, call)
            told = error.body if isinstance(error, openai.APIStatusError) else None
            return _Reply(
                failure=failure,
                error_text=failures.error_text(told),
                usage=read_usage(told) if isinstance(told, Mapping) else None,
                unreported="all" if failures.charged_in_doubt(failure) else "nothing",
            )
        return _read_completion(raw.http_response.content, raw.http_response.headers)

    def _better(self, dialect: Dialect, reply: _Reply) -> Dialect | None:
        """What to ask instead when the endpoint refused the way of asking, and not the question."""
        failure = reply.failure
        if failure is None or failure.status is None or failure.kind in ("context_overflow", "filtered", "auth"):
            return None
        return dialect.without_refused(failure.status, reply.error_text)

    def _without_key(self, text: str) -> str:
        return text.replace(self._openai.api_key, "[key]")


def _cost(model: Model, prompt: Prompt, reply: _Reply, sent: int, max_output_tokens: int) -> tuple[Cost, bool]:
    """What the exchange cost, and whether that is an estimate.

    Without reported usage an answer costs the estimate of its prompt and text; an exchange that ended who knows
    where costs its upper bound; an error response costs a call.
    """
    if sent == 0:
        return Cost(), False
    if reply.usage is not None:
        return call_cost(model, reply.usage.prompt, reply.usage.output, reply.usage.cached, calls=sent), False
    if reply.unreported == "nothing":
        return Cost(calls=sent), False
    output = max_output_tokens
    if reply.unreported == "text":  # the server was told to stop at the cap, and the estimate is a high one
        output = min(output, estimate_tokens(reply.thought) + estimate_tokens(reply.text))
    return call_cost(model, prompt_tokens(prompt), output, calls=sent), True


def _read_completion(content: bytes, headers: Mapping[str, str]) -> _Reply:
    """The first choice of a chat completion, whatever shape it has."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        return _Reply(failure=Failure(kind="not_json", detail="the response is not a JSON object"), unreported="all")
    usage = read_usage(body)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        failure = _error_with_status_200(body, headers) or Failure(kind="empty", detail="no choices")
        return _Reply(failure=failure, usage=usage, unreported="text" if failure.status is None else "nothing")
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text, thought = _text(message.get("content")), _text(message.get("reasoning_content"))
    ended = _ended(choice.get("finish_reason"), bool(message.get("refusal")), text)
    return _Reply(
        text=text,
        failure=ended,
        usage=usage,
        unreported="all" if ended is not None and ended.kind == "truncated" else "text",
        thought=thought,
    )


def _error_with_status_200(body: dict[str, Any], headers: Mapping[str, str]) -> Failure | None:
    """The error that some gateways report in place of choices."""
    error = body.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    return failures.from_status(code if isinstance(code, int) and 400 <= code < 600 else 500, body, headers)


def _ended(finish_reason: object, refusal: bool, text: str) -> Failure | None:
    """Why the answer cannot be read, if so. A truncated answer is not searched: half an object may hold whole ones."""
    if finish_reason == "content_filter":
        return Failure(kind="filtered", detail="finish_reason content_filter")
    if refusal:
        return Failure(kind="refused")
    if finish_reason == "length":
        return Failure(kind="truncated", detail="finish_reason length")
    return None if text.strip() else Failure(kind="empty", detail="no text")


def _text(content: object) -> str:
    """A message's content: a string, or a list of parts that have one."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _validated(reply: _Reply, model: type[BaseModel]) -> tuple[BaseModel | None, Failure | None]:
    """The first JSON object in the answer that is what was asked for."""
    if reply.failure is not None:
        return None, reply.failure
    wrong: ValidationError | None = None
    for candidate in json_objects(reply.text):
        try:
            return model.model_validate(candidate), None
        except ValidationError as error:
            wrong = wrong or error
    if wrong is None:
        return None, Failure(kind="not_json", detail="no JSON object in the answer")
    errors = wrong.errors(include_url=False, include_context=False, include_input=False)
    return None, Failure(kind="wrong_schema", detail=failures.describe_places(list(errors)))


def _key(endpoint: Endpoint, own_endpoint: bool) -> str:
    """The key to send: the configured one, else that of the environment; another endpoint may need none."""
    configured = endpoint.api_key.get_secret_value() if endpoint.api_key is not None else None
    key = (configured or os.environ.get(endpoint.api_key_variable) or "").strip()
    if not key and own_endpoint:
        raise ConfigurationError(
            f"no API key: set COGITATE_API_KEY or {endpoint.api_key_variable}, or base_url for a local server"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigurationError(
            "the API key holds characters that no key has; check COGITATE_API_KEY, api_key of the endpoint, or "
            f"{endpoint.api_key_variable}"
        )
    return key or "none"


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for this endpoint (HTTPS_PROXY and the like), if any."""
    url = urllib.parse.urlsplit(base_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        shown = base_url.rpartition("@")[2]
        raise ConfigurationError(f"base_url {shown!r} is not a URL that begins with http:// or https://")
    if url.hostname in ("localhost", "127.0.0.1", "::1") or urllib.request.proxy_bypass(url.hostname):
        return None
    return urllib.request.getproxies().get(url.scheme)
