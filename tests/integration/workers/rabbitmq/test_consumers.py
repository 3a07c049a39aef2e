"""The hints that a consumer receives from its queues and passes on."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Iterator
from typing import Any

import amqp
import pytest
from kombu.connection import Connection
from structlog.testing import capture_logs

from cogitate import Settings
from cogitate.workers.transport import amqp_transport, room
from cogitate.workers.transport.amqp_connection import connect_amqp, count_waiting
from cogitate.workers.transport.amqp_transport import AHEAD
from cogitate.workers.transport.lanes import queue_of
from tests.integration.workers.rabbitmq.rabbitmq_case import LANE, job, publish
from tests.patience import LONGEST, wait_until
from tests.rabbitmq import RabbitMQ

pytestmark = pytest.mark.system


class Consumer:
    """A consumer of plans and reflections with a worker's number of slots, driven by the test."""

    def __init__(self, url: str, slots: int) -> None:
        amqp_transport.register()
        self.connection = Connection(url)
        self.channel: Any = self.connection.channel()
        self.got: list[Any] = []
        self.channel.basic_qos(0, slots, False)
        for kind in ("plan", "reflect"):
            self.channel.queue_declare(kind)
            self.channel.basic_consume(kind, f"tag-{kind}", callback=lambda raw: self.got.append(self._opened(raw)))

    def _opened(self, raw: Any) -> Any:
        return self.channel.message_to_python(raw)

    def wait(self, count: int) -> list[str]:
        """Wait until `count` hints have arrived, and return the owners of all so far."""

        def arrived() -> bool:
            self.drain()
            return len(self.got) >= count

        wait_until(arrived, f"{count} hints")
        return self.owners()

    def owners(self) -> list[str]:
        return [message.headers["id"].split("/")[3].removeprefix("agent:") for message in self.got]

    def drain(self) -> None:
        """Receive everything that has arrived."""
        try:
            while True:
                self.connection.drain_events(timeout=0.05)
        except TimeoutError:
            pass


@pytest.fixture
def consumer(rabbitmq: RabbitMQ) -> Iterator[Callable[[int], Consumer]]:
    made: list[Consumer] = []

    def make(slots: int) -> Consumer:
        made.append(Consumer(rabbitmq.url, slots))
        return made[-1]

    yield make
    for one in made:
        one.connection.release()


def test_a_worker_gets_one_hint_per_slot_those_due_first_before_the_others(
    settings: Settings, consumer: Callable[[int], Consumer]
) -> None:
    publish(settings, [job(owner=f"agent:{left}", due=420 + left) for left in (1000, 30, 2, 3, 31)])
    worker = consumer(1)
    assert worker.wait(1) == ["2"]
    worker.drain()
    assert worker.owners() == ["2"], "one slot, one hint"
    for number in range(1, 5):
        worker.got[-1].ack()
        worker.wait(number + 1)
    assert worker.owners() == ["2", "3", "30", "31", "1000"]


def test_only_jobs_that_call_a_model_wait_for_room(
    settings: Settings, consumer: Callable[[int], Consumer], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [0]
    monkeypatch.setattr(room, "_left", lambda: left[0])
    publish(settings, [job(owner="agent:asks"), job(owner="agent:quick", model="")])
    worker = consumer(9)
    assert worker.wait(1) == ["quick"]
    worker.drain()
    assert worker.owners() == ["quick"]
    left[0] = 1
    assert worker.wait(2) == ["quick", "asks"]


def test_hints_that_wait_for_room_are_passed_on_even_if_the_timer_is_lost(
    settings: Settings, consumer: Callable[[int], Consumer], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [0]
    monkeypatch.setattr(room, "_left", lambda: left[0])
    publish(settings, [job()])
    worker = consumer(9)

    def held() -> bool:
        worker.drain()
        return any(worker.channel._held.values())

    wait_until(held, "the hint to be held")
    worker.channel._looks_again = True  # as it remains if the event loop loses its timers
    left[0] = 1
    worker.connection.connection.heartbeat_tick()
    assert worker.owners() == ["isabella"]


def test_the_hints_of_a_gone_worker_go_to_others(settings: Settings, consumer: Callable[[int], Consumer]) -> None:
    publish(settings, [job(owner=f"agent:{number}") for number in range(AHEAD)])
    first = consumer(1)
    first.wait(1)
    first.connection.release()
    assert sorted(consumer(9).wait(AHEAD)) == sorted(str(number) for number in range(AHEAD))


def test_a_canceled_consumer_gets_nothing_further(
    settings: Settings, rabbitmq: RabbitMQ, consumer: Callable[[int], Consumer]
) -> None:
    worker = consumer(9)
    worker.channel.basic_cancel("tag-plan")
    publish(settings, [job(), job("reflect")])
    worker.wait(1)
    worker.drain()
    assert [one.headers["task"] for one in worker.got] == ["reflect"]
    assert count_waiting(rabbitmq.url, LONGEST, ["plan"]) == {"plan": 1}
    assert worker.channel.queue_purge("plan") == 1
    assert count_waiting(rabbitmq.url, LONGEST, ["plan"]) == {"plan": 0}


def test_an_invalid_message_is_dropped_and_logged(settings: Settings, consumer: Callable[[int], Consumer]) -> None:
    worker = consumer(9)
    connection = connect_amqp(settings.messages_url(), LONGEST)
    channel = connection.channel()
    valid: dict[str, Any] = {"content_type": "application/json", "content_encoding": "utf-8"}
    strange = [
        amqp.Message(b"\xff\x00 garbage"),
        amqp.Message("[]", **valid),
        amqp.Message("[]", application_headers={"task": "plan"}, **valid),
        amqp.Message(b2a_base64(b"pickle"), content_type="application/x-python-serialize", content_encoding="binary"),
    ]
    with capture_logs() as logs:
        for message in strange:
            channel.basic_publish(message, routing_key=queue_of("plan", LANE["now"]))
        publish(settings, [job()])
        assert worker.wait(1) == ["isabella"]
    refused = [log for log in logs if log["event"] == "message.refused"]
    assert [log["queue"] for log in refused] == ["plan"] * len(strange)
    connection.collect()
    worker.got[0].ack()
    assert count_waiting(settings.messages_url(), LONGEST, ["plan"]) == {"plan": 0}
