"""Default logging if the host configures none: structlog events on stderr, warnings and above.

A line is text, or JSON with the setting `log`.
"""

from __future__ import annotations

import logging
import sys
import traceback

import structlog

from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.logs import json_processors, text_processors


def quiet() -> bool:
    """Log warnings to stderr unless the host has configured structlog; return whether this function did so."""
    configured_here = not structlog.is_configured()
    if configured_here:
        configure(0)
    return configured_here


def follow(settings: Settings) -> None:
    """Switch to the log format of the settings; keep destination and level."""
    if settings.log == "json":
        structlog.configure(processors=json_processors())


def where_raised(error: BaseException) -> str:
    """Return the lines of code that led to an error, without its message or values, which may quote memories."""
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()


def configure(verbosity: int) -> None:
    """Log events to stderr: warnings with verbosity 0, information with 1, everything with 2."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    structlog.configure(
        processors=text_processors(sys.stderr, "%H:%M:%S"),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Look stderr up at each event: a progress bar replaces it while it is drawn.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
