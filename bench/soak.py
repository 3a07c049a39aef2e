"""A soak test: a town runs for days under faults; nothing may be lost, doubled or overspent, and memory must not grow.

    python -m bench soak --agents 200 --days 7

`cogitate run` is the host, in a separate process with its own workers. A fault strikes every few seconds. The journal
is kept for one day and exported. At the end the run is audited and replayed, from its checkpoint and from its first
tick, and the memory of host and server on the last day is compared with that of the third. By then archives are full,
and agents have all the memories, plans and reflections that they may keep; otherwise normal growth would hide leaks.
The size of a day's journal depends on the town's observations, so their count is shown beside the peaks. Linux only:
peaks are read from `/proc`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any

import psutil
from redis import Redis
from redis.exceptions import RedisError

from bench.table import Row, Table
from cogitate.memory import typed_json
from cogitate.ops.commands.verify import scratch
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import Replayed, replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.exported import all_lines, exported_journal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Job
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import QUICK_DEATH
from cogitate.workers.publish import Publisher

#: Shares of the stand-in endpoint's requests that fail, if a run asks it.
ENDPOINT_FAULTS = {"429:1": 0.03, "500": 0.02, "close": 0.02, "broken_json": 0.02, "refusal": 0.01, "no_usage": 0.01}


_JOB = typed_json.decoder(Job)

PATIENCE = 10  # tries to find a target for a fault before another fault is drawn


def workers_of(host: int) -> list[psutil.Process]:
    """Return the processes of a host's workers."""
    found = []
    for child in psutil.Process(host).children():
        with suppress(psutil.Error):
            if any("celery" in part for part in child.cmdline()):
                found.append(child)
    return found


class Faults:
    """Strikes a run's workers, connections and messages.

    Args:
        host: the host's process id.
        run: the run's name.
        state, broker: clients of the run's databases.
        settings: name the broker.
        seed: determines the faults and their order.
    """

    def __init__(
        self,
        host: int,
        run: str,
        state: Redis,
        broker: Redis,
        settings: Settings,
        seed: int,
        endpoint: FakeEndpoint | None,
    ) -> None:
        self._host = host
        self._run = run
        self._state = state
        self._broker = broker
        self._publisher = Publisher(settings)
        self._draw = random.Random(seed)
        self._endpoint = endpoint
        self._next = ""
        self._looks = 0
        self.struck: Counter[str] = Counter()

    def pause(self, mean: float) -> float:
        """Return the seconds until the next fault: 0.5 to 1.5 times `mean`."""
        return mean * self._draw.uniform(0.5, 1.5)

    def strike(self) -> bool:
        """Apply the current fault; return whether it found a target. If not, retry it next time, up to `PATIENCE`."""
        kinds: dict[str, Callable[[], bool]] = {
            "worker killed": lambda: self._signal_worker(signal.SIGKILL),
            "worker restarted": lambda: self._signal_worker(signal.SIGTERM),
            "normal connections killed": lambda: self._kill_connections("normal"),
            "pubsub connections killed": lambda: self._kill_connections("pubsub"),
            "broker wiped": lambda: bool(self._broker.flushdb()),
            "messages doubled": self._double_messages,
        }
        if not self._next or self._looks >= PATIENCE:
            self._next, self._looks = self._draw.choice(sorted(kinds)), 0
        self._looks += 1
        if not kinds[self._next]():
            return False
        self.struck[self._next] += 1
        self._next = ""
        return True

    def by_endpoint(self) -> dict[str, int]:
        """Return how often the stand-in failed, by fault."""
        return self._endpoint.stats().by_fault if self._endpoint is not None else {}

    def _signal_worker(self, number: signal.Signals) -> bool:
        """Signal a worker old enough that its host restarts it: quick deaths count as a bug, not a machine's fault."""
        now = time.time()
        workers = [one for one in workers_of(self._host) if now - one.create_time() > QUICK_DEATH]
        if workers:
            with suppress(psutil.NoSuchProcess):
                self._draw.choice(workers).send_signal(number)
        return bool(workers)

    def _kill_connections(self, kind: str) -> bool:
        killed: Any = self._state.client_kill_filter(_type=kind, skipme=True)
        return int(killed) > 0

    def _double_messages(self) -> bool:
        """Send the message of every open job twice more, whether it is waiting, running or staged."""
        store = RunStore.open(self._state, self._run)
        keys = store.members("jobs")
        with self._state.pipeline(transaction=False) as pipe:
            for key in sorted(keys):
                pipe.hmget(store.job_key(key.decode()), "job", "state")
            found = pipe.execute()
        jobs = [_JOB.decode(job) for job, state in found if job is not None and state != b"held"]
        return self._publisher.publish(jobs + jobs) > 0


RUN = "soak"
DAY = 1440  # ticks
COMPARED = 3  # the day, counted from 1, with whose peaks the last day's are compared
MOST_GROWTH = 1.05
LOOK_EVERY = 0.2  # seconds
#: An agent's limits, low enough that all are reached by day 3, so that a leak soon shows. With the defaults, archives
#: are full on day 4, the seven plans on day 7, and the 50 reflections after weeks; and it takes some three weeks until
#: important memories fill all of an agent's room, so that routine is archived immediately.
#: With twenty attempts per job, no fault makes a job dead.
SETTINGS = {
    "COGITATE_JOURNAL_KEEP": "1",
    "COGITATE_MAX_OBSERVATIONS": "15",
    "COGITATE_MAX_REFLECTIONS": "2",
    "COGITATE_TUNING": '{"max_plans": 2, "max_archived": 100, "claim_cap": 20, "lease": 5}',
}


class Peaks:
    """The peak memory of host and server in each game day, in MiB.

    A process's peak is its high-water mark, reset each day. The peak of the server's data is counted by the server
    since its start, and cannot be reset.
    """

    def __init__(self, host: int, server: int, state: Redis) -> None:
        self._pids = {"host": host, "server": server}
        self._state = state
        self.by_day: dict[int, dict[str, float]] = {}

    def look(self, tick: int) -> None:
        """Record the peaks at a tick."""
        day = tick // DAY + 1
        if day not in self.by_day:
            self.by_day[day] = {}
            for pid in self._pids.values():
                Path(f"/proc/{pid}/clear_refs").write_text("5")
        used: Any = self._state.info("memory")
        seen = {"data": used["used_memory_peak"] / 2**20}
        seen |= {name: _high_water(pid) for name, pid in self._pids.items()}
        peaks = self.by_day[day]
        for name, amount in seen.items():
            peaks[name] = max(peaks.get(name, 0.0), amount)

    def growth(self, name: str, last: int) -> float:
        """Return the ratio of the last day's peak to that of day `COMPARED`."""
        return self.by_day[last][name] / self.by_day[min(COMPARED, last)][name]


def _high_water(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def report(
    agents: int = 200,
    days: int = 7,
    seed: int = 0,
    *,
    every: Annotated[float, "mean seconds between two faults"] = 4.0,
    story: Annotated[bool, "the story instead of a town"] = False,
    model: Annotated[bool, "ask a stand-in model, which fails too"] = False,
    data_dir: Annotated[Path | None, "folder in which to keep the run"] = None,
) -> int:
    """Run a world under faults, print the figures and the problems found, and return an exit code."""
    with ExitStack() as resources:
        folder = data_dir or Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="cogitate-")))
        endpoint = resources.enter_context(FakeEndpoint(faults=ENDPOINT_FAULTS, seed=seed)) if model else None
        server = resources.enter_context(EmbeddedServer(folder))
        state = resources.enter_context(server.client())
        assert server.pid is not None
        began = time.monotonic()
        world = ("--story",) if story else ("--town", agents)
        host = _start(folder, world, days, seed, endpoint)
        resources.callback(_end, host)
        peaks = Peaks(host.pid, server.pid, state)
        broker = resources.enter_context(server.client(1))
        faults = Faults(host.pid, RUN, state, broker, Settings(data_dir=folder, redis_url=None), seed, endpoint)
        _strike_until_over(host, state, peaks, faults, every, days * DAY)
        wall = time.monotonic() - began
        total = faults.struck.total()
        who = "the story" if story else f"{agents} agents"
        each = f", one each {wall / total:.1f} s" if total else ""  # without one, the host has failed at once
        print(f"{who}, {days} days, seed {seed}: {wall:.0f} s, {total} faults{each}:")
        for name, count in sorted((faults.struck | faults.by_endpoint()).items()):
            print(f"  {count:>5} {name}")
        found = _wrong(host, state, folder)
        if not host.returncode:
            observed = _observed(state, folder)
            print(_memory_table(peaks, observed), end="\n\n")
            found += _grown(peaks, observed, days)
    print("\n".join(found) or "no faults found")
    return 1 if found else 0


def _start(
    folder: Path, world: tuple[str | int, ...], days: int, seed: int, endpoint: FakeEndpoint | None
) -> subprocess.Popen[bytes]:
    """Start the host the way a user does."""
    arguments = ["run", "--run", RUN, *world, "--days", days, "--seed", seed, "--data-dir", folder]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "OPENAI_"))}
    environment |= SETTINGS
    if endpoint is not None:
        arguments += ["--llm", "openai", "--limit-tokens", 10**9]
        environment |= {"COGITATE_BASE_URL": endpoint.url, "COGITATE_API_KEY": "any"}
    with (folder / "host.log").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "cogitate.ops", *map(str, arguments)], env=environment, stdout=out, stderr=out
        )


def _end(host: subprocess.Popen[bytes]) -> None:
    host.kill()
    host.wait()


def _strike_until_over(
    host: subprocess.Popen[bytes], state: Redis, peaks: Peaks, faults: Faults, every: float, last: int
) -> None:
    next_fault = time.monotonic() + faults.pause(every)
    while host.poll() is None:
        time.sleep(LOOK_EVERY)  # between two samples of memory, and until the next fault
        try:
            tick = _tick(state)
            if 0 < tick < last:
                peaks.look(tick)
                if time.monotonic() >= next_fault and faults.strike():
                    next_fault = time.monotonic() + faults.pause(every)
        except (RedisError, OSError):
            continue  # the fault hit this client too, or the host has just exited


def _tick(state: Redis) -> int:
    try:
        return RunStore.open(state, RUN).tick()
    except RunMissing:
        return 0


def _observed(state: Redis, folder: Path) -> Counter[int]:
    """Count the observations of each game day in the part of the journal that can be read."""
    counts: Counter[int] = Counter()
    with suppress(JournalError):  # the replay has reported it
        for line in all_lines(state, folder, RUN):
            counts[line.core.minute // DAY + 1] += len(line.core.observed)
    return counts


def _memory_table(peaks: Peaks, observed: Counter[int]) -> Table:
    columns = ("host", "server", "data")
    rows = tuple(
        Row(f"day {day}", (*(found.get(name) for name in columns), observed[day]))
        for day, found in sorted(peaks.by_day.items())
    )
    return Table(
        "Peak memory by game day",
        (*columns, "observations"),
        rows,
        note="MiB: both processes, and the peak of the server's data until then.",
        decimals=1,
    )


def _wrong(host: subprocess.Popen[bytes], state: Redis, folder: Path) -> list[str]:
    said = (folder / "host.log").read_text(errors="replace")
    if host.returncode:
        return [f"the host exited with {host.returncode}: {said[-2000:]}"]
    found = [f"audit: {finding}" for finding in audit(state, RUN)]
    if "worker.given_up" in said:
        found.append("a worker was abandoned, so the results after that mean little")
    exported = exported_journal(state, folder, RUN)
    try:
        for archive in (None, exported):
            with scratch() as empty:
                print(_format_replay(replay(state, RUN, empty, archive)))
    except JournalError as error:
        found.append(f"replay: {error}")
    summary = summarise_run(state, RUN)
    lines = RunStore.open(state, RUN).length("journal")
    size = sum(file.stat().st_size for file in exported.folder.iterdir()) if exported.folder.is_dir() else 0
    print(f"journal: {lines} lines kept, {summary.trimmed} exported in {size / 2**20:.0f} MiB")
    return found


def _grown(peaks: Peaks, observed: Counter[int], days: int) -> list[str]:
    found = []
    if days > COMPARED:
        print(f"observations: day {days} {observed[days] / observed[COMPARED]:.3f} times day {COMPARED}")
        for name in ("host", "server", "data"):
            growth = peaks.growth(name, days)
            print(f"{name}: day {days} at most {growth:.3f} times day {COMPARED}")
            if growth > MOST_GROWTH:
                found.append(f"memory of {name} has grown to {growth:.3f} times that of day {COMPARED}")
    return found


def _format_replay(rebuilt: Replayed) -> str:
    return f"replayed from tick {rebuilt.first} to {rebuilt.ticks}: digest {rebuilt.digest}, {rebuilt.entries} entries"
