"""The state in which Flower shows a task: Celery's SUCCESS only says that the task has ended.

The result of a task describes the outcome of its job (`cogitate.workers.jobs.runner.Outcome`), and the state follows
it.
"""

from __future__ import annotations

from typing import Any

STATES = {
    "heuristic:": "HEURISTIC",  # the heuristic replaced a model
    "late:": "LATE",
    "no result": "NO RESULT",
    "not run:": "NOT RUN",
    "put aside:": "PUT ASIDE",
}


def with_true_state(task: Any) -> Any:
    """Return Flower's task with the state that its pages should show; `task` is a copy."""
    result = str(getattr(task, "result", None) or "").strip("'\"")
    if task.state == "SUCCESS":
        task.state = next((state for begin, state in STATES.items() if result.startswith(begin)), task.state)
    return task
