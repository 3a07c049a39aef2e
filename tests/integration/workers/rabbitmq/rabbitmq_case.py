"""Publish hints of jobs to RabbitMQ, and take the contents of its queues."""

from __future__ import annotations

from collections.abc import Callable

import amqp

from cogitate import Settings
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.publish import Publisher
from cogitate.workers.transport.lanes import LANES, queue_of
from tests.patience import LONGEST
from tests.rabbitmq import RabbitMQ

LANE = {lane.name: lane for lane in LANES}
Eventually = Callable[..., None]


def job(
    kind: str = "plan", owner: str = "agent:isabella", *, due: int = 425, model: str = "any", tick: int = 420
) -> Job:
    key = JobKey(tick, kind, owner, 0, 0)
    reserved = Cost(calls=1, tokens=1800)
    return Job(run="town", key=key, minute=tick, due=due, reads=(), model=model, reserved=reserved)


def publish(settings: Settings, jobs: list[Job]) -> None:
    publisher = Publisher(settings)
    assert publisher.publish(jobs) == len(jobs)
    publisher.close()


def await_confirms(publisher: Publisher) -> None:
    assert publisher.await_confirms(LONGEST)


def taken(rabbitmq: RabbitMQ, queue: str) -> list[amqp.Message]:
    """Take the messages of a queue, the oldest first."""
    with amqp.Connection(f"127.0.0.1:{rabbitmq.port}") as connection:
        channel = connection.channel()
        return list(iter(lambda: channel.basic_get(queue, no_ack=True), None))


def hinted(broker: RabbitMQ, kind: str, *lanes: str) -> set[str]:
    """Take the hints of a kind from these lanes, and return the owners of their jobs, ignoring duplicates."""
    messages = [message for lane in lanes or ["now"] for message in taken(broker, queue_of(kind, LANE[lane]))]
    ids = [message.properties["application_headers"]["id"] for message in messages]
    return {job_id.split("/")[3].removeprefix("agent:") for job_id in ids}
