"""Default logging where the host configures none: structlog events on stderr, warnings and worse.

Lines are for people, or with the setting `log` JSON for machines.
"""

from __future__ import annotations

import logging
import sys
import traceback

import structlog

from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.json_logs import json_processors
from cogitate.workers.processes.text_logs import text_processors


def quiet() -> bool:
    """Log warnings to stderr, unless the host has configured structlog: a library does not overrule its host.

    Return whether it had not.
    """
    ours = not structlog.is_configured()
    if ours:
        configure(0)
    return ours


def follow(settings: Settings) -> None:
    """Log in the form that the settings name, to the same place and as much as before."""
    if settings.log == "json":
        structlog.configure(processors=json_processors())


def where_raised(error: BaseException) -> str:
    """Return the lines of code that led to an error, without its text or any value: they may hold memories."""
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()


def configure(verbosity: int) -> None:
    """Log events to stderr: warnings with verbosity 0, information with 1, everything with 2."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    structlog.configure(
        processors=text_processors(sys.stderr, "%H:%M:%S"),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # stderr is looked up at each event, since a progress bar replaces it while it is drawn.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
