"""The ticks of a run as server-sent events: each once, in order, from any tick that the journal has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool

from cogitate.hosting.protocol.hosted_run import HostedRun
from cogitate.hosting.protocol.refusals import malformed
from cogitate.memory.errors import quoted
from cogitate.scheduler.tick.arguments import MAX_TICKS

PAGE = 50  # ticks per read
BEAT = 15.0  # seconds without a tick before a comment is sent, so that proxies keep the connection


def tick_of_event(name: str) -> int:
    """Parse the tick in a header Last-Event-ID.

    Raises:
        Refusal: if it is not a tick.
    """
    if not (name.isascii() and name.isdecimal() and len(name) <= len(str(MAX_TICKS)) and int(name) <= MAX_TICKS):
        raise malformed(f"the header Last-Event-ID is {quoted(name)}: give the number of the last tick that you have")
    return int(name)


class TickEvents:
    """The events of one listener. It has no queue: it reads the journal from its position.

    Args:
        after: the last tick that the listener has; None: only future ticks.
        closing: set when the gateway ends.
    """

    def __init__(self, run: HostedRun, after: int | None, closing: asyncio.Event) -> None:
        self._run = run
        self._after = int(run.loop.tick) if after is None else max(0, after)
        self._closing = closing
        self._news = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()

        def committed() -> None:
            loop.call_soon_threadsafe(self._news.set)

        self._run.watchers.append(committed)
        try:
            yield b": ticks of a run\n\n"
            while not (self._closing.is_set() or self._run.closed):
                self._news.clear()
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
        waits = [asyncio.ensure_future(self._news.wait()), asyncio.ensure_future(self._closing.wait())]
        try:
            done, _ = await asyncio.wait(waits, timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return bool(done)

    def _read(self) -> list[bytes]:
        last = min(int(self._run.loop.tick), self._after + PAGE)
        found = []
        for line in self._run.lines(self._after + 1, last):
            answer = self._run.told(line).model_dump_json()
            found.append(f"id: {line.core.tick}\nevent: tick\ndata: {answer}\n\n".encode())
            self._after = line.core.tick
        return found
