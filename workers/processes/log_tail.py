"""The last lines of a process's log, with keys and passwords redacted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import secrets_of

READ = 20_000  # bytes at the end of a log that are read
SHORTEST = 4  # characters; a shorter text is not treated as a secret, since it may be part of any word


def log_tail(path: Path, start: int, count: int = 3) -> str:
    """Return the last lines that a process logged after `start` bytes, as one line."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - READ))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return " / ".join(lines[-count:])


def redact_secrets(text: str, settings: Settings) -> str:
    """Replace each key and password of these settings in a text with "***", ignoring case."""
    for secret in sorted(set(_secrets(settings)), key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = re.sub(re.escape(secret), "***", text, flags=re.IGNORECASE)
    return text


def _secrets(settings: Settings) -> Iterator[str]:
    urls = [url.get_secret_value() for url in (settings.redis_url, settings.broker_url) if url is not None]
    for endpoint in settings.endpoint_table().values():
        if endpoint.api_key is not None:
            yield endpoint.api_key.get_secret_value()
        yield os.environ.get(endpoint.api_key_variable, "")
        if endpoint.base_url is not None:
            urls.append(endpoint.base_url)
    for url in urls:
        yield from secrets_of(url)
