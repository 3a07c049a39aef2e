"""Formats of logs, by the setting `log`: lines for people, or one JSON object per event for log collectors.

Foreign names and messages are escaped in lines for people, so they cannot control the terminal. A JSON object has the
time with date and zone; one about a job also has the run, tick and attempt beside its id.
"""

from __future__ import annotations

import logging
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor

from cogitate.memory.errors import printable
from cogitate.memory.language.hidden_characters import visible
from cogitate.tasks.job import split_job_id

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


def placed(logger: object, method: str, event: EventDict) -> EventDict:
    """Return the event with the run and tick of the job that it names, and with the job's id instead of its key."""
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
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(default=str),
    ]


def format_foreign(logger: logging.Logger) -> None:
    """Make the handlers of a standard-library logger, such as Celery's, write the same format."""
    *before, render = json_processors()
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render]
    )
    for handler in logger.handlers:
        handler.setFormatter(formatter)
