"""Checks of RabbitMQ as broker: login, version, queues, latency."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import median

from amqp.exceptions import AMQPError

from cogitate.hosting.finding import Finding, failed, ok, warning
from cogitate.ops.doctor.redis import PINGS, SLOW
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
            usual = median(_round_trips(connection))
            found = f"{1000 * usual:.2f} ms a round trip"
            if usual > SLOW:
                yield warning("broker latency", found, "move host, workers and RabbitMQ nearer to each other")
            else:
                yield ok("broker latency", found)
    except ConfigurationError as error:
        yield failed("broker", str(error), "then run this again")
    except (AMQPError, OSError) as error:
        yield failed("broker", f"cannot be checked: {error}", "see its log")


def _round_trips(connection: object) -> Iterator[float]:
    """Open a channel several times, and yield how many seconds each took."""
    for _ in range(PINGS):
        began = time.perf_counter()
        connection.channel().close()  # type: ignore[attr-defined]
        yield (time.perf_counter() - began) / 2  # opened and closed
