"""Translates the broker's URL for kombu and Flower, and corrects how Flower reads it."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode, urlsplit

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.tasks.registry import is_kind
from cogitate.workers.transport.lanes import queues_of

T = TypeVar("T")
TlsOption = ssl.VerifyMode | bool | str

ENCRYPTED = ("rediss", "amqps")
#: Options for certificates in a "rediss://" URL, which redis-py reads from the same URL.
FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
_MODES = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_CHECKED = {"true": True, "false": False}


def kombu_url(url: str) -> str:
    """Convert a broker's URL to kombu's and Flower's form: "redis+socket://" for "unix://", without TLS options.

    kombu prefers TLS options in the URL to its arguments, so it gets them from `tls` alone. It reads user, password and
    database from their places in the URL, but not from the query, where redis-py accepts them as well.
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    named, at, host = parts.netloc.rpartition("@")
    user, password = (query.pop(name, "") for name in ("username", "password"))
    if not at and (user or password):
        named, at = f"{quote(user, safe='')}:{quote(password, safe='')}", "@"
    if url.startswith("unix://"):
        scheme, path = "redis+socket", quote(parts.path, safe="/%")
        query = {"virtual_host" if name == "db" else name: value for name, value in query.items()}
    else:
        scheme, path = parts.scheme, f"/{query.pop('db')}" if "db" in query else parts.path
    if scheme in ENCRYPTED:
        query = {name: value for name, value in query.items() if not name.startswith("ssl_")}
    return f"{scheme}://{named}{at}{host}{path}" + (f"?{urlencode(query)}" if query else "")


def tls(url: str) -> dict[str, TlsOption] | None:
    """Return the TLS options of a "rediss://" or "amqps://" URL. Unlike kombu, check certificates by default.

    "?ssl_ca_certs=/path/ca.pem" names the trusted authority; "?ssl_cert_reqs=none" turns the check off.

    Raises:
        ConfigurationError: for an unknown option or an invalid value.
    """
    scheme = url.partition("://")[0]
    if scheme not in ENCRYPTED:
        return None
    asked = {name: value for name, value in parse_qsl(urlsplit(url).query) if name.startswith("ssl_")}
    options: dict[str, TlsOption] = {
        "ssl_cert_reqs": _choice("ssl_cert_reqs", asked.pop("ssl_cert_reqs", "required").lower(), _MODES)
    }
    if "ssl_check_hostname" in asked:
        options["ssl_check_hostname"] = _choice("ssl_check_hostname", asked.pop("ssl_check_hostname").lower(), _CHECKED)
    unknown = asked.keys() - set(FILES)
    if unknown:
        known = ", ".join(("ssl_cert_reqs", "ssl_check_hostname", *FILES))
        raise ConfigurationError(f"{min(unknown)[:80]!r} in the broker's URL is not one of {known}")
    return _for_amqp(options | asked, url) if scheme == "amqps" else options | asked


def _for_amqp(options: dict[str, TlsOption], url: str) -> dict[str, TlsOption]:
    """Rename the options for py-amqp, which checks the host's name if an option gives it."""
    checks_host = options.pop("ssl_check_hostname", options["ssl_cert_reqs"] != ssl.CERT_NONE)
    named = {name.removeprefix("ssl_"): value for name, value in options.items()}
    return named | ({"server_hostname": urlsplit(url).hostname or ""} if checks_host else {})


def _choice(name: str, value: str, known: Mapping[str, T]) -> T:
    if value not in known:
        raise ConfigurationError(f"{name}={value[:80]!r} in the broker's URL is not one of {', '.join(known)}")
    return known[value]


def correct_flower() -> None:
    """Correct Flower's broker page, if Flower is loaded.

    On a unix socket, flower 2.2 always reads database 0. On RabbitMQ, it looks for queues by the names that workers
    consume, and finds none in the virtual host "/".

    `celery` loads Flower with its other commands before it loads the app, so the app can correct it.
    """
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

    rabbitmq: Any = broker.RabbitMQ

    class RabbitMQ(rabbitmq):  # type: ignore[misc]
        """The stock class, which shows the lanes of each kind."""

        vhost: str

        def __init__(self, broker_url: str, http_api: str | None, **kwargs: Any) -> None:
            super().__init__(broker_url, http_api, **kwargs)
            self.vhost = "%2F" if self.vhost in ("", "/") else self.vhost
            self.http_api = http_api or f"http://{self.host}:{self.port}/api/"

        async def queues(self, names: Iterable[str]) -> Any:
            lanes = [lane for name in names for lane in (queues_of(name) if is_kind(name) else [name])]
            return await super().queues(lanes)

    broker.RedisSocket, broker.RabbitMQ = RedisSocket, RabbitMQ  # type: ignore[attr-defined]
