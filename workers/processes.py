"""What a host needs around it outside inline mode: a server, a broker, worker processes."""

from __future__ import annotations

from contextlib import ExitStack

from pydantic import SecretStr
from redis import Redis

from scheduler.connect import check, connect
from scheduler.settings import Settings
from scheduler.waiting import Publish
from workers.embedded import EmbeddedServer
from workers.publish import Publisher
from workers.supervisor import WorkerPool


def open_processes(settings: Settings, resources: ExitStack) -> tuple[Redis, Publish, Settings]:
    """Start the embedded server unless a URL is set, then the worker processes; `resources` stops them.

    Returns the client of the state, the way to publish, and the settings with the server's URL filled in.

    Raises:
        ConfigurationError: when no server can be started or reached.
    """
    if settings.redis_url is None:
        server = resources.enter_context(EmbeddedServer(settings.data_dir))
        settings = settings.model_copy(update={"redis_url": SecretStr(server.url)})
    url = settings.state_url()
    client = connect(url, settings.socket_timeout)
    resources.callback(client.close)
    check(client, url)
    if settings.workers:
        resources.enter_context(WorkerPool(settings, settings.workers))
    return client, Publisher(settings).publish, settings
