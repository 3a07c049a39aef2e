"""Logging, set up where the host has not: structlog events on stderr, warnings and worse."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import EventDict

from hosting.terminal import visible


def quiet() -> None:
    """Log warnings to stderr, unless the host has configured structlog: a library does not overrule its host."""
    if not structlog.is_configured():
        configure(0)


def _visible(logger: object, method: str, event: EventDict) -> EventDict:
    """Return the event with the hidden characters of its texts written out: others choose the names of owners."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}


def configure(verbosity: int) -> None:
    """Log to stderr: at verbosity 0 warnings, at 1 information too, at 2 everything."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            _visible,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Looked up at each event: a progress bar puts something else in the place of stderr while it is drawn.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
