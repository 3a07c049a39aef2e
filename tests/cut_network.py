"""The network of one machine, on its own loopback address, which a test can cut and restore.

While it is cut, nothing arrives and nothing is refused: connections stay open and silent, as if a cable were pulled.
Data in transit arrives after the network is restored, as TCP would retransmit it.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Self

from tests.patience import LONGEST


class Network:
    """A machine's connections to servers on 127.0.0.1; `with Network("127.0.0.2") as network:`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._loop = asyncio.new_event_loop()
        self._whole = asyncio.Event()
        self._whole.set()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"network-{address}", daemon=True)

    def way_to(self, port: int) -> str:
        """Return the "address:port" at which the machine reaches a port of 127.0.0.1."""
        listening = asyncio.run_coroutine_threadsafe(self._listen(port), self._loop).result(LONGEST)
        return f"{self.address}:{listening}"

    def cut(self) -> None:
        self._loop.call_soon_threadsafe(self._whole.clear)

    def mend(self) -> None:
        self._loop.call_soon_threadsafe(self._whole.set)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(LONGEST)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LONGEST)
        self._loop.close()

    async def _listen(self, port: int) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.CancelledError, OSError):
                await self._whole.wait()
                from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
                try:
                    await asyncio.gather(self._carry(reader, to_server), self._carry(from_server, writer))
                finally:
                    to_server.transport.abort()
            writer.transport.abort()

        server = await asyncio.start_server(serve, self.address, 0)
        self._servers.append(server)
        listening: int = server.sockets[0].getsockname()[1]
        return listening

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
            await self._whole.wait()
        writer.close()  # ends the other direction too

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        here = asyncio.current_task()
        rest = [task for task in asyncio.all_tasks() if task is not here]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
