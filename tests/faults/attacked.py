"""A town of real processes that a test can attack: server, workers, host, and a model's endpoint."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import Entry
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import SERVER_FILE
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended, EndNote, ReadLine
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.workers.processes.supervisor import WorkerPool, worker_environment
from tests.faults.ledger_servers import LedgerServers, SingleServer
from tests.integration.command import command
from tests.live_redis import empty_redis
from tests.patience import LONGEST, wait_until

RUN = "town"
AGENTS, TICKS, STEP = 3, 36, 20  # STEP is minutes per tick; a morning, then reflections, choices and prunes
MORNING = 18  # the tick that makes plans due
LATENCY = {"plan": 5, "act": 3, "reflect": 10, "summarise": 20, "prune": 5}  # ticks, so that faults hit open jobs
Eventually = Callable[..., None]


def settings_of(folder: Path, endpoint: FakeEndpoint, **more: Any) -> Settings:
    """Return settings of a town that asks the endpoint, with budgets and caps that no fault exhausts."""
    chosen: dict[str, Any] = {
        "data_dir": folder / "data",
        "workers": 1,
        "concurrency": 4,
        "llm": "openai",
        "base_url": endpoint.url,
        "api_key": "any",
        "limits": {},
        "limit_tokens": 100_000_000,
        "claim_cap": 20,
        "seconds_per_tick": 60 * STEP,
        "reflection_interval": 120,
        "lease": 2.0,
        "hint_interval": 0.2,
        "socket_timeout": 2.0,
        "wait": 600.0,
        "job_deadline": 600.0,
        "latency": LATENCY,
    }
    return Settings.tuned(**(chosen | more))


def undisturbed(settings: Settings, run: str = RUN) -> str:
    """Run the town without faults, and return its digest."""
    return live(settings, run=run, inline=True, client=empty_redis())


def live(settings: Settings, on_tick: Callable[[Tick], None] | None = None, *, run: str = RUN, **how: Any) -> str:
    """Host the whole run in this process, and return its digest."""
    world = WorldChoice(agents=AGENTS, seed=0, recorded=None, minutes_per_tick=STEP).open()
    with TickLoop(
        run=run,
        owners=world.owners(),
        settings=settings,
        locations=world.locations,
        brief=world.brief,
        ticks=TICKS,
        start_minute=world.start_minute,
        describe={},
        **how,
    ) as loop:
        drive(loop, world, on_tick=on_tick)
    return loop.digest


class Attacked:
    """The processes of one run; all are stopped at the end of the block.

    Args:
        servers: starts the run's servers beside its data folder.
    """

    def __init__(
        self, settings: Settings, eventually: Eventually, servers: Callable[[Path], LedgerServers] = SingleServer
    ) -> None:
        self.servers = servers(settings.data_dir)
        self.settings = settings.model_copy(update=dict(self.servers.urls))
        self.state, self.broker = self.servers.state, self.servers.broker
        self.pool = WorkerPool(self.settings, self.settings.workers).start()
        self._eventually = eventually
        self._started: list[subprocess.Popen[bytes]] = []
        self._said: dict[int, Path] = {}

    def __enter__(self) -> Attacked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.explain()
        for process in self._started:
            process.kill()
            process.wait()
        for pid in self.pool.pids():  # how they end no longer matters
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.pool.stop(hurry=True)
        self.servers.stop()

    def explain(self) -> None:
        """Print, for a failed test, the output of commands and workers and the stacks of those that still run."""
        workers = {pid: self.pool.log_file(number) for number, pid in enumerate(self.pool.pids(), 1)}
        for pid, said in (self._said | workers).items():
            print(f"--- {said}\n{_with_stacks(pid, said)}")

    def host(self, *, resume: bool = False, take_over: bool = False) -> subprocess.Popen[bytes]:
        """Start `cogitate run` without workers."""
        world = (
            ("--resume", "--take-over")
            if take_over
            else ("--resume",)
            if resume
            else ("--town", AGENTS, "--ticks", TICKS)
        )
        return self.start("run", "--run", RUN, "--workers", 0, *world)

    def host_of_its_own(self, *, resume: bool = False) -> subprocess.Popen[bytes]:
        """Start `cogitate run` with a worker; this host also restarts the data folder's server."""
        world = ("--resume",) if resume else ("--town", AGENTS, "--ticks", TICKS)
        return self.start("run", "--run", RUN, "--workers", 1, *world, own_server=True)

    def start(self, *arguments: object, own_server: bool = False) -> subprocess.Popen[bytes]:
        """Start a command as a user types it. With `own_server` it knows only the data folder and no URL."""
        environment = worker_environment(self.settings)
        if own_server:
            del environment["COGITATE_REDIS_URL"], environment["COGITATE_BROKER_URL"]
        said = self.settings.data_dir / f"said-{len(self._started)}.log"
        with said.open("wb") as out:
            process = subprocess.Popen(
                command(*arguments, data_dir=self.settings.data_dir),
                env=environment,
                cwd=self.settings.data_dir,
                stdout=subprocess.DEVNULL,
                stderr=out,
            )
        self._started.append(process)
        self._said[process.pid] = said
        return process

    def said(self, process: subprocess.Popen[bytes]) -> str:
        """Return a command's standard error so far."""
        return self._said[process.pid].read_text()

    def until_said(self, process: subprocess.Popen[bytes], words: str) -> None:
        """Wait until a command has printed these words to standard error."""
        self._eventually(lambda: words in self.said(process), f"{words!r} to be printed")

    def ready(self, workers: int | None = None) -> None:
        """Wait until this number of workers, by default all, wait for messages."""
        wanted = self.settings.workers if workers is None else workers
        self._eventually(lambda: len(self.waiting_workers()) >= wanted, f"{wanted} workers to be ready")

    def waiting_workers(self) -> set[str]:
        """Return the connections on which workers wait for messages now."""
        clients: Any = self.broker.client_list()
        return {c["addr"] + c["id"] for c in clients if c["cmd"] == "brpop" and "b" in c["flags"]}

    def until_tick(self, tick: int) -> None:
        """Wait until a tick is committed."""
        self._eventually(lambda: self.tick() >= tick, f"tick {tick}")

    def tick(self) -> int:
        """Return the last committed tick."""
        incarnation = self.state.get(f"cogitate:{{{RUN}}}:incarnation")
        if incarnation is None:
            return 0
        return int(self.state.hget(RunStore.open(self.state, RUN).key("state"), "tick") or 0)

    def lines(self) -> list[ReadLine]:
        """Return the journal."""
        return list(read_journal(RunStore.open(self.state, RUN), 1, self.tick()))

    def live_here(self, on_tick: Callable[[Tick], None]) -> None:
        """Host the run in this process, so that a test can strike in the middle of a tick."""
        live(self.settings.model_copy(update={"workers": 0}), on_tick)

    def outcome(self, process: subprocess.Popen[bytes]) -> tuple[str, int]:
        """Wait for a command to end, and return its output and exit code."""
        code = process.wait(LONGEST)
        return self.said(process), code

    def ends_as(self, digest: str, host: subprocess.Popen[bytes]) -> None:
        """Check that the host succeeds and that its run finished, has this digest and passes the audit."""
        said, code = self.outcome(host)
        assert code == 0, said
        self.is_over(digest)

    def server_pid(self) -> int:
        """Return the process id of the data folder's server, whoever started it."""
        return int(json.loads((self.settings.data_dir / SERVER_FILE).read_text())["pid"])

    def beats(self) -> int:
        """Return the number of heartbeats of all workers so far."""
        beats: Any = self.state.hvals(RunStore.open(self.state, RUN).key("beats"))
        return sum(map(int, beats))

    def kill_connections(self, kind: str) -> int:
        """Have every server close all connections of a type except this one, and return their number."""
        killed: list[Any] = [
            server.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes") for server in self.servers.each()
        ]
        return sum(map(int, killed))

    def is_over(self, digest: str) -> None:
        """Check that the run finished, has this digest, passes the audit, and that every job succeeded."""
        faults = [line for line in self.lines() for end in line.core.ended if end.reason not in ("none",)]
        assert not faults, faults
        assert self.proven() == digest

    def proven(self) -> str:
        """Audit and replay the finished run, and return its digest."""
        return proven(self.state)

    def endings(self) -> list[tuple[int, Ended, EndNote]]:
        """Return the end of every job, with its tick and its note."""
        return [
            (line.core.tick, ended, note)
            for line in self.lines()
            for ended, note in zip(line.core.ended, line.notes.ended, strict=True)
        ]

    def attempts(self) -> int:
        """Return the largest number of attempts of a job."""
        return max(note.attempts for line in self.lines() for note in line.notes.ended)

    def entries(self, owner: str) -> list[Entry]:
        """Return an owner's memories."""
        stream = load_streams(RunStore.open(self.state, RUN), [owner])[owner]
        return list(stream.live())


def _with_stacks(pid: int, said: Path) -> str:
    """Return a process's output, with the stacks of its threads if it is alive (`tests.zygote`)."""
    size = said.stat().st_size
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, AssertionError):
        caught = next(
            line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:")
        )
        if not int(caught.split()[1], 16) >> (signal.SIGUSR2 - 1) & 1:  # without a handler the signal would end it
            return said.read_text()
        os.kill(pid, signal.SIGUSR2)
        wait_until(lambda: said.stat().st_size > size, "stacks", 5)
    return said.read_text()


def proven(state: Redis, run: str = RUN) -> str:
    """Audit and replay a finished run, and return its digest."""
    done = summarise_run(state, run)
    assert (done.status, done.tick) == ("finished", TICKS)
    assert audit(state, run) == []
    assert replay(state, run, empty_redis()).digest == done.digest
    return done.digest


def warnings_in(said: str) -> list[str]:
    """Return a host's warnings and errors, without its lines of progress."""
    return [line for line in said.splitlines() if not line.lstrip().startswith("day ")]
