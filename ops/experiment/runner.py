"""Runs an experiment: several hosts at once on shared workers, to the end or to its limit, resumable at any moment.

Everything stands in one folder: `data` with the server and all runs, `logs` with what each host printed,
`experiment.json` with what the runs are of, `done.jsonl` with a line for each run whose host has ended. A run is its
name, so one that is hosted again is resumed. Nothing else is kept, so a killed experiment loses nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import structlog
from pydantic import SecretStr
from redis import Redis

from cogitate.memory import typed_json
from cogitate.ops.experiment import guard
from cogitate.ops.experiment.host import HostedRun
from cogitate.ops.experiment.limit import ExperimentLimit
from cogitate.ops.experiment.plan import Experiment, PlannedRun, text_of
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.stored_run import tick_at
from cogitate.scheduler.journal.origin import Fork
from cogitate.scheduler.journal.private_files import open_private_log, private_file
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import WorkerPool, worker_environment
from cogitate.workers.processes.worker_process import PARENT_VARIABLE

LOOK_EVERY = 0.05  # seconds
PATIENCE = 15.0  # seconds in which the hosts of an experiment that was killed are gone
WHOLE = signal.SIGKILL  # ends a host: its open tick never happened, and the run is resumed with the one before

log = structlog.get_logger()


class Done(msgspec.Struct, frozen=True):
    """A run whose host has ended."""

    run: str


class Progress(NamedTuple):
    """How far an experiment is."""

    done: int
    runs: int
    begun: int  # runs that were done when this process began
    seconds: float  # since then
    spent: DaySpending
    failed: tuple[str, ...]  # runs whose hosts failed

    @property
    def seconds_left(self) -> float | None:
        """Return the time that the rest will take; None: no run has ended yet."""
        done = self.done - self.begun
        return self.seconds / done * (self.runs - self.done) if done else None


class ExperimentFolder:
    """The folder of an experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self._done = path / "done.jsonl"

    @contextmanager
    def held(self) -> Iterator[int]:
        """Hold the folder, and yield the lock's descriptor.

        Raises:
            ConfigurationError: when another process runs this experiment, or the folder cannot be made.
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
                    if time.monotonic() > deadline:
                        raise ConfigurationError(f"another process runs the experiment in {self.path}") from None
                    time.sleep(LOOK_EVERY)
            yield lock.fileno()

    def check_identity(self, experiment: Experiment) -> None:
        """Check that the runs in the folder are of this experiment; note it in an empty folder.

        Raises:
            ConfigurationError: when the file has changed since they began.
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
        found = set()
        for line in self._done.read_bytes().splitlines():
            try:
                found.add(typed_json.decode(line, Done).run)
            except msgspec.DecodeError:
                continue  # it was cut short: the host is started again, and ends at once
        return found

    def note_done(self, run: str) -> None:
        """Note that a run's host has ended; on disk when this returns."""
        whole = not self._done.exists() or self._done.read_bytes().endswith(b"\n")
        with self._done.open("ab") as file:
            file.write((b"" if whole else b"\n") + msgspec.json.encode(Done(run)) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def stopped_at(self) -> Mapping[str, Any] | None:
        """The limits at which the experiment stopped last."""
        return self._read("stopped.json")

    def note_stopped(self, limits: Mapping[str, Any]) -> None:
        """Note at which limits it stopped."""
        self._write("stopped.json", limits)

    def log_file(self, run: str) -> Path:
        """Return the file of what a run's host printed."""
        return self.path / "logs" / f"{run}.log"

    def _read(self, name: str) -> Mapping[str, Any] | None:
        path = self.path / name
        return json.loads(path.read_bytes()) if path.exists() else None

    def _write(self, name: str, value: Mapping[str, Any]) -> None:
        with private_file(self.path / name) as file:
            file.write(json.dumps(value, sort_keys=True).encode())


class Runner:
    """An experiment in its folder. `run` hosts what is left; afterwards `client` still reads all runs.

    Args:
        watch: called whenever a run has ended.
        stop: asked all the time; once it returns True, no run begins, and those that run are left.
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
        self.stopped = False  # at the limit
        self._watch = watch
        self._stop = stop
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        self._failed: list[str] = []
        self.client: Redis
        self.limit: ExperimentLimit
        self._guard: subprocess.Popen[str]

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
            ConfigurationError: when the folder is of another experiment or in use, or there is no server.
        """
        load_kinds(self.settings)  # as hosts and workers will
        with ExitStack() as resources:
            self._lock = resources.enter_context(self.folder.held())
            self.folder.check_identity(self.experiment)
            server = resources.enter_context(EmbeddedServer(self.folder.data))
            self._url = server.url
            self.client = resources.enter_context(server.client())
            self.limit = ExperimentLimit(self.client, self.settings)
            yield

    def run(self) -> Progress:
        """Host all runs that are left, as far as the limit reaches, and return how far the experiment is."""
        done, begun = self.folder.done(), time.monotonic()
        waiting = [run for run in self.experiment.runs() if run.name not in done]
        first = len(done := {run.name for run in self.experiment.runs()} & done)
        limits = {"tokens": self.experiment.limit_tokens, "usd": self.experiment.limit_usd}
        if self.folder.stopped_at == limits and self.experiment.at_limit == "stop":
            self.stopped, waiting = bool(waiting), []

        def progress() -> Progress:
            runs = self.experiment.replicates * len(self.experiment.grid())
            seconds = time.monotonic() - begun
            return Progress(len(done), runs, first, seconds, self.limit.spending(), tuple(self._failed))

        if not waiting:
            return progress()
        with ExitStack() as resources:
            resources.enter_context(WorkerPool(self._with_server(self.settings), self.settings.workers))
            self._guard = resources.enter_context(self._guarded())
            resources.callback(self._leave)
            while (waiting or self._hosts) and not self._stop():
                for run in [one for one in waiting if self._may_begin(one, done)]:
                    if len(self._hosts) < self.experiment.hosts:
                        waiting.remove(run)
                        self._begin(run)
                for name in self._ended():
                    done.add(name)
                    self.folder.note_done(name)
                    if self._watch is not None:
                        self._watch(progress())
                waiting = [one for one in waiting if one.source not in self._failed]
                if self.experiment.at_limit == "stop" and self.limit.reached():
                    self.stopped = True
                    self.folder.note_stopped(limits)
                    break
                time.sleep(LOOK_EVERY)
        return progress()

    def _with_server(self, settings: Settings) -> Settings:
        return settings.changed(redis_url=SecretStr(self._url))

    def _may_begin(self, run: PlannedRun, done: set[str]) -> bool:
        return run.source is None or run.source in done

    def _begin(self, run: PlannedRun) -> None:
        """Start the host of a run."""
        settings = self._with_server(self.experiment.settings_of(run.condition)).changed(
            data_dir=self.folder.data,
            kinds=self.settings.kinds,
            workers=0,
            real_day_tokens=self.experiment.limit_tokens,
            real_day_usd=self.experiment.limit_usd,
            metrics_port=None,
        )
        environment = worker_environment(settings)
        environment.pop(PARENT_VARIABLE, None)
        with open_private_log(self.folder.log_file(run.name)) as out:
            host = subprocess.Popen(
                self._command(run),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its group is killed as a whole; Ctrl-C goes to this process only
            )
        self._tell_guard(f"+{host.pid}")
        self._hosts[run.name] = host
        log.debug("experiment.run_began", run=run.name, seed=run.seed)

    def _command(self, run: PlannedRun) -> list[str]:
        experiment = self.experiment
        base = experiment.grid()[0]
        parameters = experiment.value_of("world", run.condition)
        tick = tick_at(RunStore.open(self.client, run.source), experiment.at or "") if run.source is not None else 0
        if experiment.command:
            values = {name: text_of(value) for name, value in parameters.items()}
            values |= {"run": run.name, "seed": str(run.seed), "source": run.source or "", "tick": str(tick)}
            try:
                return [part.format_map(values) for part in experiment.command]
            except (KeyError, ValueError, IndexError) as error:
                raise ConfigurationError(
                    f"command {shlex.join(experiment.command)!r}: {{{error.args[0]}}} is no value of a run; there are "
                    f"{', '.join(values)}"
                ) from None
        spec = HostedRun(
            run=run.name,
            town=experiment.town,
            story=experiment.story,
            world=experiment.world,
            seed=run.seed,
            before=experiment.value_of("world", base),
            parameters=parameters,
            days=experiment.days,
            ticks=experiment.ticks,
            cadences=experiment.cadences_of(run.condition) if run.source is None else (),
            fork=Fork(run=run.source, tick=tick, changes=experiment.changes_of(run.condition)) if run.source else None,
        )
        return [sys.executable, "-m", "cogitate.ops.experiment.host", msgspec.json.encode(spec).decode()]

    def _ended(self) -> list[str]:
        """Return the runs whose hosts have ended since the last look, without those that failed."""
        ended = []
        for name, host in list(self._hosts.items()):
            if (code := host.poll()) is None:
                continue
            self._tell_guard(f"-{host.pid}")
            del self._hosts[name]
            if code == 0:
                ended.append(name)
            else:
                self._failed.append(name)
                log.error("experiment.run_failed", run=name, code=code, log_file=str(self.folder.log_file(name)))
        return ended

    def _leave(self) -> None:
        """Leave all runs that have not ended: each continues after its last committed tick."""
        for host in self._hosts.values():
            os.killpg(host.pid, WHOLE)
        for host in self._hosts.values():
            host.wait()
        self._hosts.clear()

    @contextmanager
    def _guarded(self) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[self._lock],
            cwd="/",
            text=True,
            start_new_session=True,
        ) as process:
            yield process

    def _tell_guard(self, line: str) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.write(line + "\n")
        self._guard.stdin.flush()
