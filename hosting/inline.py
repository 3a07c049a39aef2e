"""The way of running without processes: jobs run at once in the host's own, on a Redis in memory."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from fakeredis import FakeRedis, FakeRedisConnection
from redis import Redis

from scheduler.config.settings import Settings
from scheduler.tick.result_collector import Publish
from workers.jobs import inline

PIECE = 16_384  # bytes


class PiecemealConnection(FakeRedisConnection):
    """A connection that sends a long command piece by piece.

    fakeredis copies all that is left of what it was sent for each argument that it reads: a tick with thousands of
    requests would take minutes.
    """

    def send_packed_command(self, command: str | Iterable[bytes], check_health: bool = True) -> None:
        """Send a command that is packed."""
        parts = [command.encode()] if isinstance(command, str) else command
        pieces = [part[at : at + PIECE] for part in parts for at in range(0, len(part), PIECE)]
        super().send_packed_command(pieces, check_health)  # type: ignore[no-untyped-call]


def redis_in_memory() -> Redis:
    """Return a client of a new Redis in this process's memory."""
    client: Redis = FakeRedis()
    client.connection_pool.connection_class = PiecemealConnection
    return client


def open_inline(client: Redis | None, settings: Settings, resources: ExitStack) -> tuple[Redis, Publish]:
    """Return a client, by default of a new Redis in memory, and what does published jobs until `resources` end."""
    client = client or redis_in_memory()
    publisher = inline.InlinePublisher(client, settings)
    resources.callback(publisher.close)
    return client, publisher.publish
