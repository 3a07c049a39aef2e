"""A server that dies, stalls, forgets, or has no room left."""

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

TIMEOUT = 0.5  # seconds; of sockets, where a server stalls
STALL = float(os.environ.get("COGITATE_STALL", 6 * TIMEOUT))  # seconds; `make chaos` has it stall for twelve
CARRIED = 8  # ticks of a stall


@also_on_a_cluster
def test_the_server_killed_while_workers_are_busy(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    town.servers.kill()
    eventually(lambda: b"onnection" in town.pool.log_file(1).read_bytes(), "a worker to miss the server")
    town.until_said(host, "ledger.away")
    town.servers.bring_back()
    endpoint.release()
    town.ends_as(digest, host)
    assert "ledger.back" in town.said(host)


def test_a_host_starts_its_own_server_again(
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
def test_a_server_that_stalls_is_waited_for(
    endpoint: FakeEndpoint,
    tmp_path: Path,
    digest: str,
    eventually: Eventually,
    servers: Callable[[Path], LedgerServers],
) -> None:
    """Longer than a lease: nobody could beat meanwhile, so no attempt is taken for lost."""
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


def test_a_host_that_carries_on_is_not_stopped_by_a_stall(
    endpoint: FakeEndpoint, tmp_path: Path, eventually: Eventually, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check that a host carries on while the server stalls: a call without a timeout would wait for ever."""
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
                time.sleep(STALL / CARRIED)  # a world that takes its time: the stall is as long as its turns
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
        outages = capsys.readouterr().out.count("ledger.away")  # a busy machine may make a second one
        assert refused <= stalled or outages > 1
        town.proven()


@also_on_a_cluster
def test_memory_that_is_full_for_a_while(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    ledger, *_ = town.servers.each()
    ledger.config_set("maxmemory", "1mb")
    town.until_said(host, "ledger.away")
    endpoint.release()
    ledger.config_set("maxmemory", 0)
    town.ends_as(digest, host)


def test_a_disk_that_is_full(endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually) -> None:
    """Not one byte more fits into the append-only file. The server writes before it answers, so it cannot go on."""
    settings = settings_of(tmp_path, endpoint, workers=0, outage_wait=2.0)
    with Attacked(settings, eventually) as town:
        endpoint.hold()
        host = town.host_of_its_own()
        endpoint.wait_for_request(AGENTS)
        (file,) = (settings.data_dir / "appendonlydir").glob("*.incr.aof")
        for pid in (host.pid, town.server_pid()):  # what the host starts again has its limit
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (file.stat().st_size, resource.RLIM_INFINITY))
        said, code = town.outcome(host)
        assert code == 1
        assert "File too large" in said
        assert ["Redis stopped answering and was not back" in line for line in warnings_in(said)[-1:]] == [True], said
        with contextlib.suppress(ProcessLookupError):  # there is room again, also for a server that was started last
            resource.prlimit(town.server_pid(), resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        endpoint.release()
        town.ends_as(digest, town.host_of_its_own(resume=True))


@also_on_a_cluster
def test_settlements_lost_in_a_restart_are_repeated(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    """The ledger is as it was before the results arrived: none of them is asked for twice."""
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(AGENTS)
    os.kill(host.pid, signal.SIGSTOP)  # it must not be ahead of what the server will know
    town.servers.keep_copy()
    endpoint.release()
    staged = RunStore.open(town.state, RUN).key("staged")
    eventually(lambda: town.state.scard(staged) == AGENTS, "all results to arrive")
    asked = endpoint.stats().requests
    (worker,) = town.pool.pids()
    os.kill(worker, signal.SIGSTOP)  # it must not settle again before they are seen to be lost
    town.servers.fall_back()
    assert town.state.scard(staged) == 0
    os.kill(worker, signal.SIGCONT)
    eventually(lambda: town.state.scard(staged) == AGENTS, "them to arrive again")
    assert endpoint.stats().requests == asked
    os.kill(host.pid, signal.SIGCONT)
    town.ends_as(digest, host)
    assert town.attempts() == 1
