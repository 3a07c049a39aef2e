"""Opens connections to RabbitMQ beside Celery's own, and explains why a connection cannot carry messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from amqp.exceptions import AccessRefused, AMQPError, NotAllowed, PreconditionFailed
from kombu.connection import Connection

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.config.urls import redact_url
from cogitate.workers.transport import amqp_transport
from cogitate.workers.transport.broker_url import kombu_url, tls

OLDEST = (3, 10)  # oldest supported version of RabbitMQ; quorum queues of older ones cannot expire messages


def connect_amqp(url: str, timeout: float) -> Any:
    """Return a connection on which a kind's queue stands for its lanes.

    Args:
        timeout: seconds for the connection and for each write and read.

    Raises:
        AMQPError, OSError: if the connection fails.
    """
    amqp_transport.register()
    connection = Connection(kombu_url(url), ssl=tls(url) or False, connect_timeout=timeout)
    opened_connection: Any = connection.connection  # one attempt; `connect` would retry
    opened_connection.transport.sock.settimeout(timeout)
    return opened_connection


class BrokerAway(ConfigurationError):
    """RabbitMQ does not answer; the message names its address without the password."""


@contextmanager
def opened(url: str, timeout: float) -> Iterator[Any]:
    """Yield a connection and close it.

    Raises:
        BrokerAway: if RabbitMQ does not answer.
        ConfigurationError: if RabbitMQ refuses the login. Neither message contains the password.
    """
    where = redact_url(url)
    try:
        connection = connect_amqp(url, timeout)
    except AccessRefused:
        raise ConfigurationError(
            f"RabbitMQ at {where} refuses the login: correct user and password in COGITATE_BROKER_URL (the user guest "
            "may connect from RabbitMQ's own machine only)"
        ) from None
    except NotAllowed:
        raise ConfigurationError(
            f"RabbitMQ at {where} has no such virtual host, or this user may not use it: `rabbitmqctl add_vhost`, "
            "`rabbitmqctl set_permissions`"
        ) from None
    except (AMQPError, OSError) as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise ConfigurationError(
                f"the certificate of RabbitMQ at {where} is not trusted: {error}; name the file of its authority "
                "with ?ssl_ca_certs=/path/ca.pem in the URL"
            ) from error
        raise BrokerAway(
            f"no RabbitMQ answers at {where}: {error or type(error).__name__}; start it, or correct COGITATE_BROKER_URL"
        ) from error
    try:
        yield connection
    finally:
        connection.collect()


def check_login(url: str, timeout: float) -> None:
    """Check that RabbitMQ accepts the login. A server that does not answer passes.

    Raises:
        ConfigurationError: if it refuses.
    """
    with suppress(BrokerAway), opened(url, timeout):
        pass


def check_carries_hints(url: str, timeout: float, kinds: Sequence[str]) -> None:
    """Check that RabbitMQ carries the hints of these kinds, and declare their queues.

    Raises:
        ConfigurationError: if it is away, refuses the login, is too old, or has other queues of these names.
    """
    with opened(url, timeout) as connection:
        if is_too_old(connection):
            raise ConfigurationError(
                f"RabbitMQ at {redact_url(url)} is version {version_of(connection)}: "
                f"{'.'.join(map(str, OLDEST))} or newer is needed"
            )
        try:
            waiting_hints(connection, kinds, declare=True)
        except AccessRefused as error:
            raise ConfigurationError(
                f"this user of RabbitMQ at {redact_url(url)} may not declare the queues: {error.reply_text}; it needs "
                "to configure, write and read `^(cogitate|celery|amq\\.).*`, `.*pidbox$` and `.*reply.*`"
            ) from None
        except PreconditionFailed as error:
            raise ConfigurationError(
                f"RabbitMQ at {redact_url(url)} has another queue of this name: {error.reply_text}; delete it, since "
                "hosts repeat what it holds"
            ) from None


def waiting_hints(connection: Any, kinds: Sequence[str], *, declare: bool = False) -> dict[str, int]:
    """Return how many hints of each kind wait on RabbitMQ, not counting those that workers hold.

    Args:
        declare: whether to create missing queues; otherwise they count as empty.
    """
    counts = {}
    for kind in kinds:
        channel = connection.channel()
        try:
            counts[kind] = channel.queue_declare(kind, passive=not declare).message_count
            channel.close()
        except AMQPError as error:
            if declare or error.reply_code != 404:
                raise
            counts[kind] = 0
    return counts


def count_waiting(url: str, timeout: float, kinds: Sequence[str]) -> dict[str, int]:
    """Return how many hints of each kind wait, through a separate connection.

    Raises:
        BrokerAway: if RabbitMQ does not answer.
        ConfigurationError: if it refuses the login.
    """
    try:
        with opened(url, timeout) as connection:
            return waiting_hints(connection, kinds)
    except (AMQPError, OSError) as error:
        raise BrokerAway(f"RabbitMQ at {redact_url(url)} stopped answering: {error}") from error


def version_of(connection: Any) -> str:
    """Return the version of RabbitMQ."""
    return str(connection.server_properties.get("version", "0"))


def is_too_old(connection: Any) -> bool:
    """Return whether this RabbitMQ is too old to carry hints."""
    return tuple(int(part) for part in version_of(connection).split(".")[:2] if part.isdigit()) < OLDEST
