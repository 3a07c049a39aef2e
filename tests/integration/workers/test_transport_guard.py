"""The guarded Redis transport: a busy worker survives the loss of its broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu.connection import Connection
from kombu.transport import redis as kombu_redis

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Job, JobKey
from cogitate.workers.jobs.model_lane import SPARE
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_environment
from cogitate.workers.publish import Publisher
from cogitate.workers.transport import redis_transport as transport
from cogitate.workers.transport.broker_url import kombu_url


def job(owner: str) -> Job:
    return Job(run="town", key=JobKey(420, "plan", owner, 0, 0), minute=420, due=425, reads=())


def opened_channel(server: EmbeddedServer, cls: type[kombu_redis.Transport]) -> Any:
    """Open a channel on a live server, close its transport as a worker does on losing its broker, and return it."""
    connection = Connection(kombu_url(server.url))
    connection.transport_cls = cls
    channel = connection.channel()
    transport = connection.transport
    connection.collect()
    channel.connection = transport  # a job's acknowledgement still refers to this
    channel._disconnect_pools()
    return channel


def test_the_stock_channel_crashes_on_a_closed_transport(valkey: EmbeddedServer) -> None:
    with pytest.raises(AttributeError, match="hostname"):
        opened_channel(valkey, kombu_redis.Transport).pool  # noqa: B018


def test_the_guarded_channel_reports_a_lost_connection(valkey: EmbeddedServer) -> None:
    channel = opened_channel(valkey, transport.Transport)
    with pytest.raises(redis.ConnectionError, match="was closed"):
        channel.pool  # noqa: B018
    assert issubclass(redis.ConnectionError, transport.Transport.connection_errors)


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost:6379/1",
        "rediss://localhost:6379/1?ssl_cert_reqs=required",
        "redis+socket:///run/valkey.sock?virtual_host=1",
    ],
)
def test_every_scheme_uses_the_guarded_transport_and_keeps_its_name(url: str) -> None:
    transport.register()
    connection = Connection(url)
    assert connection.transport_cls is not None
    assert isinstance(connection.transport, transport.Transport)
    assert connection.as_uri().partition("://")[0] == url.partition("://")[0]


def test_a_busy_worker_survives_the_loss_of_its_broker(tmp_path: Path, eventually: Callable[..., None]) -> None:
    server = EmbeddedServer(tmp_path / "data").start()
    settings = Settings(data_dir=tmp_path / "data", redis_url=server.url, concurrency=2)
    log = tmp_path / "worker.log"
    with log.open("wb") as out:
        worker = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "busy_worker.py"), str(tmp_path)],
            env=worker_environment(settings),
            cwd=tmp_path,
            stdout=out,
            stderr=out,
        )
    publisher = Publisher(settings)
    try:
        # More jobs than threads, so some are prefetched and unacknowledged.
        assert publisher.publish([job(f"agent:{number}") for number in range(6)]) == 6
        slots = settings.concurrency + SPARE
        eventually(lambda: len(list(tmp_path.glob("*.begun"))) == slots, "as many jobs to begin as it has slots")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        eventually(
            lambda: "Connection to broker lost" in log.read_text() or worker.poll() is not None,
            "the loss to be noticed",
        )
        (tmp_path / "release").touch()
        eventually(lambda: "Cannot connect" in log.read_text() or worker.poll() is not None, "the worker to try again")
        server.stop()
        server.start()
        publisher.publish([job("agent:late")])
        eventually(
            (tmp_path / "town-420-plan-agent:late-0-0.ended").exists, f"a job after the loss:\n{log.read_text()}"
        )
        assert worker.poll() is None
    finally:
        publisher.close()
        worker.kill()
        worker.wait()
        server.stop()


def test_a_unix_url_is_translated_for_kombu(valkey: EmbeddedServer) -> None:
    connection = Connection(kombu_url(Settings(redis_url=valkey.url).messages_url()))
    channel = connection.channel()
    with valkey.client(1) as client:
        client.lpush("found", "here")
    assert channel.client.lrange("found", 0, -1) == [b"here"]
    connection.release()
