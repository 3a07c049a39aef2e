"""Checks of RabbitMQ as broker: login, version, queues, latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amqp.exceptions import AMQPError

from cogitate.hosting.finding import Finding, failed, ok
from cogitate.ops.doctor.redis import examine_latency
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.workers.transport.amqp_connection import OLDEST, is_too_old, opened, version_of, waiting_hints


def examine_rabbitmq(url: str, timeout: float, kinds: Sequence[str]) -> Iterator[Finding]:
    """Check RabbitMQ, without declaring anything."""
    try:
        with opened(url, timeout) as connection:
            version = f"RabbitMQ {version_of(connection)}"
            if is_too_old(connection):
                oldest = ".".join(map(str, OLDEST))
                yield failed("broker version", version, f"use RabbitMQ {oldest} or newer")
                return
            yield ok("broker version", version)
            waiting = waiting_hints(connection, kinds)
            yield ok("broker hints", f"{sum(waiting.values()):,} wait for a worker")
            yield examine_latency("broker", lambda: connection.channel().close(), "RabbitMQ", trips=2)
    except ConfigurationError as error:
        yield failed("broker", str(error), "then run this again")
    except (AMQPError, OSError) as error:
        yield failed("broker", f"cannot be checked: {error}", "see its log")
