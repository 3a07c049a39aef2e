"""Logs as JSON lines: an object an event, and where it concerns a job its run and tick."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
import structlog

from cogitate.workers.processes.logs import format_foreign, json_processors, placed

KEY = "7/plan/agent:ada/0/0"


@pytest.mark.parametrize(
    ("event", "found"),
    [
        ({"job": f"town/{KEY}"}, {"job": f"town/{KEY}", "run": "town", "tick": 7}),
        ({"job": KEY, "run": "town"}, {"job": f"town/{KEY}", "run": "town", "tick": 7}),
        ({"job": f"town/{KEY}", "run": "mill"}, {"job": f"town/{KEY}", "run": "town", "tick": 7}),
        ({"job": KEY}, {"job": KEY}),
        ({"job": KEY, "run": ""}, {"job": KEY, "run": ""}),
        ({"job": "odd", "run": "town"}, {"job": "odd", "run": "town"}),
        ({"job": 7, "run": "town"}, {"job": 7, "run": "town"}),
        ({"run": "town", "tick": 3}, {"run": "town", "tick": 3}),
        ({}, {}),
    ],
)
def test_an_event_about_a_job_has_its_run_and_tick(event: dict[str, Any], found: dict[str, Any]) -> None:
    assert placed(None, "info", dict(event)) == found


def written(processors: list[Any], **event: Any) -> dict[str, Any]:
    out = io.StringIO()
    log = structlog.wrap_logger(structlog.PrintLogger(out), processors=processors)
    log.warning("job.settled", **event)
    (line,) = out.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_has_level_zoned_time_and_context() -> None:
    with structlog.contextvars.bound_contextvars(attempt=2):
        found = written(json_processors(), job=f"town/{KEY}", what={1, 2} - {2})
    assert found.pop("timestamp").endswith("Z")
    assert found == {
        "event": "job.settled",
        "level": "warning",
        "attempt": 2,
        "job": f"town/{KEY}",
        "run": "town",
        "tick": 7,
        "what": "{1}",
    }


def test_an_error_is_part_of_its_line() -> None:
    try:
        raise ValueError("no tea")
    except ValueError:
        found = written(json_processors(), exc_info=True)
    assert found["exception"].splitlines()[-1] == "ValueError: no tea"


def test_other_libraries_write_the_same_lines() -> None:
    out = io.StringIO()
    logger = logging.Logger("celery")
    logger.addHandler(logging.StreamHandler(out))
    logger.addHandler(logging.StreamHandler(out))
    format_foreign(logger)
    logger.error("lost %s", "a worker")
    for line in (lines := out.getvalue().splitlines()):
        found = json.loads(line)
        assert found.pop("timestamp").endswith("Z")
        assert found == {"event": "lost a worker", "level": "error"}
    assert len(lines) == 2, "every handler"
