"""The fake Redis of tests, without what costs CPU in thousands of them and shows nothing.

Every server has the Lua of a run in memory (`cogitate.hosting.redis_in_memory`). fakeredis keeps every server, with
all its data, until the process ends, so that Python's garbage collector walks the runs of all earlier tests: here a
server goes with the module that used it.
"""

from __future__ import annotations

from unittest.mock import patch
from weakref import WeakValueDictionary

from fakeredis import FakeServer
from fakeredis.commands_mixins import scripting_mixin

from cogitate.hosting.redis_in_memory import CompilingOnce


def install() -> None:
    """Make every fake server from now on one of these."""
    patch.object(scripting_mixin.LUA_MODULE, "LuaRuntime", CompilingOnce).start()
    patch.object(FakeServer, "_servers_map", WeakValueDictionary()).start()


def release_servers() -> None:
    """Let go of all servers that no client uses any more; one that is used goes on."""
    for server in list(FakeServer._servers_map.values()):
        if runtime := server.__dict__.pop("_lua_runtime", None):
            runtime.release()
