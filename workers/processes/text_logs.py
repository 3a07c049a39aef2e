"""Logs as lines for people. Foreign names and messages in them are escaped, so they cannot control the terminal."""

from __future__ import annotations

import logging
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor

from cogitate.memory.errors import printable
from cogitate.memory.language.hidden_characters import visible

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
