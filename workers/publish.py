"""Publishes a tick's hints: to Redis in one round trip, or to RabbitMQ in the background.

`Task.apply_async` costs a host 0.6 to 0.8 ms per job, too much at a day boundary with a thousand agents. Here kombu
renders one message per kind in memory, and every hint of that kind is a copy with its own id and display fields. Since
kombu renders the message, its fields stay correct when kombu's settings or version change; a test compares them with
what `apply_async` sends to a real server.

No result depends on publishing: the host repeats hints while their job is open and unclaimed. So an unreachable broker
costs one log line (and, for Redis, at most one socket timeout) and never raises.
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from typing import Protocol

from celery import Celery
from kombu.connection import Connection
from kombu.utils.json import dumps

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import is_amqp_url
from cogitate.tasks.job import Job
from cogitate.workers.celery_app import make_app
from cogitate.workers.telemetry.exporting import started
from cogitate.workers.telemetry.job_trace import HEADER
from cogitate.workers.transport.amqp_sender import AmqpSender
from cogitate.workers.transport.hints import Render
from cogitate.workers.transport.redis_sender import RedisSender

MAX_SHOWN = 80  # characters of an owner in the display fields


def display_args(job: Job) -> str:
    """Return the task's arguments for Flower: owner, tick and upper bounds, never a memory's text."""
    calls = job.reserved.calls
    bounds = [f"≤ {calls} call{'' if calls == 1 else 's'}"] if calls else []
    if job.reserved.tokens:
        bounds.append(f"≤ {job.reserved.tokens} tokens")
    owner = job.key.owner.removeprefix("agent:")[:MAX_SHOWN]
    return " · ".join([owner, f"tick {job.key.tick}", *bounds])


def display_kwargs(job: Job) -> str:
    """Return the task's keywords for Flower: the run and when the result is due."""
    return f"{job.run} · due {job.due}"


class Template:
    """One kind's message, rendered by kombu, with gaps for what differs between two hints."""

    # Each marks one value in the rendered text. Plain letters survive JSON and base64 unchanged.
    _ID, _TAG, _ARGS, _KWARGS = "job-id-gap", "delivery-tag-gap", "args-gap", "kwargs-gap"
    _TRACE = "trace-gap"

    def __init__(self, app: Celery, kind: str, *, traced: bool = False) -> None:
        """Render the message of a kind, with a header for its trace if that is exported."""
        headers = {HEADER: self._TRACE} if traced else None
        with Connection("memory://", transport_options={"polling_interval": 0}) as connection:
            app.tasks[kind].apply_async(
                (self._ID,),
                task_id=self._ID,
                argsrepr=self._ARGS,
                kwargsrepr=self._KWARGS,
                headers=headers,
                connection=connection,
            )
            message = connection.default_channel._get(kind)
        body = a2b_base64(message["body"]).decode()
        self._body = body.split(self._ID)
        message["body"] = "body-gap"
        message["properties"]["delivery_tag"] = self._TAG
        # The envelope becomes one %-format; everything but the gaps is literal.
        text: str = dumps(message).replace("%", "%%")
        text = text.replace(f'"{self._ID}"', "%(id)s").replace(f'"{self._ARGS}"', "%(args)s")
        text = text.replace(f'"{self._KWARGS}"', "%(kwargs)s")
        self._envelope = text.replace("body-gap", "%(body)s").replace(self._TAG, "%(tag)s")
        self._envelope = self._envelope.replace(self._TRACE, "%(trace)s")

    def render(self, job: Job, tag: str, trace: str = "") -> str:
        """Return the message of one job.

        Args:
            tag: its delivery tag, a unique UUID.
            trace: the header of its trace, if the template has one.
        """
        job_id = json.dumps(job.id)
        return self._envelope % {
            "id": job_id,
            "args": json.dumps(display_args(job)),
            "kwargs": json.dumps(display_kwargs(job)),
            "body": b2a_base64(job_id[1:-1].join(self._body).encode(), newline=False).decode(),
            "tag": tag,
            "trace": trace,
        }


def queue_key(app: Celery, kind: str) -> str:
    """Return the broker's key of a kind's queue."""
    prefix: str = app.conf.broker_transport_options["global_keyprefix"]
    return prefix + kind


class Sender(Protocol):
    """A sender of hints to a broker. It logs that the broker is unreachable instead of raising."""

    def send(self, jobs: Sequence[Job], render: Render) -> int:
        """Send a hint for every job of one run; return how many it sent or will send, 0 if the broker is away."""

    def await_confirms(self, timeout: float) -> bool:
        """Wait until the broker has every hint, at most `timeout` seconds; return whether it has."""

    def close(self) -> None:
        """Close the connections."""


class Publisher:
    """A publisher of hints to the broker in the host's settings. Use it from one thread at a time."""

    def __init__(self, settings: Settings) -> None:
        app = make_app(settings.messages_url())
        self._telemetry = started()
        traced = self._telemetry is not None
        self._templates = {queue.name: Template(app, queue.name, traced=traced) for queue in app.conf.task_queues}
        self._sender = self._sender_of(settings, app)

    def _sender_of(self, settings: Settings, app: Celery) -> Sender:
        url, share, timeout = settings.messages_url(), settings.tuning.worker_share, settings.socket_timeout
        if is_amqp_url(url):
            return AmqpSender(url, kinds=[*self._templates], share=share, timeout=timeout)
        return RedisSender(url, prefix=queue_key(app, ""), share=share, timeout=timeout)

    def publish(self, jobs: Sequence[Job]) -> int:
        """Publish a hint for every job; return how many, 0 if Redis is unreachable.

        Some may arrive even if Redis timed out; repeated hints are harmless. RabbitMQ receives them after this call
        returns, and again until it confirms them.
        """
        return self._sender.send(jobs, self._render) if jobs else 0

    def await_confirms(self, timeout: float) -> bool:
        """Wait until the broker has every hint, at most `timeout` seconds; return whether it has."""
        return self._sender.await_confirms(timeout)

    def _trace_of(self, job: Job) -> str:
        return self._telemetry.traceparent(job.run, job.id) if self._telemetry is not None else ""

    def _render(self, job: Job, tag: str) -> str:
        return self._templates[job.key.kind].render(job, tag, self._trace_of(job))

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()
