"""The writes of a server's scripts, recorded by MONITOR."""

from __future__ import annotations

import re
from typing import Any

_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}


def command_of(line: bytes) -> list[bytes]:
    """Parse a command in MONITOR's output, which is quoted and escaped, into words."""
    return [_ESCAPE.sub(_plain, word) for word in _WORD.findall(line)]


def _plain(escape: re.Match[bytes]) -> bytes:
    what = escape[1]
    return bytes([int(what[1:], 16)]) if len(what) == 3 else _ESCAPED.get(what, what)


class MonitoredWrites:
    """A recorder of the writes of the server's scripts."""

    def __init__(self, client: Any) -> None:
        found: Any = client.execute_command("COMMAND")
        self._names = {name.lower() for name, about in found.items() if "write" in about["flags"]}
        self._client = client
        self._connection: Any = client.connection_pool.get_connection()
        self._connection.send_command("MONITOR")
        self._connection.read_response()

    def take(self) -> list[list[bytes]]:
        """Return the writes since the last call."""
        self._client.echo("taken")
        found: list[list[bytes]] = []
        while True:
            line = self._connection.read_response(disable_decoding=True)
            words = command_of(line)
            if words and words[0].lower() == b"echo":
                return found
            if b" lua]" in line.partition(b'"')[0] and words[0].decode().lower() in self._names:
                found.append(words)
