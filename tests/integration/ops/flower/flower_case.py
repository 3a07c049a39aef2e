"""Shared parts of the tests of Flower's pages over HTTP: the login, a page's data, and the jobs of the shown run."""

from __future__ import annotations

import json
from typing import Any

from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.live_flower import get

LOGIN = "operator:secret"


def reading(address: str, page: str, query: str = "") -> dict[str, Any]:
    """Return the data of a page."""
    status, text = get(f"{address}/{page}/data{query}", LOGIN)
    assert status == 200, text
    found: dict[str, Any] = json.loads(text)
    return found


def jobs(server: EmbeddedServer) -> list[JobRecord]:
    """Return all jobs of the run."""
    with server.client() as client:
        return list(JobHistory(client, "town-1").all())
