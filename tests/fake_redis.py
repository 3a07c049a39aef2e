"""The tests' fake Redis, made cheap enough for thousands of tests.

Every server uses the Lua runtime of `cogitate.hosting.redis_in_memory`, which compiles each script once. fakeredis
keeps every server and its data until the process ends, so Python's garbage collector would walk the runs of all
earlier tests; here a server is freed after the module that used it.
"""

from __future__ import annotations

from unittest.mock import patch
from weakref import WeakValueDictionary

from fakeredis import FakeServer
from fakeredis.commands_mixins import scripting_mixin

from cogitate.hosting.redis_in_memory import CompilingOnce


def install() -> None:
    """Make every fake server created from now on a cheap one."""
    patch.object(scripting_mixin.LUA_MODULE, "LuaRuntime", CompilingOnce).start()
    patch.object(FakeServer, "_servers_map", WeakValueDictionary()).start()


def release_servers() -> None:
    """Release the Lua runtime of every server; one that is still in use makes a new runtime."""
    for server in list(FakeServer._servers_map.values()):
        if runtime := server.__dict__.pop("_lua_runtime", None):
            runtime.release()
