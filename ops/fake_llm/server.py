"""A stand-in for a model's endpoint: OpenAI-compatible, deterministic, and able to fail in every way.

It serves `POST /v1/chat/completions`, `/v1/embeddings`, `/v1/files`, `/v1/batches`, `GET /v1/models` and `GET /stats`.
An answer depends on the messages and the seed; its latency and fault also depend on the number of earlier equal
requests, but never on the order in which different requests arrive.

    with FakeEndpoint(latency=0.2, faults={"429": 0.1}) as endpoint:
        settings = Settings(llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=100_000)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import exp
from statistics import NormalDist
from types import TracebackType
from typing import Any, NamedTuple

from cogitate.ops.fake_llm.batches import FakeBatches
from cogitate.ops.fake_llm.completions import (
    FakeResponse,
    complete,
    content_digest,
    digest_of,
    embed,
    error,
    json_response,
)
from cogitate.ops.fake_llm.faults import check_faults, draw, pick
from cogitate.ops.fake_llm.http import HttpRequest, arrival, deliver, head_of, listening_socket, read_request
from cogitate.ops.fake_llm.stats import Stats, Tally


class RequestLimit:
    """A sliding window with a burst, by the generic cell rate algorithm (ITU-T I.371, annex A).

    With a burst of 0 and 60 requests per minute, no two may arrive within a second, as with providers that enforce the
    limit over shorter intervals; with a burst of 1, one request at a time may arrive early. A refused request does not
    count.
    """

    def __init__(self, requests_per_minute: int | None, burst: int) -> None:
        self._interval = 60.0 / requests_per_minute if requests_per_minute is not None else 0.0
        self._tolerance = burst * self._interval
        self._next = -math.inf  # time at which the next request conforms
        self._latest = -math.inf  # latest arrival; simultaneous requests may be read in any order

    def early(self, arrived: float) -> float:
        """Return the seconds by which a request arrived too early; 0 if it is accepted."""
        arrived = self._latest = max(arrived, self._latest)
        early = max(0.0, self._next - self._tolerance - arrived)
        if not early:
            self._next = max(self._next, arrived) + self._interval
        return early


def too_many(early: float) -> FakeResponse:
    """Return a 429 with Retry-After in seconds, rounded up, and OpenAI's header in milliseconds."""
    wait = (("Retry-After", str(math.ceil(early))), ("retry-after-ms", str(math.ceil(early * 1000))))
    return error(429, "rate_limit_exceeded", "More requests per minute than the stand-in was told to allow.", wait)


MODEL = "stand-in"
_USUAL = "gpt-4o-mini"  # the default model of a run; the stand-in accepts any name
MOST_TAIL = 3.0
_BACKLOG = 1024
_NORMAL = NormalDist()
#: Answers a request in place of the stand-in, given the number of calls in flight; None: the stand-in answers.
Rule = Callable[[Mapping[str, Any], int], FakeResponse | None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The behaviour of the stand-in."""

    latency: float = 0.0  # seconds before an answer
    batch_latency: float = 0.0  # seconds that a batch file takes
    flex_latency: float = 0.0  # further seconds before an answer in the flex tier
    jitter: float = 0.0  # the most further seconds
    #: Sigma of a log-normal factor on both: with 0.5, one in 20 takes 2.3 times as long, one in 100 3.2 times.
    tail: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict)  # see ops/fake_llm/faults.py
    seed: int = 0
    refuses: frozenset[str] = frozenset()  # "json_schema", "json_object", "max_tokens", "max_completion_tokens"
    requests_per_minute: int | None = None  # None: no limit
    burst: int = 1  # requests that may arrive early
    rule: Rule | None = None

    def __post_init__(self) -> None:
        check_faults(self.faults)
        if self.requests_per_minute is not None and self.requests_per_minute < 1:
            raise ValueError(f"requests per minute {self.requests_per_minute} must be 1 or more, or None")
        if self.burst < 0:
            raise ValueError(f"burst {self.burst} must not be negative")
        if min(self.latency, self.flex_latency, self.jitter) < 0:
            raise ValueError(
                f"latencies {self.latency}, {self.flex_latency} and jitter {self.jitter} must not be negative"
            )
        if not 0 <= self.tail <= MOST_TAIL:
            raise ValueError(f"tail {self.tail} must be between 0 and {MOST_TAIL}")


class _Decision(NamedTuple):
    """The response to a request, and the wait before it."""

    wait: float  # seconds
    model: str  # the requested model; "" if it cannot be read
    digest: str  # of the request's content
    response: FakeResponse


class _Server:
    """The endpoint on an event loop. Any thread may read its tally."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.tally = Tally()
        self.open = asyncio.Event()  # cleared: answers wait
        self.open.set()
        self._batches = FakeBatches(self.tally)
        self._attempts: Counter[str] = Counter()
        self._decisions = {"/v1/chat/completions": self._decide, "/v1/embeddings": self._decide_vectors}
        self._limit = RequestLimit(options.requests_per_minute, options.burst)
        self._connections: set[asyncio.Task[None]] = set()

    def behave(self, options: Options) -> None:
        before, self.options = self.options, options
        if (before.requests_per_minute, before.burst) != (options.requests_per_minute, options.burst):
            self._limit = RequestLimit(options.requests_per_minute, options.burst)

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._serve, sock=listening_socket(host, port, _BACKLOG))

    async def close(self) -> None:
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while (request := await read_request(reader)) is not None:
                if not await self._respond(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _respond(self, request: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request, and return whether the connection stays open."""
        path = request.path.partition("?")[0].rstrip("/")
        if request.method == "POST" and (decide := self._decisions.get(path)) is not None:
            return await self._call(decide, request, reader, writer)
        if (request.method, path) == ("GET", "/stats"):
            response = json_response(vars(self.tally.stats()))
        elif (request.method, path) == ("GET", "/v1/models"):
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "cogitate"} for name in (MODEL, _USUAL)]
            response = json_response({"object": "list", "data": models})
        elif (of_batches := self._of_batches(request)) is not None:
            response = of_batches
        else:
            response = error(404, "not_found", f"{request.method} {path} is not served here")
        writer.write(head_of(response) + response.body)
        await writer.drain()
        return True

    def _of_batches(self, request: HttpRequest) -> FakeResponse | None:
        options, held = self.options, not self.open.is_set()
        return self._batches.respond(
            request, seed=options.seed, faults=options.faults, latency=options.batch_latency, held=held
        )

    async def _call(
        self,
        decide: Callable[[bytes], _Decision],
        request: HttpRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        self.tally.came()
        early = self._limit.early(arrival(writer))
        try:
            wait, model, digest, response = (
                _Decision(0.0, "", "", too_many(early)) if early > 0 else decide(request.body)
            )
            await asyncio.sleep(wait)
            await self.open.wait()
            if reader.at_eof() or response.delivery != "complete":
                sent = not reader.at_eof() and await deliver(response, reader, writer)
                self.tally.sent(model, digest, response if sent else None)
                return sent
            self.tally.sent(model, digest, response)  # first, so that a client that has the answer finds it counted
            return await deliver(response, reader, writer)
        finally:
            self.tally.went()

    def _decide_vectors(self, body: bytes) -> _Decision:
        options = self.options
        try:
            request = json.loads(body)
            digest, model = digest_of(request), str(request.get("model"))
            _, fault = self._attempt(digest)
            response = embed(request, fault)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            refusal = error(400, "invalid_request", "this is not a valid request for embeddings")
            return _Decision(0.0, "", "", refusal)
        self.tally.understood(model, fault)
        return _Decision(options.latency, model, digest, response)

    def _decide(self, body: bytes) -> _Decision:
        options = self.options
        try:
            request, digest, form, answer = _understood(body, options.seed)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            refusal = error(400, "invalid_request", "this is not a valid request for a chat completion")
            return _Decision(0.0, "", "", refusal)
        model = str(request.get("model"))
        refused = _refused(request, form, options.refuses)
        if refused is not None:
            self.tally.understood(model, None)
            return _Decision(0.0, model, digest, error(400, "unsupported", refused))
        if options.rule is not None and (ruled := options.rule(request, self.tally.stats().in_flight)) is not None:
            self.tally.understood(model, None)
            return _Decision(options.latency if ruled.status == 200 else 0.0, model, digest, ruled)
        attempt, fault = self._attempt(digest)
        self.tally.understood(model, fault)
        wait = options.latency + options.jitter * draw(options.seed, digest, attempt, "jitter")
        if options.tail:
            wait *= exp(options.tail * _NORMAL.inv_cdf(_inside(draw(options.seed, digest, attempt, "tail"))))
        response = answer if fault is None else complete(request, options.seed, fault)
        wait += options.flex_latency * (response.service_tier == "flex")
        return _Decision(wait, model, digest, response)

    def _attempt(self, digest: str) -> tuple[int, str | None]:
        """Return the number of earlier equal requests, and the fault of this one."""
        attempt, self._attempts[digest] = self._attempts[digest], self._attempts[digest] + 1
        return attempt, pick(self.options.faults, draw(self.options.seed, digest, attempt, "fault"))


def _inside(share: float) -> float:
    """Return a share strictly between 0 and 1, since 0 and 1 have no quantile."""
    return min(max(share, 1e-6), 1 - 1e-6)


def _refused(request: Mapping[str, Any], form: str | None, refuses: frozenset[str]) -> str | None:
    """Return the error for an unsupported feature in a request, or None."""
    for feature in sorted(refuses):
        if feature == form:
            return f"response_format {feature} is not supported"
        if feature in request:
            other = {"max_tokens", "max_completion_tokens"} - {feature}
            return f"{feature} is not supported: use {', '.join(other)}"
    return None


@lru_cache(maxsize=1024)  # under load, equal requests recur in rounds and further attempts
def _understood(body: bytes, seed: int) -> tuple[Mapping[str, Any], str, str | None, FakeResponse]:
    """Return a parsed request, its content's digest, its response format, and the answer."""
    request = json.loads(body)
    form = (request.get("response_format") or {}).get("type")
    return request, content_digest(request), form, complete(request, seed, None)


class FakeEndpoint:
    """The stand-in in a thread of this process, on a free loopback port, for the duration of the block.

    Args:
        behaviour: fields of `Options`.
    """

    def __init__(self, **behaviour: Any) -> None:
        self._server = _Server(Options(**behaviour))
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="fake-llm", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self.url = ""  # for `base_url`: ends in /v1

    def __enter__(self) -> FakeEndpoint:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def stats(self) -> Stats:
        return self._server.tally.stats()

    def wait_for_request(self, number: int, timeout: float = 120.0) -> None:
        """Wait until a number of requests for completions have arrived.

        Raises:
            TimeoutError: when they do not arrive within `timeout` seconds.
        """
        self.wait_until(lambda stats: stats.requests >= number, timeout)

    def wait_until(self, condition: Callable[[Stats], bool], timeout: float = 120.0) -> None:
        """Wait until the counts satisfy a condition.

        Args:
            condition: called after each change of the counts.
            timeout: seconds; long, since a worker on a busy machine is slow to start.

        Raises:
            TimeoutError: when the counts do not satisfy it in time.
        """
        changed = self._server.tally.changed
        with changed:
            if not changed.wait_for(lambda: condition(self.stats()), timeout):
                raise TimeoutError(f"not within {timeout:g} s; served so far: {self.stats()}")

    def change(self, **changed: Any) -> None:
        """Change fields of `Options` from now on, including latencies and faults of open batches.

        Raises:
            ValueError: when an option is invalid.
        """
        self.behave(replace(self._server.options, **changed))

    def behave(self, options: Options) -> None:
        """Set the options from now on. A changed rate limit starts afresh."""
        self._loop.call_soon_threadsafe(self._server.behave, options)

    def hold(self) -> None:
        """Accept requests, and hold their answers until `release`."""
        self._loop.call_soon_threadsafe(self._server.open.clear)

    def release(self) -> None:
        """Send the held answers."""
        self._loop.call_soon_threadsafe(self._server.open.set)

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        listening = await self._server.listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        listening.close()
        await self._server.close()


def serve(options: Options, *, host: str = "127.0.0.1", port: int = 8000, ready: Callable[[str], None] = print) -> None:
    """Serve until interrupted; `ready` gets the base URL once the port is open.

    Raises:
        OSError: when the address cannot be listened on.
    """

    async def run() -> None:
        server = _Server(options)
        listening = await server.listen(host, port)
        bound = listening.sockets[0].getsockname()
        ready(f"http://{bound[0]}:{bound[1]}/v1")
        try:
            await listening.serve_forever()
        finally:
            listening.close()
            await server.close()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())
