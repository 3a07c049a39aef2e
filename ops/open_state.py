"""Reaching the state of a data folder, or of the Redis that the settings name, for as long as a command needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from redis import Redis

from scheduler.config.settings import ConfigurationError, Settings
from scheduler.ledger.connect import check, connect
from workers.processes.embedded import EmbeddedServer


@contextmanager
def open_state(settings: Settings, *, create: bool = False) -> Iterator[Redis]:
    """A client of the state. An embedded server is adopted if it runs, and otherwise started for the block.

    Args:
        create: make the data folder if it is missing.

    Raises:
        ConfigurationError: when there is no data folder, or no server can be started or reached.
    """
    with ExitStack() as resources:
        if settings.redis_url is not None:
            url = settings.redis_url.get_secret_value()
        else:
            if not create and not settings.data_dir.is_dir():
                raise ConfigurationError(
                    f"there is no data folder {settings.data_dir}, so no run yet: `cogitate run` makes one "
                    "(or name another with --data-dir)"
                )
            url = resources.enter_context(EmbeddedServer(settings.data_dir)).url
        client = connect(url, settings.socket_timeout)
        resources.callback(client.close)
        check(client, url)
        yield client
