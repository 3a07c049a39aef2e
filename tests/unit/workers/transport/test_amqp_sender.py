"""The sender to RabbitMQ, on connections that break."""

from __future__ import annotations

from threading import Event

import pytest
from amqp.exceptions import AccessRefused

from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.transport import amqp_sender
from cogitate.workers.transport.amqp_sender import AmqpSender
from tests.patience import LONGEST


class Breaking:
    """A connection that breaks as soon as a channel is opened on it."""

    def __init__(self, error: Exception) -> None:
        self.collected = Event()
        self._error = error

    def channel(self) -> object:
        raise self._error

    def collect(self) -> None:
        self.collected.set()


@pytest.mark.parametrize("error", [ConnectionResetError(), AccessRefused()])
def test_a_connection_that_breaks_before_it_declares_the_queues_is_closed(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    connection = Breaking(error)
    monkeypatch.setattr(amqp_sender, "connect_amqp", lambda url, timeout: connection)
    key = JobKey(420, "plan", "agent:ada", 0, 0)
    sender = AmqpSender("amqp://localhost:1//", kinds=["plan"], share=1, timeout=0.1)
    sender.send([Job(run="town", key=key, minute=420, due=425, reads=(), reserved=Cost(), model="")], lambda *_: "")
    assert connection.collected.wait(LONGEST)
    sender.close()
