"""The list of jobs over plain HTTP: its filters are in the URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.ops.flower.flower_case import LOGIN, jobs, reading
from tests.live_flower import get


def listed(address: str, **filters: object) -> dict[str, Any]:
    return reading(address, "cogitate/jobs", "?" + urlencode({"run": "town-1", **filters}))


def test_jobs_are_listed_as_the_command_lists_them(server: EmbeddedServer, address: str) -> None:
    with server.client() as client:
        expected = [one.id for one in JobHistory(client, "town-1").newest(0)]
    page = listed(address)
    assert ([one["id"] for one in page["jobs"]], page["older"]) == (expected, "")


@pytest.mark.parametrize(
    ("filters", "matches"),
    [
        ({"state": "denied"}, lambda one: one.reason == "denied"),
        ({"kind": "plan", "state": "applied"}, lambda one: (one.kind, one.state) == ("plan", "applied")),
        ({"from": 40, "to": 60}, lambda one: 40 <= one.ended <= 60),
        ({"model": "other"}, lambda one: False),
    ],
)
def test_filters_in_the_url_choose_jobs(
    server: EmbeddedServer, address: str, filters: dict[str, Any], matches: Callable[[JobRecord], bool]
) -> None:
    with server.client() as client:
        expected = [one.id for one in JobHistory(client, "town-1").newest(0) if matches(one)]
    assert [one["id"] for one in listed(address, **filters)["jobs"]] == expected[:50]


def test_jobs_are_found_by_owner_model_and_worker(server: EmbeddedServer, address: str) -> None:
    answered = next(one for one in jobs(server) if one.source == "llm")
    given = {"owner": answered.owner, "model": answered.model, "worker": answered.worker}
    assert all(given.values())
    found = listed(address, **given)["jobs"]
    assert answered.id in [one["id"] for one in found]
    assert {(one["owner"], one["model"], one["worker"]) for one in found} == {tuple(given.values())}
    assert listed(address, worker="nobody")["jobs"] == []


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("state=lost", "lost"),
        ("from=soon", "from is a tick"),
        ("colour=red", "colour"),
        ("older=x", "is not a position"),
    ],
)
def test_an_invalid_filter_is_reported(address: str, query: str, why: str) -> None:
    for page in ("cogitate/jobs", "cogitate/jobs/data"):
        status, text = get(f"{address}/{page}?run=town-1&{query}", LOGIN)
        assert (status, why in text) == (400, True)


@pytest.mark.parametrize("page", ["overview", "budgets", "cadence", "charts", "steering", "cogitate/jobs"])
def test_the_page_of_an_unknown_run_links_to_those_that_exist(address: str, page: str) -> None:
    status, text = get(f"{address}/{page}?run=%3Cb%3E", LOGIN)
    assert status == 404
    assert "There is no run &#x27;&lt;b&gt;&#x27;" in text
    assert f'<a href="/watch/{page}?run=town-1">town-1</a>' in text
