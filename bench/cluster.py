"""Measure a tick on a cluster of three primaries with replicas beside one on a single server, both on loopback.

Two hosts of the same crowd take turns, tick by tick, so that a busy machine slows both. Each tick has observations.
Some ticks make jobs due, which the hosts compute themselves, since there is no worker. The single server runs the same
program. No server writes to a disk.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from bench.table import Row, Table, percentile
from cogitate import Observation, Profile, TickLoop
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.redis_cluster import Cluster, Node

AGENTS, SEEN = 100, 10  # observations in a tick
FIRST, WARM = 360, 50  # minute of the first tick; ticks that are not counted
_DEEDS = ("sweeps the yard", "reads a letter", "waters the beans", "mends a fence", "hums a tune")


def table(ticks: int = 1_000) -> Table:
    """Return the milliseconds of a tick on either, by the clock and of CPU."""
    with ExitStack() as resources:
        folder = Path(resources.enter_context(TemporaryDirectory()))
        single = Node(folder / "single", cluster=False)
        single.start()
        resources.callback(single.kill)
        broker = resources.enter_context(EmbeddedServer(folder / "broker"))
        cluster = resources.enter_context(Cluster())
        urls = {"a single server": f"redis://127.0.0.1:{single.port}/0", "a cluster": cluster.url}
        loops = {
            name: resources.enter_context(
                TickLoop(
                    run="crowd",
                    owners={f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(AGENTS)},
                    settings=PinnedSettings.tuned(
                        data_dir=folder / name,
                        redis_url=SecretStr(url),
                        broker_url=SecretStr(broker.url),
                        workers=0,
                        wait=0,
                        limits={},
                    ),
                    ticks=ticks + WARM,
                    start_minute=FIRST,
                )
            )
            for name, url in urls.items()
        }
        taken: dict[str, list[float]] = {name: [] for name in loops}
        used: dict[str, list[float]] = {name: [] for name in loops}
        for tick in range(ticks + WARM):
            for name, loop in sorted(loops.items(), reverse=bool(tick % 2)):
                began, cpu = time.perf_counter(), time.thread_time()
                _live(loop, tick)
                taken[name].append(1000 * (time.perf_counter() - began))
                used[name].append(1000 * (time.thread_time() - cpu))
        assert len({loop.digest for loop in loops.values()}) == 1
    one, other = (
        tuple(percentile(times[WARM:], share) for times in (taken[name], used[name]) for share in (0.5, 0.99))
        for name in loops
    )
    rows = (*map(Row, loops, (one, other)), Row("times", tuple(b / a for a, b in zip(one, other, strict=True))))
    columns = ("median, ms", "99th percentile", "CPU, median, ms", "99th percentile")
    note = f"{AGENTS} agents, {SEEN} observations a tick, {ticks} ticks from {FIRST // 60} o'clock."
    return Table("A tick on a cluster", columns, rows, note, decimals=2)


def _live(loop: TickLoop, number: int) -> None:
    chance = random.Random(number)
    with loop.next_tick() as tick:
        for _ in range(SEEN):
            text = f"Ann{chance.randrange(AGENTS)} {chance.choice(_DEEDS)} at house {chance.randrange(40)}."
            seen = Observation(text=text, minute=tick.minute, importance=chance.randint(1, 6))
            loop.observe(f"agent:a{chance.randrange(AGENTS)}", seen)
