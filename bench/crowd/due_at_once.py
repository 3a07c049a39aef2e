"""Measure a host's cost when many agents are due in one tick: publishing a job for each, and receiving the results.

Other systems' hosts publish the way their users do, and poll each result once all are ready. In our first row a host
requests a job that does nothing for each agent and runs the ticks until they are due; that includes admission, the
ledger's commit and applying the results, which only our host does. Workers do the jobs in between. These figures are
CPU of the host's process, after a full garbage collection. The last rows are the slowest tick of the host of
`bench.crowd.host` on its morning, when heuristics make all plans: CPU of its thread. All take turns, so that a busy
machine slows all of them.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.crowd import host, idle_kind
from bench.peers.celery_queue import CeleryQueue
from bench.peers.queue import Queue, open_queues, queue_environment
from bench.table import Row, Table
from bench.worker.concurrency import running_worker, until
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment

AGENTS = 1_000
ROUNDS = 3
LATENCY = 3  # ticks until our jobs are due
BASE = "Celery: apply_async, ready"
MARK = "taken"  # the key that a worker sets after all jobs


class Paid(NamedTuple):
    """Milliseconds of CPU for publishing, for receiving the results, and in total."""

    published: float | None
    taken: float | None
    together: float


def _paid(publish: Callable[[], object], done: Callable[[], None], take: Callable[[], object]) -> Paid:
    """Return the cost of `publish` and of `take`; the jobs are done in between."""
    published = _milliseconds(publish)
    done()
    taken = _milliseconds(take)
    return Paid(published, taken, published + taken)


def _milliseconds(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


def table(agents: int = AGENTS, rounds: int = ROUNDS) -> Table:
    """Return the cost of this many due agents in each system, and its ratio to plain Celery's."""
    paid: defaultdict[str, list[Paid]] = defaultdict(list)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer(folder))
        ways = _peers(folder, server, agents, stack)
        ways["ours: jobs that do nothing"] = _ours(folder, server, agents, stack)
        for block in ways.values():
            block()  # opens connections, and workers load what they need
        begin = host.MORNING - host.BEFORE
        ways["ours: plans, all at once"] = lambda: _slowest(
            host.lived(agents, 0, begin, host.BEFORE + 15, rate=host.RATE)
        )
        ways["ours: plans, spread"] = lambda: _slowest(
            host.lived(agents, 0, begin, host.BEFORE + 135, rate=host.RATE, spread=None)
        )
        for _ in range(rounds):
            for name, block in ways.items():
                paid[name].append(block())
    rows = []
    for name, costs in paid.items():
        ratios = [base.together / cost.together for base, cost in zip(paid[BASE], costs, strict=True)]
        parts = (_median([cost[part] for cost in costs]) for part in range(len(Paid._fields)))
        rows.append(Row(name, (*parts, median(ratios), min(ratios), max(ratios))))
    columns = ("published, ms", "results, ms", "together", "times less than Celery", "least", "most")
    note = f"CPU of the host; medians of {rounds} rounds."
    return Table(f"{agents:,} agents due in one tick", columns, tuple(rows), note, decimals=1)


def _median(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return median(known) if known else None


def _slowest(ticks: list[float]) -> Paid:
    return Paid(None, None, max(ticks[host.BEFORE - 5 :]))


def _peers(folder: Path, server: EmbeddedServer, agents: int, stack: ExitStack) -> dict[str, Callable[[], Paid]]:
    """Start the workers of other systems, and return functions that measure their hosts, by name."""
    url = server.url.replace("db=0", "db=2")
    client = stack.enter_context(server.client(2))
    client.config_set("appendfsync", "everysec")  # otherwise each of their messages would wait for the disk
    queues: dict[str, Queue] = {BASE: stack.enter_context(closing(CeleryQueue(url, results=True)))}
    for peer, queue in stack.enter_context(open_queues(url, results=True)).items():
        queues[f"{peer.name}: {peer.way}"] = queue

    def way(number: int, queue: Queue) -> Callable[[], Paid]:
        log = folder / f"{number}.log"
        environment = queue_environment(url, results=True)
        stack.enter_context(running_worker([sys.executable, *queue.worker], environment, log))
        ids = [f"plan of agent {number}" for number in range(agents)]

        def done() -> None:
            queue.mark(MARK)
            until(lambda: bool(client.delete(MARK)), log)
            until(lambda: queue.results() == agents, log)  # the last ones may still be on their way

        return lambda: _paid(lambda: queue.publish(ids), done, queue.results)

    return {name: way(number, queue) for number, (name, queue) in enumerate(queues.items())}


def _ours(folder: Path, server: EmbeddedServer, agents: int, stack: ExitStack) -> Callable[[], Paid]:
    """Open a run with one worker, and return a function that measures its host."""
    settings = PinnedSettings(
        data_dir=folder,
        redis_url=server.url,
        workers=0,
        limits={},
        kinds=(idle_kind.__name__,),
        act_interval=0,
        repair_from=1440,
        latency={idle_kind.NAME: LATENCY},
    )
    owners = {f"agent:a{number}": Profile(name=f"Ann{number}") for number in range(agents)}
    loop = stack.enter_context(TickLoop(run="due", owners=owners, settings=settings))
    log = folder / "ours.log"
    environment = worker_environment(settings) | {"PYTHONPATH": str(Path(__file__).parents[2])}
    stack.enter_context(running_worker(worker_command("ours@%h"), environment, log))
    state = stack.enter_context(server.client(0))
    staged = loop.ledger.store.key("staged")
    with loop.next_tick():  # all owners join
        pass

    def request() -> None:
        with loop.next_tick():
            for owner in loop.state.streams:
                loop.request(idle_kind.NAME, owner)

    def done() -> None:
        if len(loop.state.open) != agents:
            raise RuntimeError(f"{len(loop.state.open)} jobs are open, not {agents}")
        until(lambda: state.scard(staged) == agents, log)

    def live_on() -> None:
        while loop.state.open:
            with loop.next_tick():
                pass

    return lambda: _paid(request, done, live_on)
