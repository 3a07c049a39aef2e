"""Hosts that are fenced, and hosts and workers that signals stop."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.workers.processes.supervisor import MODULE
from tests.faults.attacked import AGENTS, Attacked, Eventually, settings_of, warnings_in
from tests.faults.ledger_servers import also_on_a_cluster


@also_on_a_cluster
def test_a_host_that_wakes_after_a_takeover_is_fenced(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    first = town.host()
    endpoint.wait_for_request(3)
    os.kill(first.pid, signal.SIGSTOP)
    second = town.host(take_over=True)
    endpoint.release()
    town.ends_as(digest, second)
    os.kill(first.pid, signal.SIGCONT)
    said, code = town.outcome(first)
    assert code == 1
    assert ["another host has taken it" in line for line in warnings_in(said)] == [True], said
    assert "--resume" not in said, "resuming would take the run from its new host"
    town.is_over(digest)


def test_a_second_signal_leaves_a_resumable_run(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    host.send_signal(signal.SIGTERM)
    town.until_said(host, "stopping after this tick")
    host.send_signal(signal.SIGTERM)
    said, code = town.outcome(host)
    assert code == 143
    assert "--resume" in said
    endpoint.release()
    town.ends_as(digest, town.host(resume=True))


def test_a_worker_command_finishes_its_jobs_on_one_signal_and_stops_at_once_on_two(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    with Attacked(settings_of(tmp_path, endpoint, workers=0), eventually) as town:
        endpoint.hold()
        host, first = town.host(), town.start("worker")
        endpoint.wait_for_request(AGENTS)
        os.kill(worker_of(first), signal.SIGKILL)
        town.until_said(first, "worker.restarted")
        endpoint.wait_for_request(2 * AGENTS)
        first.send_signal(signal.SIGINT)
        town.until_said(first, "stopping after the running jobs; press Ctrl-C again to stop at once")
        endpoint.release()
        assert town.outcome(first)[1] == 0, "it has finished its running jobs"
        asked = endpoint.stats().requests
        endpoint.hold()
        second = town.start("worker")
        endpoint.wait_for_request(asked + 1)
        second.send_signal(signal.SIGTERM)
        town.until_said(second, "stopping after the running jobs")
        second.send_signal(signal.SIGTERM)
        assert town.outcome(second)[1] == 143, "it has stopped at once"
        endpoint.release()
        town.start("worker")
        town.ends_as(digest, host)
        assert town.attempts() == 2


def worker_of(process: subprocess.Popen[bytes]) -> int:
    """Return the process id of the one worker that a process has started from any of its threads."""
    children = [
        int(pid) for task in Path(f"/proc/{process.pid}/task").glob("*/children") for pid in task.read_text().split()
    ]
    (worker,) = [pid for pid in children if MODULE in Path(f"/proc/{pid}/cmdline").read_text()]
    return worker
