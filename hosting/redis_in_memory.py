"""A Redis in this process's memory, with a Lua runtime that compiles each script once.

fakeredis compiles a script at every call, lists all Lua globals at each command, and then collects Lua's garbage. That
takes half the time of an in-memory run, and scripts that never change need none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from threading import Lock
from typing import Any

from fakeredis import FakeRedis, FakeRedisConnection
from fakeredis.commands_mixins import scripting_mixin
from redis import Redis

_lua: Any = scripting_mixin.LUA_MODULE
Lua: Any = _lua.LuaRuntime
COLLECT = "collectgarbage()"
COUNT = "local count = 0 for _ in pairs(_G) do count = count + 1 end return count"
PIECE = 16_384  # bytes
_replacing = Lock()


class CompilingOnce(Lua):  # type: ignore[misc]
    """A Lua runtime that compiles each program once, and lists its globals only if their number changes."""

    def __init__(self, **_: Any) -> None:  # `LuaRuntime.__new__` reads the arguments
        self._programs: dict[Any, Callable[..., Any]] = {}
        self._globals: dict[Any, None] = {}

    def execute(self, program: Any, *arguments: Any) -> Any:
        """Run a program; ignore fakeredis' request to collect garbage after each script: Lua does so by itself."""
        if program == COLLECT:
            return None
        if program not in self._programs:
            self._programs[program] = self.compile(program)
        return self._programs[program](*arguments)

    def globals(self) -> Collection[Any]:
        """Return the names of all globals, as keys."""
        if self.execute(COUNT) != len(self._globals):
            self._globals = dict.fromkeys(super().globals().keys())
        return self._globals

    def release(self) -> None:
        """Drop Lua's references to its server: Python's garbage collector cannot see that cycle."""
        self._programs.clear()
        super().execute(f"redis, cjson = nil {COLLECT}")


class PiecemealConnection(FakeRedisConnection):
    """A connection that sends a long command in pieces.

    For each argument that it reads, fakeredis copies the rest of its input: a tick with thousands of requests would
    take minutes.
    """

    def send_packed_command(self, command: str | Iterable[bytes], check_health: bool = True) -> None:
        parts = [command.encode()] if isinstance(command, str) else command
        pieces = [part[at : at + PIECE] for part in parts for at in range(0, len(part), PIECE)]
        super().send_packed_command(pieces, check_health)  # type: ignore[no-untyped-call]


def compile_once(client: Redis) -> None:
    """Give this client's server a `CompilingOnce`; call this before its first script."""
    with _replacing:  # fakeredis has no parameter for its runtime
        usual, _lua.LuaRuntime = _lua.LuaRuntime, CompilingOnce
        try:
            client.eval("return 0", 0)
        finally:
            _lua.LuaRuntime = usual


def redis_in_memory() -> Redis:
    """Return a client of a new Redis in this process's memory."""
    client: Redis = FakeRedis()
    client.connection_pool.connection_class = PiecemealConnection
    compile_once(client)
    return client
