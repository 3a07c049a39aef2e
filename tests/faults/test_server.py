"""A server that dies, stalls, loses data, or runs out of memory or disk."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.tick_iterator import Tick
from tests.faults.attacked import AGENTS, MORNING, RUN, Attacked, Eventually, settings_of, warnings_in
from tests.faults.ledger_servers import LedgerServers, also_on_a_cluster

TIMEOUT = 0.5  # seconds; the socket timeout where a server stalls
STALL = float(os.environ.get("COGITATE_STALL", 6 * TIMEOUT))  # seconds; `make chaos` sets twelve
CARRIED = 8  # ticks that the stall lasts


@also_on_a_cluster
def test_a_run_survives_a_server_killed_while_workers_are_busy(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    town.servers.kill()
    eventually(lambda: b"onnection" in town.pool.log_file(1).read_bytes(), "a worker to notice the outage")
    town.until_said(host, "ledger.away")
    town.servers.bring_back()
    endpoint.release()
    town.ends_as(digest, host)
    assert "ledger.back" in town.said(host)


def test_a_host_restarts_its_own_server(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    with Attacked(settings_of(tmp_path, endpoint, workers=0), eventually) as town:
        endpoint.hold()
        host = town.host_of_its_own()
        endpoint.wait_for_request(AGENTS)
        town.servers.kill()
        town.until_said(host, "server.restarted")
        endpoint.release()
        town.ends_as(digest, host)


@also_on_a_cluster
def test_a_run_waits_for_a_stalled_server(
    endpoint: FakeEndpoint,
    tmp_path: Path,
    digest: str,
    eventually: Eventually,
    servers: Callable[[Path], LedgerServers],
) -> None:
    """Stall for longer than a lease: no worker could beat meanwhile, so no attempt counts as lost."""
    settings = settings_of(tmp_path, endpoint, socket_timeout=TIMEOUT, lease=STALL / 2)
    with Attacked(settings, eventually, servers) as town:
        town.ready()
        endpoint.hold()
        host = town.host()
        endpoint.wait_for_request(AGENTS)
        town.servers.freeze()
        time.sleep(STALL)  # the fault itself: the server is silent for this long
        town.servers.thaw()
        town.until_said(host, "ledger.away")
        endpoint.release()
        town.ends_as(digest, host)
        assert town.attempts() == 1


def test_a_host_set_to_carry_on_ticks_through_a_stall(
    endpoint: FakeEndpoint, tmp_path: Path, eventually: Eventually, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stall the server for several ticks: a call without a timeout would block the host for ever."""
    settings = settings_of(tmp_path, endpoint, socket_timeout=TIMEOUT, on_outage="carry_on", wait=0.0)
    with Attacked(settings, eventually) as town:
        town.ready()
        endpoint.hold()
        stood: list[int] = []

        def attack(tick: Tick) -> None:
            if tick.number == MORNING + 1:
                endpoint.wait_for_request(AGENTS)
                stood.append(town.tick())
                town.servers.freeze()
            elif MORNING + 1 < tick.number <= MORNING + CARRIED:
                time.sleep(STALL / CARRIED)  # a slow world: its turns take as long as the stall
            elif tick.number == MORNING + 1 + CARRIED:
                town.servers.thaw()
                endpoint.release()
                eventually(lambda: "ledger-probe" not in {thread.name for thread in threading.enumerate()}, "the probe")

        town.live_here(attack)
        assert stood == [MORNING]
        ends = town.endings()
        assert {ended.reason for _, ended, _ in ends} <= {"none", "late", "denied"}
        assert {ended.reason for _, ended, _ in ends if ended.key.kind == "plan"} == {"late"}
        refused = {line.core.tick for line in town.lines() for one in line.core.decided if one.refused == "away"}
        stalled = set(range(MORNING + 1, MORNING + CARRIED + 1))
        assert refused & stalled
        outages = capsys.readouterr().out.count("ledger.away")  # a busy machine may cause a second one
        assert refused <= stalled or outages > 1
        town.proven()


@also_on_a_cluster
def test_a_run_survives_a_server_out_of_memory(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    ledger, *_ = town.servers.each()
    ledger.config_set("maxmemory", "1mb")
    town.until_said(host, "ledger.away")
    endpoint.release()
    ledger.config_set("maxmemory", 0)
    town.ends_as(digest, host)


def test_a_full_disk_stops_the_host_and_the_run_resumes(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    """Let the append-only file not grow at all. The server writes before it answers, so it cannot continue."""
    settings = settings_of(tmp_path, endpoint, workers=0, outage_wait=2.0)
    with Attacked(settings, eventually) as town:
        endpoint.hold()
        host = town.host_of_its_own()
        endpoint.wait_for_request(AGENTS)
        (file,) = (settings.data_dir / "appendonlydir").glob("*.incr.aof")
        for pid in (host.pid, town.server_pid()):  # a server that the host restarts inherits its limit
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (file.stat().st_size, resource.RLIM_INFINITY))
        said, code = town.outcome(host)
        assert code == 1
        assert "File too large" in said
        assert ["Redis stopped answering and was not back" in line for line in warnings_in(said)[-1:]] == [True], said
        with contextlib.suppress(ProcessLookupError):  # make room again, also for a server that was restarted last
            resource.prlimit(town.server_pid(), resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        endpoint.release()
        town.ends_as(digest, town.host_of_its_own(resume=True))


@also_on_a_cluster
def test_settlements_lost_in_a_restart_are_sent_again(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    """Return the ledger to its state before the results arrived: workers settle again without another call."""
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    os.kill(host.pid, signal.SIGSTOP)  # it must not get ahead of the state that the server falls back to
    town.servers.keep_copy()
    endpoint.release()
    staged = RunStore.open(town.state, RUN).key("staged")
    eventually(lambda: town.state.scard(staged) == AGENTS, "all results to arrive")
    asked = endpoint.stats().requests
    (worker,) = town.pool.pids()
    os.kill(worker, signal.SIGSTOP)  # it must not settle again before the loss is checked
    town.servers.fall_back()
    assert town.state.scard(staged) == 0
    os.kill(worker, signal.SIGCONT)
    eventually(lambda: town.state.scard(staged) == AGENTS, "all results to arrive again")
    assert endpoint.stats().requests == asked
    os.kill(host.pid, signal.SIGCONT)
    town.ends_as(digest, host)
    assert town.attempts() == 1
