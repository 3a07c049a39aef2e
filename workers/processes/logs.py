"""Formats logs as the setting `log` says, and reads a log's last lines with keys and passwords redacted.

A log has lines for people, or one JSON object per event for log collectors. Lines for people escape foreign names and
messages, so that these cannot control the terminal. A JSON object has the time with date and zone; one about a job also
has the run, tick and attempt beside the job's id. With telemetry, events have the ids of their trace.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor

from cogitate.memory.errors import printable
from cogitate.memory.language.hidden_characters import visible
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import secrets_of
from cogitate.tasks.job import split_job_id
from cogitate.workers.telemetry.exporting import add_trace_ids

READ = 20_000  # the most bytes to read from the end of a log
SHORTEST = 4  # characters; a shorter text is not treated as a secret, since it may be part of any word
_SEVERAL_LINES = ("exception", "stack")


def text_processors(stream: TextIO, time: str = "%Y-%m-%d %H:%M:%S") -> list[Processor]:
    """Return the processors that render an event as a line of text, coloured if the stream is a terminal.

    Args:
        time: format of the time (see `time.strftime`).
    """
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt=time, utc=False),
        structlog.processors.format_exc_info,
        add_trace_ids,
        _escaped,
        structlog.dev.ConsoleRenderer(colors=stream.isatty()),
    ]


def escape_foreign(logger: logging.Logger) -> None:
    """Make the handlers of a standard-library logger, such as Celery's, escape their output."""
    for handler in logger.handlers:
        handler.addFilter(_escape_record)


def _escaped(logger: object, method: str, event: EventDict) -> EventDict:
    return {
        name: (visible if name in _SEVERAL_LINES else printable)(value) if isinstance(value, str) else value
        for name, value in event.items()
    }


def _escape_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = visible(record.getMessage()), None
    if record.exc_info and not record.exc_text:
        record.exc_text = visible(logging.Formatter().formatException(record.exc_info))
    return True


def placed(logger: object, method: str, event: EventDict) -> EventDict:
    """Add the run and tick of the job that an event names, and replace the job's key by its id."""
    named, run = event.get("job"), event.get("run")
    if isinstance(named, str):
        for job in (named, f"{run}/{named}") if run else (named,):
            try:
                event["run"], key = split_job_id(job)
            except ValueError:
                continue
            event["job"], event["tick"] = job, key.tick
            break
    return event


def json_processors() -> list[Processor]:
    """Return the processors that render an event as a line of JSON."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        placed,
        add_trace_ids,
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(default=str),
    ]


def format_foreign(logger: logging.Logger) -> None:
    """Make the handlers of a standard-library logger, such as Celery's, write the same JSON."""
    *before, render = json_processors()
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render]
    )
    for handler in logger.handlers:
        handler.setFormatter(formatter)


def log_tail(path: Path, start: int, count: int = 3) -> str:
    """Return the last `count` lines that a process logged after `start` bytes, joined to one line."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - READ))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return " / ".join(lines[-count:])


def redact_secrets(text: str, settings: Settings) -> str:
    """Replace each key and password of these settings in a text with "***", ignoring case."""
    for secret in sorted(set(secrets_in(settings)), key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = re.sub(re.escape(secret), "***", text, flags=re.IGNORECASE)
    return text


def secrets_in(settings: Settings) -> Iterator[str]:
    """Yield each key, token and password in these settings and in the environment variables that they name."""
    if settings.gateway_token is not None:
        yield settings.gateway_token.get_secret_value()
    servers = (settings.redis_url, *settings.redis_urls, settings.broker_url)
    urls = [url.get_secret_value() for url in servers if url is not None]
    for endpoint in settings.endpoint_table().values():
        if endpoint.api_key is not None:
            yield endpoint.api_key.get_secret_value()
        yield os.environ.get(endpoint.api_key_variable, "")
        if endpoint.base_url is not None:
            urls.append(endpoint.base_url)
    for url in urls:
        yield from secrets_of(url)
