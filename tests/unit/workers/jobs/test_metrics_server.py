"""What a host or worker answers at its metrics port: metrics, two probes, and nothing else."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from fakeredis import FakeRedis, FakeServer
from prometheus_client import CollectorRegistry, Gauge

from cogitate.workers.jobs.metrics import application, start_server
from tests.patience import LONGEST


class Served:
    """A server on a free port, and the Redis whose state it tells."""

    def __init__(self) -> None:
        self.redis = FakeServer()
        registry = CollectorRegistry()
        Gauge("seen", "Once.", registry=registry).set(7)
        self.server = start_server(0, "127.0.0.1", application(registry, FakeRedis(server=self.redis)))

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.server.server_port}{path}", timeout=LONGEST) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_only_the_metrics_path_serves_metrics(served: Served) -> None:
    status, text = served.get("/metrics")
    assert (status, "seen 7.0" in text) == (200, True)
    for path in ("/", "/metric", "/metrics/more", "/healthz/", "/favicon.ico"):
        status, text = served.get(path)
        assert (status, "seen" in text) == (404, False), path


def test_probes_say_whether_redis_answers_and_only_readiness_depends_on_it(served: Served) -> None:
    for path in ("/healthz", "/readyz"):
        status, text = served.get(path)
        assert (status, json.loads(text)) == (200, {"redis": "answers"})
    served.redis.connected = False
    for path, expected in (("/healthz", 200), ("/readyz", 503)):
        status, text = served.get(path)
        assert (status, json.loads(text)) == (expected, {"redis": "does not answer: ConnectionError"})


def test_requests_are_served_by_a_named_thread_and_written_nowhere(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    served.get("/metrics")
    served.get("/nowhere")
    assert capfd.readouterr() == ("", "")
    found = [thread for thread in threading.enumerate() if thread.name == "metrics"]
    assert found
    assert all(thread.daemon for thread in found)
