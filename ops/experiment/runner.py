"""Runs an experiment: several hosts at once on shared workers, to the end or to its limit, resumable at any moment.

One folder has everything: `data` the server and all runs, `logs` the output of each host, `experiment.json` the
identity of the experiment, and `done.jsonl` a line for each run whose host has ended. A run is identified by its name,
so hosting it again resumes it. There is no other state, so a killed experiment loses nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import structlog
from pydantic import SecretStr
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.errors import CogitateError
from cogitate.ops.experiment.fork_server import SERVER_AWAY
from cogitate.ops.experiment.host import HostedRun
from cogitate.ops.experiment.hosts import Hosts
from cogitate.ops.experiment.limit import ExperimentLimit
from cogitate.ops.experiment.plan import Experiment, PlannedRun, text_of
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.stored_run import tick_at
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.journal.private_files import private_file
from cogitate.scheduler.ledger.outage import Pause
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.server_keeper import ServerKeeper
from cogitate.workers.processes.supervisor import WorkerPool, worker_environment
from cogitate.workers.processes.worker_process import PARENT_VARIABLE

LOOK_EVERY = 0.05  # seconds
MOST_BEGUN = 5  # the most starts of a run's host whose server was away
PATIENCE = 15.0  # seconds within which the hosts of a killed experiment have ended

log = structlog.get_logger()


class Done(msgspec.Struct, frozen=True):
    """A run whose host has ended."""

    run: str


class WorkersLost(CogitateError, RuntimeError):
    """All workers of an experiment have ended, and none can be restarted. Its runs can be continued."""


class FolderHeld(ConfigurationError):
    """Another process runs the experiment in this folder."""


class Progress(NamedTuple):
    """The progress of an experiment."""

    done: int
    runs: int
    begun: int  # runs that were done before this process began
    seconds: float  # since this process began
    spent: DaySpending
    failed: tuple[str, ...]  # runs whose hosts failed

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated seconds for the remaining runs; None if no run has ended yet."""
        done = self.done - self.begun
        return self.seconds / done * (self.runs - self.done) if done else None


class ExperimentFolder:
    """The folder of an experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self._done = path / "done.jsonl"

    @contextmanager
    def held(self, stop: Callable[[], bool] = lambda: False) -> Iterator[int]:
        """Hold the folder for the block, and yield the lock's descriptor.

        Args:
            stop: ends the wait for another process once it returns True.

        Raises:
            FolderHeld: when another process runs this experiment.
            ConfigurationError: when the folder cannot be made.
        """
        try:
            (self.path / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"cannot make the folder {self.path}: {error.strerror}") from error
        with (self.path / "lock").open("ab") as lock:
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if stop() or time.monotonic() > deadline:
                        raise FolderHeld(f"another process runs the experiment in {self.path}") from None
                    time.sleep(LOOK_EVERY)  # between two tries: `flock` cannot wait for a limited time
            yield lock.fileno()

    def check_identity(self, experiment: Experiment) -> None:
        """Check that the runs in the folder are of this experiment; record it in an empty folder.

        Raises:
            ConfigurationError: when the experiment has changed since its runs began.
        """
        identity = experiment.identity()
        kept = self._read("experiment.json")
        if kept is None:
            self._write("experiment.json", identity)
        elif changed := sorted(name for name in identity if kept.get(name) != identity[name]):
            raise ConfigurationError(
                f"{', '.join(changed)} changed since the runs in {self.path} began: give another --out, or delete it; "
                "only limits, measures, hosts and replicates may change"
            )

    def done(self) -> set[str]:
        """Return the names of the runs whose hosts have ended."""
        if not self._done.exists():
            return set()
        names = set()
        for line in self._done.read_bytes().splitlines():
            try:
                names.add(typed_json.decode(line, Done).run)
            except msgspec.DecodeError:
                continue  # incompletely written: the host is started again, and ends at once
        return names

    def note_done(self, run: str) -> None:
        """Record on disk that a run's host has ended."""
        whole = not self._done.exists() or self._done.read_bytes().endswith(b"\n")
        with self._done.open("ab") as file:
            file.write((b"" if whole else b"\n") + msgspec.json.encode(Done(run)) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def stopped_at(self) -> Mapping[str, Any] | None:
        """The limits at which the experiment last stopped."""
        return self._read("stopped.json")

    def note_stopped(self, limits: Mapping[str, Any]) -> None:
        """Record the limits at which the experiment stopped."""
        self._write("stopped.json", limits)

    def log_file(self, run: str) -> Path:
        """Return the file with the output of a run's host."""
        return self.path / "logs" / f"{run}.log"

    def _read(self, name: str) -> Mapping[str, Any] | None:
        path = self.path / name
        return json.loads(path.read_bytes()) if path.exists() else None

    def _write(self, name: str, value: Mapping[str, Any]) -> None:
        with private_file(self.path / name) as file:
            file.write(json.dumps(value, sort_keys=True).encode())


class Runner:
    """An experiment in its folder. `run` hosts the remaining runs; afterwards `client` still reads all runs.

    Args:
        watch: called whenever a run has ended.
        stop: polled continually; once it returns True, no run begins, and hosts leave the running ones.
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: ExperimentFolder,
        watch: Callable[[Progress], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.experiment = experiment
        self.folder = folder
        self.settings = self._settings()
        self.stopped = False  # whether the limit stopped the experiment
        self._watch = watch
        self._stop = stop
        self._failed: list[str] = []
        self._keeper: ServerKeeper | None = None
        self.outage = Pause(folder.path.name, self.settings.outage_wait, stop=stop, given_up=self._given_up)
        self.client: Redis
        self.limit: ExperimentLimit

    def _given_up(self) -> bool:
        return self._keeper is not None and self._keeper.given_up

    def _settings(self) -> Settings:
        experiment = self.experiment
        settings = experiment.settings_of(experiment.grid()[0])
        kinds = settings.kinds
        if experiment.world is not None:  # its module may declare kinds
            kinds = tuple(dict.fromkeys([*kinds, experiment.world.partition(":")[0]]))
        return settings.changed(
            data_dir=self.folder.data,
            kinds=kinds,
            real_day_tokens=experiment.limit_tokens,
            real_day_usd=experiment.limit_usd,
            experiment=experiment.at_limit,
        )

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open the folder and its server for the block.

        Raises:
            FolderHeld: when another process runs the experiment, after a wait that `stop` ends.
            ConfigurationError: when the folder is of another experiment, or the server cannot start.
        """
        load_kinds(self.settings)  # here, as in hosts and workers
        with ExitStack() as resources:
            self._lock = resources.enter_context(self.folder.held(self._stop))
            self.folder.check_identity(self.experiment)
            server = resources.enter_context(EmbeddedServer(self.folder.data))
            self._keeper = resources.enter_context(ServerKeeper(server))
            self._url = server.url
            self.client = resources.enter_context(server.client())
            self.limit = ExperimentLimit(self.client, self.settings, self.outage)
            yield

    def run(self) -> Progress:
        """Host the remaining runs within the limit, and return the progress.

        Raises:
            ConfigurationError: when a worker cannot start.
            WorkersLost: when no worker is left.
            LedgerUnavailable: when the server is away for longer than `outage_wait`, or while `stop` returns True.
        """
        planned, recorded, since = [*self.experiment.runs()], self.folder.done(), time.monotonic()
        waiting = [run for run in planned if run.name not in recorded]
        done = {run.name for run in planned} & recorded  # not runs of replicates that are no longer planned
        first = len(done)
        begun: Counter[str] = Counter()  # run -> starts of its host
        limits = {"tokens": self.experiment.limit_tokens, "usd": self.experiment.limit_usd}
        if self.folder.stopped_at == limits and self.experiment.at_limit == "stop":
            self.stopped, waiting = bool(waiting), []

        def progress() -> Progress:
            seconds = time.monotonic() - since
            return Progress(len(done), len(planned), first, seconds, self.limit.spending(), tuple(self._failed))

        if not waiting:
            return progress()
        with ExitStack() as resources:
            pool = resources.enter_context(WorkerPool(self._with_server(self.settings), self.settings.workers))
            hosts = resources.enter_context(Hosts(self._lock))
            while (waiting or hosts.running) and not self._stop():
                self._check_workers(pool)
                for run in [each for each in waiting if each.source is None or each.source in done]:
                    if len(hosts.running) < self.experiment.hosts:
                        self.outage.read(self.client.ping)
                        waiting.remove(run)
                        begun[run.name] += 1
                        self._begin(hosts, run)
                for ended in hosts.ended(LOOK_EVERY):
                    if ended.code == SERVER_AWAY and begun[ended.name] < MOST_BEGUN:
                        waiting.append(next(run for run in planned if run.name == ended.name))
                        continue
                    if ended.code:
                        self._failed.append(ended.name)
                        log_file = str(self.folder.log_file(ended.name))
                        log.error("experiment.run_failed", run=ended.name, code=ended.code, log_file=log_file)
                        continue
                    done.add(ended.name)
                    self.folder.note_done(ended.name)
                    if self._watch is not None:
                        self._watch(progress())
                waiting = [run for run in waiting if run.source not in self._failed]
                if self.experiment.at_limit == "stop" and self.limit.reached():
                    self.stopped = True
                    self.folder.note_stopped(limits)
                    break
            if self._stop():
                self.outage.read(self.client.ping)  # raises if the server is away, so that the workers are killed
        return progress()

    def _check_workers(self, pool: WorkerPool) -> None:
        """Check that a worker is left: without one, every job would end late, by heuristic."""
        if pool.cannot_start:
            raise ConfigurationError(f"a worker cannot start: {pool.cannot_start}")
        if self.settings.workers and not pool.any_left():
            raise WorkersLost(f"all workers have ended: see {pool.log_file(1)}; run the same command to continue")

    def _with_server(self, settings: Settings) -> Settings:
        return settings.changed(redis_url=SecretStr(self._url))

    def _begin(self, hosts: Hosts, run: PlannedRun) -> None:
        """Start the host of a run."""
        # A fork begins with its source's settings, the base's.
        condition = run.condition if run.source is None else self.experiment.grid()[0]
        settings = self._with_server(self.experiment.settings_of(condition)).changed(
            data_dir=self.folder.data,
            kinds=self.settings.kinds,
            workers=0,
            real_day_tokens=self.experiment.limit_tokens,
            real_day_usd=self.experiment.limit_usd,
            metrics_port=None,
        )
        environment = worker_environment(settings)
        environment.pop(PARENT_VARIABLE, None)
        source, tick = run.source, 0
        if source is not None:
            at = self.experiment.at or ""
            tick = self.outage.read(lambda: tick_at(RunStore.open(self.client, source), at))
        command = self._command(run, tick) if self.experiment.command else []
        hosted = None if command else self._hosted(run, tick)
        hosts.begin(run.name, hosted, command, environment, self.folder.log_file(run.name))

    def _command(self, run: PlannedRun, tick: int) -> list[str]:
        command = self.experiment.command
        values = {name: text_of(value) for name, value in self.experiment.value_of("world", run.condition).items()}
        values |= {"run": run.name, "seed": str(run.seed), "source": run.source or "", "tick": str(tick)}
        try:
            return [part.format_map(values) for part in command]
        except (KeyError, ValueError, IndexError) as error:
            raise ConfigurationError(
                f"command {shlex.join(command)!r}: a run has no value {{{error.args[0]}}}; its values are "
                f"{', '.join(values)}"
            ) from None

    def _hosted(self, run: PlannedRun, tick: int) -> HostedRun:
        experiment, source = self.experiment, run.source
        return HostedRun(
            run=run.name,
            town=experiment.town,
            story=experiment.story,
            world=experiment.world,
            seed=run.seed,
            before=experiment.value_of("world", experiment.grid()[0]),
            parameters=experiment.value_of("world", run.condition),
            days=experiment.days,
            ticks=experiment.ticks,
            cadences=experiment.cadences_of(run.condition) if source is None else (),
            fork=Fork(run=source, tick=tick, changes=experiment.changes_of(run.condition)) if source else None,
        )
