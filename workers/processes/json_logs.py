"""Logs as JSON lines, one object per event, for log collectors: the setting `log`.

Each has the time with date and zone; events about a job also have the run, tick and attempt beside its id.
"""

from __future__ import annotations

import logging

import structlog
from structlog.typing import EventDict, Processor

from cogitate.tasks.job import split_job_id


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
