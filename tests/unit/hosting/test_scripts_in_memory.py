"""Scripts on a Redis in memory are compiled once, and may still set no globals."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis.commands_mixins import scripting_mixin
from redis import Redis, ResponseError

from cogitate.hosting.redis_in_memory import CompilingOnce, redis_in_memory


@pytest.fixture
def client() -> Redis:
    return redis_in_memory()


def test_a_script_is_compiled_once_and_sees_each_calls_arguments(
    client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[bytes] = []
    usual = CompilingOnce.compile

    def counted(lua: CompilingOnce, program: bytes) -> Any:
        compiled.append(program)
        return usual(lua, program)

    monkeypatch.setattr(CompilingOnce, "compile", counted, raising=False)
    script = client.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
    assert [script(keys=["n"], args=[by]) for by in (1, 2, 3)] == [1, 3, 6]
    assert [program for program in compiled if b"incrby" in program] == [script.script.encode()]


@pytest.mark.parametrize("then", ["return 1", "return redis.call('get', 'n')"])
def test_a_script_that_sets_a_global_is_refused(client: Redis, then: str) -> None:
    with pytest.raises(ResponseError, match="mine"):
        client.eval(f"mine = 1 {then}", 0)


def test_other_servers_keep_their_lua(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = object()
    monkeypatch.setattr(scripting_mixin.LUA_MODULE, "LuaRuntime", usual)
    client = redis_in_memory()
    assert scripting_mixin.LUA_MODULE.LuaRuntime is usual
    assert client.eval("return 7", 0) == 7
