"""A town whose every process is real and in reach of the test: server, workers, host, and a model's endpoint."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from command import command
from fakeredis import FakeRedis
from pydantic import SecretStr

from memory.entry import Entry
from ops.drive import drive
from ops.fake_llm import FakeEndpoint
from ops.host import TickLoop
from ops.worlds import WorldChoice
from scheduler.audit import audit
from scheduler.history import read_journal
from scheduler.journal import ReadLine
from scheduler.loop import Tick
from scheduler.settings import Settings
from scheduler.streams import load_streams
from scheduler.summary import prefix_of, summarise_run
from workers.embedded import EmbeddedServer
from workers.supervisor import WorkerPool, worker_environment

RUN = "town"
AGENTS, TICKS, STEP = 3, 36, 20  # ticks of twenty minutes: a morning, then reflections, choices and prunes
MORNING = 18  # the tick that makes plans due
Eventually = Callable[..., None]


def settings_of(folder: Path, endpoint: FakeEndpoint, **more: Any) -> Settings:
    """A town that asks the endpoint. No budget is so scarce, and no job given up so soon, that a fault decides."""
    chosen: dict[str, Any] = {
        "data_dir": folder / "data", "workers": 2, "concurrency": 4, "llm": "openai", "base_url": endpoint.url,
        "api_key": "any", "limits": {}, "limit_tokens": 100_000_000, "claim_cap": 20, "minutes_per_tick": STEP,
        "reflection_interval": 120, "lease": 2.0, "hint_interval": 0.2, "socket_timeout": 2.0,
    }  # fmt: skip
    return Settings(**(chosen | more))


def undisturbed(settings: Settings) -> str:
    """The digest of the run that nobody attacks."""
    return live(settings, inline=True, client=FakeRedis())


def live(settings: Settings, on_tick: Callable[[Tick], None] | None = None, **how: Any) -> str:
    """Be the host of the whole run, in this process; the digest."""
    world = WorldChoice(agents=AGENTS, seed=0, recorded=None, minutes_per_tick=STEP).open()
    with TickLoop(
        run=RUN, owners=world.owners(), settings=settings, locations=world.locations, brief=world.brief, ticks=TICKS,
        start_minute=world.start_minute, describe={}, **how,
    ) as loop:  # fmt: skip
        drive(loop, world, on_tick=on_tick)
    return loop.digest


class Attacked:
    """The processes of one run; all are gone when the block is left."""

    def __init__(self, settings: Settings, eventually: Eventually) -> None:
        self.server = EmbeddedServer(settings.data_dir).start()
        self.settings = settings.model_copy(update={"redis_url": SecretStr(self.server.url)})
        self.state = self.server.client()
        self.broker = self.server.client(1)
        self.pool = WorkerPool(self.settings, self.settings.workers).start()
        self._eventually = eventually
        self._hosts: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Attacked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for host in self._hosts:
            host.kill()
            host.communicate()
        for pid in self.pool.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.pool.stop(hurry=True)
        self.state.close()
        self.broker.close()
        self.server.stop()

    def host(self, *, resume: bool = False) -> subprocess.Popen[str]:
        """A host, as a user starts one; the workers are not its own."""
        world = ("--resume",) if resume else ("--town", AGENTS, "--ticks", TICKS)
        host = subprocess.Popen(
            command("run", "--run", RUN, "--workers", 0, *world, data_dir=self.settings.data_dir),
            env=worker_environment(self.settings), cwd=self.settings.data_dir, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._hosts.append(host)
        return host

    def ready(self, workers: int | None = None) -> None:
        """Wait until so many workers (all, if not said) wait for messages."""
        wanted = self.settings.workers if workers is None else workers
        self._eventually(lambda: len(self.waiting_workers()) >= wanted, f"{wanted} workers to be ready")

    def waiting_workers(self) -> dict[str, int]:
        """Connections on which workers wait for messages now: their commands so far."""
        clients: Any = self.broker.client_list()
        return {
            c["addr"] + c["id"]: int(c.get("tot-cmds", 0)) for c in clients if c["cmd"] == "brpop" and "b" in c["flags"]
        }

    def until_tick(self, tick: int) -> None:
        """Wait until a tick is committed."""
        self._eventually(lambda: self.tick() >= tick, f"tick {tick}", timeout=30)

    def tick(self) -> int:
        """The last tick that is committed."""
        incarnation = self.state.get(f"cogitate:{{{RUN}}}:incarnation")
        if incarnation is None:
            return 0
        return int(self.state.hget(prefix_of(self.state, RUN) + "state", "tick") or 0)

    def lines(self) -> list[ReadLine]:
        """The journal."""
        return list(read_journal(self.state, prefix_of(self.state, RUN), 1, self.tick()))

    def live_here(self, on_tick: Callable[[Tick], None]) -> None:
        """Be the host in this process: what is done to it can be done in the midst of a tick."""
        live(self.settings.model_copy(update={"workers": 0}), on_tick)

    def outcome(self, host: subprocess.Popen[str]) -> tuple[str, int]:
        """What a host has said when it has ended, and its exit code."""
        said = host.communicate(timeout=60)[1]
        return said, host.returncode

    def ends_as(self, digest: str, host: subprocess.Popen[str]) -> None:
        """The host ends well; the run is over, its digest is this, and nothing is wrong with it."""
        said, code = self.outcome(host)
        assert code == 0, said
        self.is_over(digest)

    def kill_server(self) -> None:
        """SIGKILL for the server of state and messages."""
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGKILL)

    def kill_connections(self, kind: str) -> int:
        """Have the server close all connections of a kind but ours; how many there were."""
        killed: Any = self.state.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
        return int(killed)

    def restart_server(self) -> None:
        """Start it again on what it had written."""
        again = EmbeddedServer(self.settings.data_dir).start()
        self.server.stop()  # which another process still uses
        self.server = again

    def is_over(self, digest: str) -> None:
        """The run is over, its digest is this, and nothing is wrong with it."""
        done = summarise_run(self.state, RUN)
        faults = [line for line in self.lines() for end in line.core.ended if end.reason not in ("none",)]
        assert not faults, faults
        assert (done.status, done.tick, done.digest) == ("finished", TICKS, digest)
        assert audit(self.state, RUN) == []

    def attempts(self) -> int:
        """The most attempts that a job took."""
        return max(note.attempts for line in self.lines() for note in line.notes.ended)

    def entries(self, owner: str) -> list[Entry]:
        """What an owner remembers."""
        stream = load_streams(self.state, prefix_of(self.state, RUN), [owner])[owner]
        return list(stream.live())
