"""A server behind TLS: a loopback port terminates TLS for a unix socket, since the embedded server has no TLS."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import trustme

from tests.patience import LONGEST


@contextmanager
def behind_tls(target: Path, folder: Path, name: str = "localhost") -> Iterator[tuple[int, Path]]:
    """Serve TLS for a block with a certificate for the host `name`; yield the port and the authority's file."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    authority_file = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(authority_file))
    loop = asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(str(target))
        try:
            with suppress(asyncio.CancelledError):
                await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))
        finally:
            for end in (to_server, writer):
                end.transport.abort()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)

    server = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, name="tls", daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], authority_file
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(LONGEST)
        loop.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()  # ends the other direction too


async def _stop(server: asyncio.Server) -> None:
    server.close()
    ours = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in ours:
        task.cancel()
    await asyncio.gather(*ours, return_exceptions=True)
    for _ in range(3):  # the iterations in which an aborted transport releases its socket
        await asyncio.sleep(0)
