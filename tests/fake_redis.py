"""The fake Redis of tests, without what costs CPU in thousands of them and shows nothing.

fakeredis compiles a script at every call, lists all globals of Lua at each of its commands, and collects Lua's garbage
after it: here a server compiles each script once, lists globals where their number has changed, and Lua collects when
it needs to. fakeredis also keeps every server, with all its data, until the process ends, so that Python's garbage
collector walks the runs of all earlier tests: here a server goes with the module that used it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch
from weakref import WeakValueDictionary

from fakeredis import FakeServer
from fakeredis.commands_mixins import scripting_mixin

Lua: Any = scripting_mixin.LUA_MODULE.LuaRuntime
COLLECT = "collectgarbage()"
COUNT = "local count = 0 for _ in pairs(_G) do count = count + 1 end return count"

_check_globals: Callable[[Any, set[Any]], None] = scripting_mixin._check_for_lua_globals


class CompilingOnce(Lua):  # type: ignore[misc]
    """A Lua that compiles each program when it is first executed."""

    def __init__(self, **_: Any) -> None:  # they are read before, as the object is made
        self._programs: dict[Any, Callable[..., Any]] = {}

    def execute(self, program: Any, *arguments: Any) -> Any:
        """Run a program, but for fakeredis' request for a collection after each script."""
        if program == COLLECT:
            return None
        if program not in self._programs:
            self._programs[program] = self.compile(program)
        return self._programs[program](*arguments)

    def release(self) -> None:
        """Drop the functions by which Lua refers to its server: Python's collector does not see that circle."""
        self._programs.clear()
        super().execute(f"redis, cjson = nil {COLLECT}")


def _check_more_globals(lua: CompilingOnce, expected: set[Any]) -> None:
    if lua.execute(COUNT) != len(expected):
        _check_globals(lua, expected)


def install() -> None:
    """Make every fake server from now on one of these."""
    patch.object(scripting_mixin.LUA_MODULE, "LuaRuntime", CompilingOnce).start()
    patch.object(scripting_mixin, "_check_for_lua_globals", _check_more_globals).start()
    patch.object(FakeServer, "_servers_map", WeakValueDictionary()).start()


def release_servers() -> None:
    """Let go of all servers that no client uses any more; one that is used goes on."""
    for server in list(FakeServer._servers_map.values()):
        if runtime := server.__dict__.pop("_lua_runtime", None):
            runtime.release()
