"""Flower's broker page on a unix socket, with the database that the URL names.

flower 2.2.0's `RedisSocket` always connects to the socket's database 0 and then shows empty queues. `celery` loads
Flower with its other commands before it loads the app, so the app can apply the correction.
"""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


def register() -> None:
    """Correct Flower's class in this process, if Flower is loaded."""
    broker = sys.modules.get("flower.utils.broker")
    if broker is None:
        return
    stock: Any = broker.RedisSocket
    if stock.__module__ == __name__:
        return

    class RedisSocket(stock):  # type: ignore[misc]
        """The stock class, connected to the database of the URL."""

        def __init__(self, broker_url: str, *args: Any, **kwargs: Any) -> None:
            super().__init__(broker_url, *args, **kwargs)
            settings = self.redis.connection_pool.connection_kwargs
            settings["path"] = unquote(settings["path"])
            settings["db"] = int(parse_qs(urlsplit(broker_url).query).get("virtual_host", ["0"])[0])

    broker.RedisSocket = RedisSocket  # type: ignore[attr-defined]
