"""Lua of a Redis in memory that compiles each script once.

fakeredis compiles a script at every call, lists all globals of Lua at each of its commands, and collects Lua's garbage
after it: half the time of a run in memory. Nothing of that is needed for scripts that never change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import Lock
from typing import Any

from fakeredis.commands_mixins import scripting_mixin
from redis import Redis

_lua: Any = scripting_mixin.LUA_MODULE
Lua: Any = _lua.LuaRuntime
COLLECT = "collectgarbage()"
COUNT = "local count = 0 for _ in pairs(_G) do count = count + 1 end return count"
_replacing = Lock()


class CompilingOnce(Lua):  # type: ignore[misc]
    """A Lua that compiles each program when it is first executed, and lists its globals when their number changes."""

    def __init__(self, **_: Any) -> None:  # they are read before, as the object is made
        self._programs: dict[Any, Callable[..., Any]] = {}
        self._globals: dict[Any, None] = {}

    def execute(self, program: Any, *arguments: Any) -> Any:
        """Run a program, but for fakeredis' request for a collection after each script: Lua collects when it must."""
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
        """Drop the functions by which Lua refers to its server: Python's collector does not see that circle."""
        self._programs.clear()
        super().execute(f"redis, cjson = nil {COLLECT}")


def compile_once(client: Redis) -> None:
    """Give the server of this client such a Lua, before its first script."""
    with _replacing:  # fakeredis takes no Lua from its caller
        usual, _lua.LuaRuntime = _lua.LuaRuntime, CompilingOnce
        try:
            client.eval("return 0", 0)
        finally:
            _lua.LuaRuntime = usual
