"""A broker that is down, dies before it confirms, or loses a queue receives its hints again."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from cogitate import Settings
from cogitate.workers.publish import Publisher
from cogitate.workers.transport.amqp_connection import count_waiting
from tests.integration.workers.rabbitmq.rabbitmq_case import await_confirms, hinted, job
from tests.patience import LONGEST, wait_until
from tests.rabbitmq import RabbitMQ

pytestmark = pytest.mark.system


def test_a_broker_that_is_down_is_logged_once_and_gets_its_hints_later(settings: Settings) -> None:
    with RabbitMQ() as broker:
        publisher = publisher_to(broker, settings)
        with capture_logs() as logs:
            broker.kill()
            publisher.publish([job("act", due=424), job()])
            wait_until(lambda: len(hints_of(logs)) >= 2, "two attempts to fail")
            publisher.publish([job("prune", tick=425, due=430)])  # its tick shows that the act's due tick has passed
            broker.start()
            await_confirms(publisher)
        publisher.close()
        levels = [level for event, level in hints_of(logs) if event == "failed"]
        assert levels[:2] == ["warning", "debug"]
        assert hints_of(logs)[-1] == ("restored", "info")
        found = {kind: hinted(broker, kind) for kind in ("plan", "prune", "act")}
        kept = "earlier"
        assert found == {"plan": {kept, "isabella"}, "prune": {kept, "isabella"}, "act": {kept}}


def publisher_to(broker: RabbitMQ, settings: Settings) -> Publisher:
    """Return a publisher to a separate broker that has confirmed a hint in each queue that these tests use.

    If RabbitMQ is killed soon after it made a queue, the queue may have no leader after the restart, and RabbitMQ
    confirms no message to it.
    """
    # A short timeout for quick retries, since a broker that has just started may confirm nothing for a moment.
    own = {"broker_url": SecretStr(broker.url), "socket_timeout": 2.0}
    publisher = Publisher(settings.model_copy(update=own))
    publisher.publish([job(kind, "agent:earlier") for kind in ("plan", "prune", "act")])
    await_confirms(publisher)
    return publisher


def hints_of(logs: list[Any]) -> list[tuple[str, str]]:
    """Return the log events of hints with their levels."""
    found = [(entry["event"], entry["log_level"]) for entry in logs if entry["event"].startswith("hint.")]
    return [(event.removeprefix("hint."), level) for event, level in found]


def test_a_broker_that_dies_before_it_confirms_gets_the_hints_again(settings: Settings) -> None:
    with RabbitMQ() as broker:
        publisher = publisher_to(broker, settings)
        with capture_logs() as logs:
            broker.freeze()
            publisher.publish([job(owner=f"agent:{number}") for number in range(3)])
            assert not publisher.await_confirms(0.1)
            broker.kill()
            wait_until(lambda: hints_of(logs), "the connection to break")
            broker.start()
            await_confirms(publisher)
        publisher.close()
        assert hinted(broker, "plan") == {"earlier", "0", "1", "2"}


def test_a_broker_out_of_memory_confirms_once_it_has_memory(settings: Settings) -> None:
    with RabbitMQ() as broker:
        publisher = publisher_to(broker, settings)
        broker.limit_memory("0.000001")
        wait_until(lambda: broker.ask("nodes")[0].get("mem_alarm"), "the alarm")
        with capture_logs() as logs:
            jobs = [job(owner=f"agent:{number}") for number in range(1_000)]
            for start in range(0, len(jobs), 100):
                publisher.publish(jobs[start : start + 100])
            wait_until(lambda: len(hints_of(logs)) == 2, "two timeouts without a confirm")
            errors = {entry["error"] for entry in logs if entry["event"] == "hint.failed"}
            assert errors == {"Blocked"}, "the connection is kept, since hints on a new one would arrive twice"
            broker.limit_memory("0.9")
            await_confirms(publisher)
        assert ("restored", "info") in hints_of(logs)
        publisher.close()
        assert hinted(broker, "plan", "now", "later") == {"earlier", *(str(number) for number in range(1_000))}


def test_a_publisher_closes_while_its_broker_is_down(settings: Settings) -> None:
    away = settings.model_copy(update={"broker_url": SecretStr("amqp://guest:guest@127.0.0.1:1//")})
    publisher = Publisher(away)
    with capture_logs() as logs:
        publisher.publish([job()])
        wait_until(lambda: hints_of(logs), "the missing broker to be noticed")
        publisher.close()  # must not wait for the broker, which would take the test's whole timeout
    wait_until(lambda: "hints" not in {thread.name for thread in threading.enumerate()}, "its thread to end")


def test_a_hint_whose_queue_is_gone_is_sent_again_to_a_new_queue(settings: Settings, rabbitmq: RabbitMQ) -> None:
    publisher = Publisher(settings)
    publisher.publish([job()])
    await_confirms(publisher)
    rabbitmq.ask("queues/%2F/cogitate.plan.now", "DELETE")
    with capture_logs() as logs:
        publisher.publish([job(), job("reflect")])
        await_confirms(publisher)
    assert [entry["error"] for entry in logs if entry["event"] == "hint.failed"] == ["MessageNacked"]
    publisher.close()
    assert count_waiting(rabbitmq.url, LONGEST, ["plan", "reflect"]) == {"plan": 1, "reflect": 1}
