"""The gateway's HTTP routes: one POST per tick, and the other requests of a host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from cogitate.hosting.protocol.answers import (
    Closed,
    Memories,
    Opened,
    Problem,
    Refusal,
    Status,
    Steered,
    Ticked,
    malformed,
    refusal_of,
)
from cogitate.hosting.protocol.host_table import HostTable
from cogitate.hosting.protocol.hosted_run import HostedRun
from cogitate.hosting.protocol.messages import OpenRun, Steer, Turn
from cogitate.hosting.protocol.questions import Question
from cogitate.hosting.tick_handover import retrieve_error
from cogitate.memory.errors import CogitateError, quoted
from cogitate.ops.gateway.edge import Failures, Guard, StrictRoute, Tokens, problem_response
from cogitate.scheduler.tick.arguments import MAX_TICKS

PATIENCE = 50.0  # seconds after which a waiting host is asked to repeat its request
T = TypeVar("T")

Run = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9._-]+$", examples=["village"])]
Number = Annotated[int, Path(ge=1, le=MAX_TICKS)]


def _host(request: Request) -> str:
    return str(request.scope["host"])


Host = Annotated[str, Depends(_host)]
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The request is not valid for the gateway.",
        401: "No host's token.",
        403: "The run belongs to another host.",
        404: "The run does not exist.",
        409: "Not now: the run is elsewhere, or expects another tick.",
        410: "The journal no longer has the tick.",
        413: "The body is too long.",
        415: "The body is not marked as JSON, or is compressed.",
        422: "The message is invalid.",
        429: "Too many requests wait.",
        503: "Not yet: send the same request again.",
    }.items()
}


def make_app(table: HostTable, tokens: Tokens, *, patience: float = PATIENCE) -> FastAPI:
    """Return the gateway for these runs and hosts."""
    app = FastAPI(
        title="Cogitate gateway",
        version=version("cogitate"),
        description="Background cognition for simulations in any language. "
        "Open a run, post one turn for each tick, and apply what comes back.",
        docs_url=None,  # FastAPI's pages load scripts from other sites
        redoc_url=None,
        responses=REFUSALS,
        separate_input_output_schemas=False,
    )
    app.router.route_class = StrictRoute
    app.add_middleware(Guard, tokens=tokens)  # type: ignore[arg-type, unused-ignore]
    app.add_middleware(Failures)  # around the guard
    app.state.closing = asyncio.Event()
    _add_errors(app)

    @app.get("/health", tags=["gateway"])
    async def health() -> dict[str, str]:
        """Report that the gateway is up."""
        return {"status": "ok"}

    @app.post("/runs/{run}/open", tags=["run"])
    async def open_run(run: Run, message: OpenRun, host: Host) -> Opened:
        """Open a run: create it, resume it, or replace it."""
        return await run_in_threadpool(table.open, host, run, message)

    @app.get("/runs/{run}", tags=["run"])
    async def stand(run: Run, host: Host) -> Opened:
        """Return the position of an open run."""
        return await run_in_threadpool(lambda: table.get(host, run).stand())

    @app.post("/runs/{run}/close", tags=["run"])
    async def close_run(run: Run, host: Host) -> Closed:
        """Leave a run, which can be opened again."""
        return await run_in_threadpool(table.close_run, host, run)

    @app.post("/runs/{run}/ticks/{tick}", tags=["tick"])
    async def post_tick(run: Run, tick: Number, turn: Turn, host: Host) -> Ticked:
        """Take the world's turn in a tick, and return the applied changes; a repeated request gets the same answer."""
        answer = asyncio.wrap_future(await run_in_threadpool(table.post, host, run, tick, turn))
        answer.add_done_callback(retrieve_error)
        done, _ = await asyncio.wait({answer}, timeout=patience)
        if not done:
            raise Refusal(
                503,
                "not_yet",
                f"tick {tick} of run {run!r} has been taken and is not committed yet",
                "send the same message again",
                tick,
            )
        return answer.result()

    @app.post("/runs/{run}/memory", tags=["memory"])
    async def ask_memory(run: Run, question: Question, host: Host) -> Memories:
        """Query one owner's memory as of the last boundary."""
        return await run_in_threadpool(lambda: table.get(host, run).answer(question))

    @app.post("/runs/{run}/steer", tags=["run"])
    async def steer(run: Run, message: Steer, host: Host) -> Steered:
        """Pause, resume, drain or cancel a run, set a limit or throttle a kind, from its next tick on."""
        return await run_in_threadpool(table.steer, host, run, message)

    @app.get("/runs/{run}/status", tags=["run"])
    async def status(run: Run, host: Host) -> Status:
        """Return a run's figures."""
        return await run_in_threadpool(table.status, host, run)

    @app.get("/runs/{run}/events", tags=["tick"], response_class=StreamingResponse)
    async def events(request: Request, run: Run, host: Host, after: int | None = None) -> StreamingResponse:
        """Stream each tick's answer as a server-sent event, whose id is the tick's number."""
        last = request.headers.get("last-event-id", "")
        begin = tick_of_event(last) if last else after
        stream = TickEvents(await run_in_threadpool(table.get, host, run), begin, app.state.closing)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    return app


def _add_errors(app: FastAPI) -> None:
    """Answer every error in the common format."""

    @app.exception_handler(CogitateError)
    async def refused(_: Request, error: CogitateError) -> JSONResponse:
        return problem_response(refusal_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        what = str(first["msg"]).removeprefix("Value error, ")
        return problem_response(malformed(f"{where or 'the body'} {quoted(first.get('input'))}: {what}"))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> JSONResponse:
        where = f"{request.method} {quoted(request.url.path)}"
        refusal = Refusal(
            error.status_code, "no_such_request", f"{where}: {error.detail}", "see /openapi.json for all requests"
        )
        response = problem_response(refusal)
        response.headers.update(error.headers or {})
        return response


PAGE = 50  # ticks per read
BEAT = 15.0  # seconds without a tick after which a comment is sent, so that proxies keep the connection


def tick_of_event(name: str) -> int:
    """Parse the tick in a header Last-Event-ID.

    Raises:
        Refusal: if it is not a tick.
    """
    if not (name.isascii() and name.isdecimal() and len(name) <= len(str(MAX_TICKS)) and int(name) <= MAX_TICKS):
        raise malformed(f"the header Last-Event-ID is {quoted(name)}: give the number of the last tick that you have")
    return int(name)


class TickEvents:
    """The ticks of a run as server-sent events for one listener, each once and in order.

    There is no queue: it reads the journal from the listener's position.

    Args:
        after: the last tick that the listener has; None: only future ticks.
        closing: set when the gateway ends.
    """

    def __init__(self, run: HostedRun, after: int | None, closing: asyncio.Event) -> None:
        self._run = run
        self._after = int(run.loop.tick) if after is None else max(0, after)
        self._closing = closing
        self._new_tick = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()

        def committed() -> None:
            loop.call_soon_threadsafe(self._new_tick.set)

        self._run.watchers.append(committed)
        try:
            yield b": ticks of a run\n\n"
            while not (self._closing.is_set() or self._run.closed):
                self._new_tick.clear()
                for event in await run_in_threadpool(self._read):
                    yield event
                if self._run.loop.done and self._after >= self._run.loop.tick:
                    return
                if self._after < self._run.loop.tick:
                    continue
                if not await self._woken():
                    yield b": no tick yet\n\n"
        finally:
            self._run.watchers.remove(committed)

    async def _woken(self) -> bool:
        waits = [asyncio.ensure_future(self._new_tick.wait()), asyncio.ensure_future(self._closing.wait())]
        try:
            done, _ = await asyncio.wait(waits, timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return bool(done)

    def _read(self) -> list[bytes]:
        last = min(int(self._run.loop.tick), self._after + PAGE)
        events = []
        for line in self._run.lines(self._after + 1, last):
            answer = self._run.answer_of(line).model_dump_json()
            events.append(f"id: {line.core.tick}\nevent: tick\ndata: {answer}\n\n".encode())
            self._after = line.core.tick
        return events
