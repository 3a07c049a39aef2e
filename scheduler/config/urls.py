"""URLs of servers: redact them for display, find their secrets, validate them, and derive one from another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from cogitate.scheduler.config.settings_faults import ConfigurationError

HIDDEN = "***"
#: Query parameters without secrets. A provider may give a key any name, so every other value is hidden.
_HARMLESS = frozenset(
    {
        "api-version",
        "client_name",
        "db",
        "health_check_interval",
        "max_connections",
        "protocol",
        "socket_connect_timeout",
        "socket_keepalive",
        "socket_timeout",
        "ssl_ca_certs",
        "ssl_ca_path",
        "ssl_cert_reqs",
        "ssl_certfile",
        "ssl_check_hostname",
        "ssl_keyfile",
        "timeout",
        "virtual_host",
    }
)
_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")  # of a parameter
_ENCODED_USER = re.compile(r"%(?:40|3a)", re.IGNORECASE)  # "@" or ":" in the place of a host


def redact_url(url: str) -> str:
    """Return a URL without its secrets; in an ambiguous URL, every part that may be secret is hidden."""
    if len(urls := ledger_urls(url)) > 1:
        return " ".join(map(redact_url, urls))
    if "://" not in url:
        before, at, rest = url.rpartition("@")
        rest = re.split(r"[?#;]", rest, maxsplit=1)[0]
        return f"{HIDDEN}@{rest}" if at else f"{before}{rest}"
    parts = _split(url)
    if parts is None:
        return f"{url.partition('://')[0][:20]}://{HIDDEN}"
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    if at and not colon and parts.scheme in ("http", "https"):
        user = HIDDEN  # a token alone
    shown = f"{parts.scheme}://{user}{colon and ':' + HIDDEN}{at}{host}{parts.path}"
    if parts.query:
        shown += "?" + "&".join(map(_shown_parameter, re.split("[&;]", parts.query)))
    return shown + (f"#{HIDDEN}" if parts.fragment else "")


def secrets_of(url: str) -> Iterator[str]:
    """Yield the secrets of a URL, encoded and decoded."""
    if len(urls := ledger_urls(url)) > 1:
        for ledger in urls:
            yield from secrets_of(ledger)
        return
    parts = _split(url)
    if parts is None:
        yield url
        return
    login = parts.netloc.rpartition("@")[0]
    user, colon, password = login.partition(":")
    candidates = [password if colon else user if parts.scheme in ("http", "https") else "", parts.fragment]
    for parameter in re.split("[&;]", parts.query):
        name, equals, value = parameter.partition("=")
        if unquote(name).lower() not in _HARMLESS:
            candidates.append(value if equals else name)
    for secret in candidates:
        if secret:
            yield secret
            yield unquote(secret)


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL; None if it is ambiguous because it may hold an unencoded password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    beyond = parts.path + parts.query + parts.fragment if parts.netloc else parts.query + parts.fragment
    uncertain = "@" in (beyond if "://" in url else url) or _ENCODED_USER.search(host)
    return None if uncertain else parts


def _shown_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    if not equals or not _NAME.fullmatch(name):
        return HIDDEN
    return parameter if name.lower() in _HARMLESS else f"{name}={HIDDEN}"


SERVER_FILE = "server.json"  # in the data folder: the address of its embedded server


CLUSTER_SCHEMES = ("redis+cluster", "rediss+cluster")
SENTINEL_SCHEMES = ("redis+sentinel", "rediss+sentinel")
AMQP_SCHEMES = ("amqp", "amqps")
NO_BROKER = (
    "a cluster cannot carry Celery's messages, because Celery's transport uses keys of several slots at once; name a "
    "single server in COGITATE_BROKER_URL; it may be small and needs no persistence"
)
_NO_SENTINEL = "messages go to a single server, not through Sentinels: name one in COGITATE_BROKER_URL"


def ledger_urls(url: str) -> list[str]:
    """Split the URLs of several ledgers, which `Settings.state_url` joins into one text; a single URL stays alone."""
    urls = url.split(" ")
    return urls if all(map(_is_redis_url, urls)) else [url]


def place_of(url: str) -> str:
    """Return the servers and the database of a URL, without user, password and other parameters."""
    scheme, _, rest = url.partition("://")
    parts = urlsplit(f"redis://{rest}")
    kind = scheme.partition("+")[2]
    database = dict(parse_qsl(parts.query)).get("db", "")
    path = parts.path if scheme == "unix" or kind else ""
    if not kind and scheme != "unix":
        database = database or parts.path.strip("/")
    return f"{kind or 'redis'}://{parts.netloc.rpartition('@')[2]}{path}?db={database or 0}"


def is_cluster_url(url: str) -> bool:
    """Return whether a URL names a cluster."""
    return url.partition("://")[0] in CLUSTER_SCHEMES


def is_sentinel_url(url: str) -> bool:
    """Return whether a URL names Sentinels."""
    return url.partition("://")[0] in SENTINEL_SCHEMES


def is_amqp_url(url: str) -> bool:
    """Return whether a URL names RabbitMQ."""
    return url.partition("://")[0] in AMQP_SCHEMES


def _is_redis_url(url: str) -> bool:
    single = url.startswith(("redis://", "rediss://", "unix://"))
    return single or is_cluster_url(url) or is_sentinel_url(url)


def check_redis_url(url: str) -> None:
    """Check that a URL has one of the Redis schemes.

    Raises:
        ValueError: showing the URL without its password.
    """
    if not _is_redis_url(url):
        raise ValueError(
            f"{redact_url(url)[:80]!r} is not a Redis URL: it must begin with redis://, rediss:// or unix://, or "
            "redis+cluster:// or redis+sentinel://"
        )


def check_ledgers(urls: Sequence[str]) -> None:
    """Check the URLs of several ledgers.

    Raises:
        ValueError: if one is not a Redis URL, or two name the same ledger.
    """
    for url in urls:
        check_redis_url(url)
        if re.search(r"\s", url):
            raise ValueError(f"{redact_url(url)[:80]!r} is not a Redis URL: write a space in it as %20")
    places = [place_of(url) for url in urls]
    for place in places:
        if places.count(place) > 1:
            raise ValueError(f"two of redis_urls name the same ledger, {place}")


def check_broker_url(url: str) -> None:
    """Check that a URL names a server that can be a broker.

    Raises:
        ValueError: showing the URL without its password.
    """
    if is_amqp_url(url):
        if not urlsplit(url).hostname:
            raise ValueError(f"{redact_url(url)[:80]!r} names no host: write amqp://user:password@host:5672/vhost")
        for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True):
            if not (url.startswith("amqps://") and name.startswith("ssl_")):
                raise ValueError(f"{redact_url(url)[:80]!r} cannot have the parameter {name[:40]!r}")
        return
    if not _is_redis_url(url):
        raise ValueError(
            f"{redact_url(url)[:80]!r} is not a broker URL: it must begin with redis://, rediss:// or unix://, or with "
            "amqp:// or amqps:// for RabbitMQ"
        )
    if is_cluster_url(url):
        raise ValueError(f"{redact_url(url)[:80]!r} is not a broker: {NO_BROKER}")
    if is_sentinel_url(url):
        raise ValueError(f"{redact_url(url)[:80]!r} is not a broker: {_NO_SENTINEL}")


def embedded_url(data_dir: Path) -> str:
    """Return the URL of the embedded server that runs in a data folder.

    Raises:
        ConfigurationError: if none runs there.
    """
    try:
        record = json.loads((data_dir / SERVER_FILE).read_text(encoding="utf-8"))
        return f"unix://{record['socket']}?db=0"
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(
            f"no Redis: COGITATE_REDIS_URL is not set and no embedded server runs in {data_dir}; "
            "start one with `cogitate run` or your own host, whose server starts within seconds, or set the URL"
        ) from error


def next_database(url: str) -> str:
    """Return the URL of the next database of the same server.

    Raises:
        ConfigurationError: if the URL does not determine its database, or does not name a single server.
    """
    if is_cluster_url(url):
        raise ConfigurationError(f"no broker: {NO_BROKER}")
    if is_sentinel_url(url):
        raise ConfigurationError(f"no broker: {_NO_SENTINEL}")
    base, _, query = url.partition("?")
    named = dict(parse_qsl(query))
    number = named.get("db", "0" if url.startswith("unix://") else "")
    if number.isascii() and number.isdigit():  # redis-py prefers the number in the query to that in the path
        return f"{base}?{urlencode({**named, 'db': int(number) + 1})}"
    match = re.fullmatch(r"(rediss?://[^/?]+)(?:/(\d*))?(\?.*)?", url)
    if not match or number:
        raise ConfigurationError(f"cannot determine the database of {redact_url(url)!r}: set COGITATE_BROKER_URL")
    return f"{match[1]}/{int(match[2] or 0) + 1}{match[3] or ''}"
