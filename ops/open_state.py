"""The connection of a command to the state: a data folder's embedded server, or the Redis that the settings name.

A stopped server is detected within `PATIENCE`, whatever timeout the settings give.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from redis import Redis

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.connect import PATIENCE, check_soon, connect_to_read
from cogitate.workers.processes.embedded import EmbeddedServer


@contextmanager
def open_state(settings: Settings, *, create: bool = False) -> Iterator[Redis]:
    """Yield a client of the state. A running embedded server is adopted; otherwise one is started for the block.

    Args:
        create: create the data folder if it is missing.

    Raises:
        ServerSilent: when a server accepts connections but does not answer.
        ConfigurationError: when the data folder is missing, or a server can be neither started nor reached.
    """
    with ExitStack() as resources:
        if settings.redis_url is not None:
            url = settings.redis_url.get_secret_value()
        else:
            if not create and not settings.data_dir.is_dir():
                raise ConfigurationError(
                    f"data folder {settings.data_dir} does not exist, so it has no runs: start one with `cogitate run` "
                    "or name another folder with --data-dir"
                )
            url = resources.enter_context(EmbeddedServer(settings.data_dir, patience=PATIENCE)).url
        check_soon(url)
        client = connect_to_read(url, settings.socket_timeout)
        resources.callback(client.close)
        yield client
