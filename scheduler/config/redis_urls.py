"""URLs of Redis servers: the check of one that is given, the embedded server's, and the database beside another."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from cogitate.scheduler.config.secret_urls import redact_url
from cogitate.scheduler.config.settings_faults import ConfigurationError

SERVER_FILE = "server.json"  # in the data folder: where its embedded server listens


def check_redis_url(url: str) -> None:
    """Check that a URL has a scheme of Redis.

    Raises:
        ValueError: showing the URL without its password.
    """
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError(
            f"{redact_url(url)[:80]!r} is not a Redis URL: it must begin with redis://, rediss:// or unix://"
        )


def embedded_url(data_dir: Path) -> str:
    """Return the URL of the embedded server that runs in a data folder.

    Raises:
        ConfigurationError: when none runs there.
    """
    try:
        record = json.loads((data_dir / SERVER_FILE).read_text(encoding="utf-8"))
        return f"unix://{record['socket']}?db=0"
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(
            f"no Redis: COGITATE_REDIS_URL is not set and no embedded server runs in {data_dir}; "
            "start one with `cogitate run` or a host of yours, whose server is there after some seconds, or set the URL"
        ) from error


def next_database(url: str) -> str:
    """Return the URL of the next database of the same server.

    Raises:
        ConfigurationError: when the URL does not show which database it names.
    """
    base, _, query = url.partition("?")
    named = dict(parse_qsl(query))
    number = named.get("db", "0" if url.startswith("unix://") else "")
    if number.isascii() and number.isdigit():  # in the query it goes before that of the path
        return f"{base}?{urlencode({**named, 'db': int(number) + 1})}"
    found = re.fullmatch(r"(rediss?://[^/?]+)(?:/(\d*))?(\?.*)?", url)
    if not found or number:
        raise ConfigurationError(f"cannot tell the database of {redact_url(url)!r}; set COGITATE_BROKER_URL")
    return f"{found[1]}/{int(found[2] or 0) + 1}{found[3] or ''}"
