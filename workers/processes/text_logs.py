"""Logs as lines for people. Names and messages in them come from others, and none of them can control the terminal."""

from __future__ import annotations

import logging
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor

from cogitate.memory.errors import printable
from cogitate.memory.language.hidden_characters import visible

_SEVERAL_LINES = ("exception", "stack")


def text_processors(stream: TextIO, time: str = "%Y-%m-%d %H:%M:%S") -> list[Processor]:
    """Return the processors that make a line of text of an event, coloured where the stream is a terminal.

    Args:
        time: how the time is written (see `time.strftime`).
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
    """Have the handlers of a logger of the standard library, such as Celery's, escape what they write."""
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
