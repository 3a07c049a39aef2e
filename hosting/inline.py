"""The way of running without processes: jobs run at once in the host's own, on a Redis in memory."""

from __future__ import annotations

from contextlib import ExitStack

from fakeredis import FakeRedis
from redis import Redis

from scheduler.config.settings import Settings
from scheduler.tick.result_collector import Publish
from workers.jobs import inline


def open_inline(client: Redis | None, settings: Settings, resources: ExitStack) -> tuple[Redis, Publish]:
    """Return a client, by default of a new Redis in memory, and what does published jobs until `resources` end."""
    client = client or FakeRedis()
    publisher = inline.InlinePublisher(client, settings)
    resources.callback(publisher.close)
    return client, publisher.publish
