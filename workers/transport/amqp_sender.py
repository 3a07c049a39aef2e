"""The sender of hints to RabbitMQ: those of a tick together, and then RabbitMQ's confirms of all of them."""

from __future__ import annotations

import time
from binascii import a2b_base64
from collections.abc import Sequence
from typing import Any

import amqp
from amqp.exceptions import AMQPError
from kombu.utils.json import loads

from cogitate.tasks.job import Job
from cogitate.workers.transport.amqp_connection import connect_amqp
from cogitate.workers.transport.hints import Render
from cogitate.workers.transport.lanes import choose_lanes, queue_of

CHUNK = 500  # messages sent before their confirms are read
PERSISTENT = 2  # the delivery mode of what a queue keeps on disk


class AmqpSender:
    """A sender to RabbitMQ.

    Args:
        kinds: the kinds whose lanes it declares.
        share: of the run, as `worker_share`.
        timeout: in seconds, of a connection, a write, and the wait for the confirms of a chunk.
    """

    #: That `send` raises if RabbitMQ is away, refuses, or confirms too late.
    errors: tuple[type[Exception], ...] = (AMQPError, OSError)

    def __init__(self, url: str, *, kinds: Sequence[str], share: int, timeout: float) -> None:
        self._url = url
        self._kinds = kinds
        self._share = share
        self._timeout = timeout
        self._connection: Any = None
        self._channel: Any = None
        self._waiting: set[int] = set()  # publishing tags that RabbitMQ has neither confirmed nor refused
        self._sent = 0  # messages on this channel, the last of which has this tag
        self._lost = 0  # messages that RabbitMQ refused or had no queue for
        self._tick = 0  # the newest tick of which a job was seen

    def send(self, jobs: Sequence[Job], render: Render) -> int:
        """Send a hint for every job, all of one run; return how many RabbitMQ confirmed."""
        self._tick = max(self._tick, *(job.key.tick for job in jobs))
        chosen = list(choose_lanes(jobs, self._tick, self._share))
        self._lost = 0
        try:
            if self._channel is None:
                self._open()
            for start in range(0, len(chosen), CHUNK):
                for job, lane in chosen[start : start + CHUNK]:
                    self._sent += 1
                    self._waiting.add(self._sent)
                    where = queue_of(job.key.kind, lane)
                    self._channel.basic_publish(_message(render(job, "")), routing_key=where, mandatory=True)
                self._await_confirms()
        except BaseException:
            self.close()  # what it has confirmed is unknown from here on
            raise
        if self._lost:
            self.close()  # the next connection declares the queues anew
        return len(jobs) - self._lost

    def close(self) -> None:
        """Close the connection, without waiting for RabbitMQ."""
        connection, self._connection, self._channel = self._connection, None, None
        self._waiting.clear()
        self._sent = 0
        if connection is not None:
            connection.collect()

    def _open(self) -> None:
        self._connection = connect_amqp(self._url, self._timeout)
        channel = self._channel = self._connection.channel()
        for kind in self._kinds:
            channel.queue_declare(kind)
        channel.confirm_select()
        channel.events["basic_ack"].add(self._confirmed)
        channel.events["basic_nack"].add(self._refused)
        channel.events["basic_return"].add(self._returned)

    def _await_confirms(self) -> None:
        deadline = time.monotonic() + self._timeout
        while self._waiting:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("RabbitMQ confirmed nothing in time")
            self._connection.drain_events(timeout=left)

    def _confirmed(self, tag: int, multiple: bool) -> None:
        self._settle(tag, multiple)

    def _refused(self, tag: int, multiple: bool) -> None:
        self._lost += self._settle(tag, multiple)

    def _returned(self, *_: object) -> None:
        self._lost += 1  # there is no such queue; RabbitMQ confirms the message nevertheless

    def _settle(self, tag: int, multiple: bool) -> int:
        settled = {one for one in self._waiting if one <= tag} if multiple else self._waiting & {tag}
        self._waiting -= settled
        return len(settled)


def _message(text: str) -> amqp.Message:
    """Return a rendered message as AMQP carries it, without what only Redis or a reply needs.

    The correlation id, which is the job's id, may be longer than AMQP allows.
    """
    rendered = loads(text)
    return amqp.Message(
        a2b_base64(rendered["body"]),
        content_type=rendered["content-type"],
        content_encoding=rendered["content-encoding"],
        application_headers=rendered["headers"],
        delivery_mode=PERSISTENT,
    )
