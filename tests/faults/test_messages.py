"""Messages that are lost, doubled or wiped, and connections that are cut: messages are only hints."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.engine.open_jobs import load_open_jobs
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.workers.publish import Publisher
from cogitate.workers.transport.hints import ASKING, tickets_key
from tests.faults.attacked import AGENTS, MORNING, RUN, Attacked, Eventually, settings_of
from tests.faults.ledger_servers import also_on_a_cluster

PLANS = tickets_key("cogitate:plan", ASKING)


def test_a_job_survives_a_worker_killed_with_its_message(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    """Check that a job survives its message, which no record links to the worker that took it.

    The server lets a stopped worker wait for a second at most, so another connection waits in its place.
    """
    with Attacked(settings_of(tmp_path, endpoint), eventually) as town:
        town.ready()
        (worker,) = town.pool.pids()
        taker = town.broker.connection_pool.get_connection()
        left: list[int] = []

        def attack(tick: Tick) -> None:
            if tick.number == MORNING:  # plans are published at the end of this tick
                os.kill(worker, signal.SIGSTOP)
                eventually(lambda: not town.waiting_workers(), "the worker's wait to end")
                taker.send_command("BRPOP", PLANS, 0)
                eventually(town.waiting_workers, "the other connection to wait")
            elif tick.number == MORNING + 1:
                left.extend((town.broker.llen(PLANS), town.broker.hlen("cogitate:unacked")))
                taker.disconnect()
                os.kill(worker, signal.SIGKILL)

        town.live_here(attack)
        assert left == [AGENTS - 1, 0], "one plan's message is neither in its queue nor recorded as taken"
        town.is_over(digest)


@also_on_a_cluster
def test_a_run_survives_killed_connections(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(3)
    for _ in range(2):
        for kind in ("pubsub", "normal"):  # "normal" also closes the worker's other connections
            eventually(lambda kind=kind: town.kill_connections(kind), f"a {kind} connection to kill")
        town.ready()
    endpoint.release()
    town.ends_as(digest, host)


@also_on_a_cluster
def test_a_run_survives_the_loss_of_all_messages(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    town.broker.flushdb()
    endpoint.release()
    town.ends_as(digest, host)


def test_a_message_delivered_twice_runs_its_job_once(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    """Publish the open jobs again: no worker claims a job that is already claimed."""
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    assert town.broker.exists("cogitate:unacked") == 0
    publisher = Publisher(town.settings)
    publisher.publish([item.job for item in load_open_jobs(RunStore.open(town.state, RUN)).values()])
    publisher.close()
    eventually(lambda: town.broker.llen(PLANS) == 0, "the doubled messages to be taken")
    town.ready()
    assert endpoint.stats().requests == AGENTS
    endpoint.release()
    town.ends_as(digest, host)
    assert town.attempts() == 1
