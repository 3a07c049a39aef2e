"""The server and workers that a host starts outside inline mode, and its connections to them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from pydantic import SecretStr
from redis import Redis

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import is_amqp_url, redact_url
from cogitate.scheduler.ledger.connect import check, check_carries_messages, check_keeps_runs, connect
from cogitate.scheduler.tick.result_collector import Publish
from cogitate.tasks.registry import kind_names
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.server_keeper import ServerKeeper
from cogitate.workers.processes.supervisor import WorkerPool
from cogitate.workers.publish import Publisher
from cogitate.workers.transport.amqp_connection import check_carries_hints


class Processes(NamedTuple):
    """The running processes that a host uses."""

    client: Redis  # for the state; never retries, since `cogitate.scheduler.ledger.outage` handles outages
    publish: Publish
    settings: Settings  # with the server's URL filled in
    pool: WorkerPool | None  # None: the host starts no workers
    server_given_up: Callable[[], bool]  # whether the host has stopped restarting its embedded server


def open_processes(settings: Settings, resources: ExitStack) -> Processes:
    """Start the embedded server unless a URL is set, then the worker processes; `resources` stops them.

    Raises:
        ConfigurationError: when no server can be started or reached, the server might evict a run's keys, the broker
            is a Redis cluster, or RabbitMQ does not answer or refuses the login.
    """
    keeper: ServerKeeper | None = None
    if settings.embedded:
        server = resources.enter_context(EmbeddedServer(settings.data_dir))
        keeper = resources.enter_context(ServerKeeper(server))
        settings = settings.model_copy(update={"redis_url": SecretStr(server.url)})
    url = settings.state_url()
    client = connect(url, settings.socket_timeout, retries=0)
    resources.callback(client.close)
    check(client, url)
    check_keeps_runs(client, redact_url(url))
    _check_broker(settings.messages_url(), settings.socket_timeout)
    publisher = Publisher(settings)
    resources.callback(publisher.close)
    port = settings.metrics_port
    of_workers = settings if port is None else settings.model_copy(update={"metrics_port": port + 1})
    pool = resources.enter_context(WorkerPool(of_workers, settings.workers)) if settings.workers else None

    def server_given_up() -> bool:
        return keeper is not None and keeper.given_up

    return Processes(client, publisher.publish, settings, pool, server_given_up)


def _check_broker(url: str, timeout: float) -> None:
    if is_amqp_url(url):
        check_carries_hints(url, timeout, kind_names())
    else:
        check_carries_messages(url, timeout)
