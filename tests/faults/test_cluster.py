"""Runs on a real cluster or on servers watched by a Sentinel: a primary fails mid-run, with and without data loss."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.errors import RunRolledBack
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import WorkerPool
from tests.faults.attacked import AGENTS, MORNING, RUN, live, proven, settings_of, undisturbed
from tests.redis_cluster import Cluster, Watched

RUNS = [f"town-{number}" for number in range(8)]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Yield three primaries, each with a replica."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def settings(cluster: Cluster, endpoint: FakeEndpoint, tmp_path: Path) -> Iterator[Settings]:
    """Yield settings of runs on the cluster, with a running worker and a separate broker."""
    with at_work(cluster.url, endpoint, tmp_path) as settings:
        yield settings


@contextmanager
def at_work(url: str, endpoint: FakeEndpoint, tmp_path: Path) -> Iterator[Settings]:
    """Start a broker and a worker for a ledger at a URL, and yield the settings of its runs."""
    chosen = settings_of(tmp_path, endpoint, workers=0, concurrency=AGENTS * len(RUNS))
    with EmbeddedServer(chosen.data_dir) as broker, ExitStack() as resources:
        urls = {"redis_url": SecretStr(url), "broker_url": SecretStr(f"{broker.url[:-1]}1")}
        chosen = chosen.model_copy(update=urls)
        resources.enter_context(WorkerPool(chosen, 1))
        yield chosen


def test_a_failover_that_loses_ticks_stops_the_host_and_the_run_resumes(
    cluster: Cluster, settings: Settings, endpoint: FakeEndpoint
) -> None:
    home = cluster.node_of(f"{{{RUN}}}")

    def fail_over_behind(tick: Tick) -> None:
        if tick.number == MORNING:
            cluster.cut_off_replica(home)
        if tick.number == MORNING + 4:
            cluster.fail_over(home)

    with connect(cluster.url, settings.socket_timeout) as state:
        with pytest.raises(RunRolledBack, match=f"it is at tick {MORNING - 1}, this host is at tick {MORNING + 3}"):
            live(settings, fail_over_behind)
        assert live(settings, exist="resume") == proven(state) == undisturbed(settings)


def test_eight_runs_survive_the_failover_of_a_primary(
    cluster: Cluster, settings: Settings, endpoint: FakeEndpoint
) -> None:
    with connect(cluster.url, settings.socket_timeout) as state:
        homes = [cluster.node_of(f"{{{run}}}") for run in RUNS]
        assert set(homes) == {0, 1, 2}
        endpoint.hold()
        with ThreadPoolExecutor(len(RUNS)) as hosts:
            digests = [hosts.submit(live, settings, run=run) for run in RUNS]
            endpoint.wait_for_request(AGENTS * len(RUNS))
            cluster.fail_over(homes[0])
            endpoint.release()
            found = [digest.result() for digest in digests]
        assert found == [proven(state, run) for run in RUNS]
    assert found == [undisturbed(settings, run) for run in RUNS]


def test_a_run_survives_a_primary_that_stalls_for_ever(
    cluster: Cluster, settings: Settings, endpoint: FakeEndpoint
) -> None:
    home = cluster.node_of(f"{{{RUN}}}")
    endpoint.hold()
    with ThreadPoolExecutor(1) as hosts, connect(cluster.url, settings.socket_timeout) as state:
        digest = hosts.submit(live, settings)
        endpoint.wait_for_request(AGENTS)
        cluster.primaries[home].stall()
        cluster.wait_taken_over(home)
        endpoint.release()
        assert digest.result() == proven(state) == undisturbed(settings)


def test_a_run_survives_a_failover_by_sentinel(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    with Watched() as watched, at_work(watched.url, endpoint, tmp_path) as settings:
        endpoint.hold()
        with ThreadPoolExecutor(1) as hosts:
            digest = hosts.submit(live, settings)
            endpoint.wait_for_request(AGENTS)
            watched.fail_over()
            endpoint.release()
            found = digest.result()
        with connect(watched.url, settings.socket_timeout) as state:
            assert found == proven(state) == undisturbed(settings)
