"""Hints of a tick on their way to the broker: in which queues, in how many messages, and what Flower shows of them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from redis.exceptions import ConnectionError as Away
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.publish import Publisher, display_args, display_kwargs
from cogitate.workers.telemetry import exporting
from cogitate.workers.telemetry.job_trace import HEADER, trace_of
from cogitate.workers.transport import redis_sender
from cogitate.workers.transport.hints import ASKING, DRAWN, QUICK, check_hint, hints_key, tickets_key

SETTINGS = Settings(redis_url="redis://localhost:1/0", socket_timeout=7.0)


def job(owner: str = "agent:ada", kind: str = "plan", reserved: Cost | None = None, model: str = "") -> Job:
    key = JobKey(420, kind, owner, 0, 0)
    return Job(run="town", key=key, minute=420, due=425, reads=(), reserved=reserved or Cost(), model=model)


class Broker:
    """A broker that answers, or is away as often as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.redis = FakeRedis()
        self.away = 0
        self.how: dict[str, Any] = {}
        self.pushed: list[int] = []
        self.closed = False
        monkeypatch.setattr(redis_sender, "Redis", SimpleNamespace(from_url=self.connect))

    def connect(self, url: str, **how: Any) -> Any:
        self.how = {"url": url, **how}
        return self

    def pipeline(self, *, transaction: bool) -> Any:
        assert not transaction
        if self.away:
            self.away -= 1
            raise Away("away")
        pipe = self.redis.pipeline(transaction=False)
        push = pipe.lpush

        def counted(key: str, *texts: str) -> Any:
            if ":of:" in key:
                self.pushed.append(len(texts))
            return push(key, *texts)

        pipe.lpush = counted
        return pipe

    def close(self) -> None:
        self.closed = True

    def hints(self, kind: str, priority: int = QUICK) -> list[dict[str, Any]]:
        """The messages of a list of a kind's queue, the oldest first."""
        tickets = tickets_key(f"cogitate:{kind}", priority)
        key = hints_key(tickets, "town", 1)
        drawn = [json.loads(ticket) for ticket in self.redis.lrange(tickets, 0, -1)]
        assert [DRAWN[ticket] for ticket in drawn] == [priority] * self.redis.llen(key)  # a ticket for each
        return [json.loads(text) for text in reversed(self.redis.lrange(key, 0, -1))]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    return Broker(monkeypatch)


def test_each_hint_is_in_the_queue_of_its_kind_in_order(broker: Broker) -> None:
    jobs = [job("agent:ada"), job("agent:ben", "reflect"), job("agent:cleo")]
    assert Publisher(SETTINGS).publish(jobs) == 3
    assert [check_hint(hint, "plan") for hint in broker.hints("plan")] == [jobs[0].id, jobs[2].id]
    assert [check_hint(hint, "reflect") for hint in broker.hints("reflect")] == [jobs[1].id]
    tags = [hint["properties"]["delivery_tag"] for kind in ("plan", "reflect") for hint in broker.hints(kind)]
    assert [int(tag[-12:], 16) for tag in tags] == [1, 3, 2]
    assert len({tag[:-12] for tag in tags}) == 1
    assert {len(tag) for tag in tags} == {36}


def test_hints_of_jobs_that_ask_a_model_are_in_a_separate_list(broker: Broker) -> None:
    jobs = [job("agent:ada", model="m"), job("agent:ben"), job("agent:cleo", model="m")]
    assert Publisher(SETTINGS).publish(jobs) == 3
    found = {
        priority: [check_hint(hint, "plan") for hint in broker.hints("plan", priority)] for priority in (QUICK, ASKING)
    }
    assert found == {QUICK: [jobs[1].id], ASKING: [jobs[0].id, jobs[2].id]}


def test_two_ticks_have_no_tag_in_common(broker: Broker) -> None:
    publisher = Publisher(SETTINGS)
    for owner in ("agent:ada", "agent:ben"):
        publisher.publish([job(owner)])
    one, other = (hint["properties"]["delivery_tag"] for hint in broker.hints("plan"))
    assert one != other


def test_a_large_tick_goes_in_chunks_of_500(broker: Broker) -> None:
    assert Publisher(SETTINGS).publish([job(f"agent:a{number}") for number in range(1_001)]) == 1_001
    assert broker.pushed == [500, 500, 1]
    assert len({check_hint(hint, "plan") for hint in broker.hints("plan")}) == 1_001


def test_without_jobs_nothing_is_sent(broker: Broker) -> None:
    broker.away = 1
    assert Publisher(SETTINGS).publish([]) == 0
    assert broker.away == 1


def test_an_absent_broker_is_logged_once_per_outage_and_on_its_return(broker: Broker) -> None:
    publisher = Publisher(SETTINGS)
    accepted, told = [], []
    for away in (2, 0, 0, 0, 1, 0):
        broker.away = away or broker.away
        with capture_logs() as logs:
            accepted.append(publisher.publish([job()]))
        told.append([(log["event"], log["log_level"]) for log in logs])
        assert all((log["jobs"], log.get("error")) == (1, "ConnectionError") for log in logs if not accepted[-1])
    assert accepted == [0, 0, 1, 1, 0, 1]
    failed, still, restored = ("hint.failed", "warning"), ("hint.failed", "debug"), ("hint.restored", "info")
    assert told == [[failed], [still], [restored], [], [failed], [restored]]


def test_a_broker_has_one_timeout_to_answer_and_no_second_try(broker: Broker) -> None:
    publisher = Publisher(SETTINGS)
    assert broker.how["url"] == SETTINGS.messages_url()
    assert (broker.how["socket_timeout"], broker.how["socket_connect_timeout"]) == (7.0, 7.0)
    assert broker.how["retry"].get_retries() == 0
    publisher.close()
    assert broker.closed


@pytest.mark.parametrize(
    ("owner", "reserved", "shown"),
    [
        ("agent:ada", Cost(), "ada · tick 420"),
        ("agent:ada", Cost(calls=1), "ada · tick 420 · ≤ 1 call"),
        ("scope:tavern", Cost(calls=2, tokens=700), "scope:tavern · tick 420 · ≤ 2 calls · ≤ 700 tokens"),
        ("agent:ada", Cost(tokens=9), "ada · tick 420 · ≤ 9 tokens"),
        ("agent:" + "x" * 81, Cost(), "x" * 80 + " · tick 420"),
    ],
)
def test_flower_shows_owner_tick_and_cost(owner: str, reserved: Cost, shown: str) -> None:
    assert display_args(job(owner, reserved=reserved)) == shown
    assert display_kwargs(job(owner)) == "town · due 425"


def test_the_message_carries_flowers_texts(broker: Broker) -> None:
    odd = job('agent:"50%(id)s" é')
    Publisher(SETTINGS).publish([msgspec.structs.replace(odd, reserved=Cost(calls=1))])
    (hint,) = broker.hints("plan")
    headers = hint["headers"]
    assert (headers["argsrepr"], headers["kwargsrepr"]) == ('"50%(id)s" é · tick 420 · ≤ 1 call', "town · due 425")
    assert (headers["id"], check_hint(hint, "plan")) == (odd.id, odd.id)
    assert HEADER not in headers


def test_with_telemetry_the_message_names_its_jobs_trace(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra telemetry is not installed")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    telemetry = exporting.start("cogitate-host")
    assert telemetry is not None
    try:
        telemetry.follow("town", "an-incarnation")
        Publisher(SETTINGS).publish([job("agent:ada"), job("agent:ben")])
    finally:
        exporting.stop()
    for owner, hint in zip(("agent:ada", "agent:ben"), broker.hints("plan"), strict=True):
        check_hint(hint, "plan")
        trace = trace_of("an-incarnation", job(owner).id)
        assert hint["headers"][HEADER] == trace.traceparent(sampled=True)
