"""Sends hints to RabbitMQ: a thread sends them and reads the confirms, so that no tick waits for RabbitMQ.

The thread keeps a hint until RabbitMQ confirms it. It sends the hint again if RabbitMQ refuses it, has no queue for it,
or the connection breaks, and drops it once the job's due tick is over. While RabbitMQ blocks its publishers, as it does
when it runs out of memory, the thread waits on the same connection: RabbitMQ later reads what a closed connection has
sent as well, so each new connection would add the same hints once more.
"""

from __future__ import annotations

import time
from binascii import a2b_base64
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from threading import Condition, Thread
from typing import Any

import amqp
from amqp.exceptions import MessageNacked
from kombu.utils.json import loads

from cogitate.tasks.job import Job, JobKey
from cogitate.workers.transport.amqp_connection import connect_amqp
from cogitate.workers.transport.hints import Render
from cogitate.workers.transport.lanes import choose_lanes, queue_of
from cogitate.workers.transport.outage_log import OutageLog

PERSISTENT = 2  # the delivery mode of messages that a queue keeps on disk
PAUSE = 1.0  # seconds between a failure and the next connection
LOOK = 0.05  # seconds between two checks for new hints while the thread reads confirms


class AmqpSender:
    """A sender to RabbitMQ.

    Args:
        kinds: the kinds whose lanes to declare.
        share: the run's `worker_share`.
        timeout: seconds for a connection, for a write, and for a confirm.
    """

    def __init__(self, url: str, *, kinds: Sequence[str], share: int, timeout: float) -> None:
        self._url = url
        self._kinds = kinds
        self._share = share
        self._timeout = timeout
        self._connection: _Connection | None = None  # used by the thread only
        self._outage = OutageLog()
        self._changed = Condition()  # guards the fields below
        self._waiting: dict[JobKey, Job] = {}  # jobs whose hints RabbitMQ has not confirmed
        self._added = False  # whether `_waiting` has grown since the thread last took its jobs
        self._tick = 0  # the newest tick of any job so far
        self._closing = False
        self._thread: Thread | None = None

    def send(self, jobs: Sequence[Job], render: Render) -> int:
        """Queue a hint for every job of one run, unless one is on its way; return the number of jobs."""
        with self._changed:
            self._tick = max(self._tick, *(job.key.tick for job in jobs))
            before = len(self._waiting)
            for job in jobs:
                self._waiting.setdefault(job.key, job)
            self._added = self._added or len(self._waiting) > before
            if self._thread is None:
                self._thread = Thread(target=self._serve, args=(render,), name="hints", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return len(jobs)

    def await_confirms(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until RabbitMQ has confirmed every hint; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout)

    def close(self) -> None:
        """Close the connection; unless RabbitMQ is away, first wait for the confirms of hints on their way."""
        waits = not self._outage.away
        if waits:
            self.await_confirms(self._timeout)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if waits and self._thread is not None:
            self._thread.join(self._timeout)

    def _serve(self, render: Render) -> None:
        while not self._closing:
            jobs = self._next()
            try:
                if jobs:
                    self._send(jobs, render)
            except Exception as error:  # a connection that breaks raises errors of many classes
                self._disconnect()
                self._outage.failed(len(jobs), type(error).__name__)
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, PAUSE)
        self._disconnect()

    def _next(self) -> list[Job]:
        """Wait for hints to send, or for `close`; return their jobs, without those whose due tick is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            self._added = False
            self._waiting = {key: job for key, job in self._waiting.items() if job.due >= self._tick}
            self._changed.notify_all()
            return [*self._waiting.values()]

    def _send(self, jobs: Sequence[Job], render: Render) -> None:
        """Send the hints that are not on their way; return once RabbitMQ has confirmed all, or new ones wait."""
        if self._connection is None:
            self._connection = _Connection(self._url, self._kinds, self._timeout, self._confirmed)
        connection = self._connection
        new = [job for job in jobs if job.key not in connection.on_their_way]
        for job, lane in choose_lanes(new, self._tick, self._share):
            if connection.blocked:
                break
            connection.publish(job, queue_of(job.key.kind, lane), render(job, ""))
        self._await_confirms(connection, len(jobs))
        if connection.refused:
            raise MessageNacked  # the next connection declares the queues again
        if not connection.unconfirmed:
            self._outage.taken(len(jobs))

    def _await_confirms(self, connection: _Connection, jobs: int) -> None:
        deadline = time.monotonic() + self._timeout
        while connection.blocked or (connection.unconfirmed and not self._added):
            with suppress(TimeoutError):
                connection.read(LOOK)
            if connection.blocked and not self._closing:
                if time.monotonic() > deadline:
                    deadline += self._timeout
                    self._outage.failed(jobs, "Blocked")
            elif connection.longest_wait() > self._timeout:
                raise TimeoutError

    def _confirmed(self, job: Job) -> None:
        with self._changed:
            self._waiting.pop(job.key, None)
            self._changed.notify_all()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Connection:
    """A connection with a channel in confirm mode. It calls `confirmed` with the job of each confirmed hint."""

    def __init__(self, url: str, kinds: Sequence[str], timeout: float, confirmed: Callable[[Job], None]) -> None:
        self.unconfirmed: dict[int, tuple[Job, float]] = {}  # publishing tag -> job, and when its hint was sent
        self.on_their_way: set[JobKey] = set()  # the keys of these jobs
        self.refused: set[str] = set()  # ids of jobs whose hints RabbitMQ refused or had no queue for
        self.blocked = False  # whether RabbitMQ blocks its publishers at present
        self._sent = 0  # number of messages, which is the tag of the last one
        self._confirmed = confirmed
        self._connection = connect_amqp(url, timeout)
        self._connection.on_blocked = partial(self._block, True)
        self._connection.on_unblocked = partial(self._block, False)
        try:
            self._channel = self._open_channel(kinds)
        except Exception:  # RabbitMQ may take a connection and break it before it declares the queues
            self.close()
            raise

    def _open_channel(self, kinds: Sequence[str]) -> Any:
        channel = self._connection.channel()
        for kind in kinds:
            channel.queue_declare(kind)
        channel.confirm_select()
        channel.events["basic_ack"].add(self._acked)
        channel.events["basic_nack"].add(self._nacked)
        channel.events["basic_return"].add(self._returned)
        return channel

    def publish(self, job: Job, queue: str, text: str) -> None:
        """Send a job's rendered hint to a queue."""
        self._sent += 1
        self.unconfirmed[self._sent] = (job, time.monotonic())
        self.on_their_way.add(job.key)
        self._channel.basic_publish(_message(text), routing_key=queue, mandatory=True)

    def read(self, timeout: float) -> None:
        """Read the next frames from RabbitMQ and handle them.

        Raises:
            TimeoutError: if none arrives for this many seconds.
        """
        self._connection.drain_events(timeout=timeout)

    def longest_wait(self) -> float:
        """Return how many seconds the oldest unconfirmed hint has waited; 0 if there is none."""
        return next((time.monotonic() - sent for _, sent in self.unconfirmed.values()), 0.0)

    def close(self) -> None:
        """Close the connection without waiting for RabbitMQ."""
        self._connection.collect()

    def _block(self, blocked: bool, *_: object) -> None:
        self.blocked = blocked

    def _acked(self, tag: int, multiple: bool) -> None:
        for job in self._settled(tag, multiple):
            if job.id not in self.refused:
                self._confirmed(job)

    def _nacked(self, tag: int, multiple: bool) -> None:
        self.refused.update(job.id for job in self._settled(tag, multiple))

    def _returned(self, _error: object, _exchange: object, _queue: object, message: amqp.Message) -> None:
        """Record that a message's queue does not exist; RabbitMQ confirms the message afterwards nevertheless."""
        self.refused.add(message.headers["id"])

    def _settled(self, tag: int, multiple: bool) -> list[Job]:
        tags = [sent for sent in self.unconfirmed if sent <= tag] if multiple else [tag]
        jobs = [self.unconfirmed.pop(sent)[0] for sent in tags if sent in self.unconfirmed]
        self.on_their_way.difference_update(job.key for job in jobs)
        return jobs


def _message(text: str) -> amqp.Message:
    """Convert a rendered message to AMQP, without the fields that only Redis or a reply needs.

    That omits the correlation id: it is the job's id, which may be longer than AMQP allows.
    """
    rendered = loads(text)
    return amqp.Message(
        a2b_base64(rendered["body"]),
        content_type=rendered["content-type"],
        content_encoding=rendered["content-encoding"],
        application_headers=rendered["headers"],
        delivery_mode=PERSISTENT,
    )
