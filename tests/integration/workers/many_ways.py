"""An endpoint with many behaviours, one per path."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from cogitate.ops.fake_llm.completions import FakeResponse
from cogitate.ops.fake_llm.http import deliver, read_request
from tests.integration.workers.behaviour import Behaviour


class ManyWays:
    """An endpoint in a thread of this process; `url(name)` is the address of a behaviour."""

    def __init__(self, behaviours: Mapping[str, Behaviour]) -> None:
        self._behaviours = list(behaviours.values())
        self._names = list(behaviours)
        self._requests: Counter[int] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, name: str) -> str:
        """Return the base URL of a behaviour."""
        return f"http://127.0.0.1:{self._port}/{self._names.index(name)}/v1"

    def requests(self, name: str) -> int:
        """Return the number of requests that a behaviour has received."""
        return self._requests[self._names.index(name)]

    def __enter__(self) -> ManyWays:
        self._thread.start()
        self._port = self._on_loop(self._listen)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._on_loop(self._close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _on_loop(self, work: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(30)

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            request = await read_request(reader)
            if request is not None:
                number = int(request.path.split("/")[1])
                replies = self._behaviours[number].replies
                reply = replies[min(self._requests[number], len(replies) - 1)]
                self._requests[number] += 1
                if isinstance(reply, FakeResponse):
                    await deliver(reply, reader, writer)
                else:
                    await self._write(reply, self._behaviours[number], reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _write(
        self, reply: bytes, one: Behaviour, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(reply)
        while one.endless:
            await writer.drain()
            writer.write(reply)
        if one.left_open:
            await reader.read(1)
        writer.close()  # at once, so that the client does not reuse a connection that is about to close
        await writer.wait_closed()
