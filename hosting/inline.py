"""Inline mode: jobs run at once in the host's process, on a Redis in memory.

The ledger, the jobs and the digest are the same as with worker processes, but there are no messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import Any

from fakeredis import FakeRedis, FakeRedisConnection
from fakeredis.commands_mixins import scripting_mixin
from redis import Redis

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.claims import Claims
from cogitate.scheduler.tick.result_collector import Publish
from cogitate.tasks.job import Job
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.runner import Runner

_lua: Any = scripting_mixin.LUA_MODULE
Lua: Any = _lua.LuaRuntime
COLLECT = "collectgarbage()"
COUNT = "local count = 0 for _ in pairs(_G) do count = count + 1 end return count"
_replacing = Lock()


class CompilingOnce(Lua):  # type: ignore[misc]
    """A Lua runtime that compiles each program once, and lists its globals only if their number changes.

    fakeredis compiles a script at every call, lists all Lua globals at each command, and then collects Lua's garbage.
    That takes half the time of an in-memory run, and scripts that never change need none of it.
    """

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


def compile_once(client: Redis) -> None:
    """Give this client's server a `CompilingOnce`; call this before its first script."""
    with _replacing:  # fakeredis has no parameter for its runtime
        usual, _lua.LuaRuntime = _lua.LuaRuntime, CompilingOnce
        try:
            client.eval("return 0", 0)
        finally:
            _lua.LuaRuntime = usual


PIECE = 16_384  # bytes


class PiecemealConnection(FakeRedisConnection):
    """A connection that sends a long command in pieces.

    For each argument that it reads, fakeredis copies the rest of its input: a tick with thousands of requests would
    take minutes.
    """

    def send_packed_command(self, command: str | Iterable[bytes], check_health: bool = True) -> None:
        parts = [command.encode()] if isinstance(command, str) else command
        pieces = [part[at : at + PIECE] for part in parts for at in range(0, len(part), PIECE)]
        super().send_packed_command(pieces, check_health)  # type: ignore[no-untyped-call]


class InlinePublisher:
    """A substitute for the broker that runs each published job before `publish` returns."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        claims = Claims(client, worker="inline")
        self._runner = Runner(client, claims, Heartbeat(claims.beat, settings.tuning.lease / 5), settings)

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run the jobs in order and return their number."""
        for job in jobs:
            self._runner.run(job.id)
        return len(jobs)

    def close(self) -> None:
        """Close the connections that jobs opened."""
        self._runner.close()


def redis_in_memory() -> Redis:
    """Return a client of a new Redis in this process's memory."""
    client: Redis = FakeRedis()
    client.connection_pool.connection_class = PiecemealConnection
    compile_once(client)
    return client


def open_inline(client: Redis | None, settings: Settings, resources: ExitStack) -> tuple[Redis, Publish]:
    """Return a client, by default of a new Redis in memory, and a publisher that `resources` closes.

    Raises:
        ConfigurationError: when a limit per real day is set, but no other run could see this run's spending.
    """
    if client is None and settings.llm == "openai":
        check_real_day(settings)
    client = client or redis_in_memory()
    publisher = InlinePublisher(client, settings)
    resources.callback(publisher.close)
    return client, publisher.publish


def check_real_day(settings: Settings) -> None:
    """Check that a run on a Redis in memory has no limit per real day, since no other run would share it."""
    limits = {"real_day_usd": settings.real_day_usd, "real_day_tokens": settings.real_day_tokens}
    if named := [name for name, limit in limits.items() if limit is not None]:
        raise ConfigurationError(
            f"inline=True keeps its state in memory, where no other run sees its spending, so "
            f"{' and '.join(named)} would limit each run alone: share a server (client=redis.Redis.from_url(...)), "
            "leave inline out, or set a limit of the run instead"
        )
