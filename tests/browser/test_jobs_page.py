"""Flower's list of jobs: filters, pages, links, and retries and cancellations of all matches, with hostile texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cogitate.scheduler.config.controls import CancelJobs, Retry, read_asked
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.browser.accessibility import check_accessible
from tests.browser.quiet_page import WINDOWS, quiet_page
from tests.browser.scene import keep
from tests.integration.scheduler.ledger.ledger_case import Host, claimed, settle, worker
from tests.live_flower import flower, until

pytestmark = pytest.mark.system

ATTACK = "</script><img src=x onerror=alert(1)>"
HOSTILE = f"agent:{ATTACK}"
OWNERS = (HOSTILE, *(f"agent:villager {number}" for number in range(69)))
USER, PASSWORD = "ann", "secret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Yield the server of a run with seventy jobs, all late but one, and of another run with five open jobs."""
    with EmbeddedServer(tmp_path_factory.mktemp("jobs") / "data") as running, running.client() as client:
        host = Host(client, run="town", owners=OWNERS, model="small", cost=Cost(calls=1, tokens=30))
        jobs = host.turn(*(("think", owner) for owner in OWNERS))
        answering = worker(client, "worker-1")
        settle(answering, claimed(answering, next(job for job in jobs if job.key.owner == OWNERS[1])))
        host.until(jobs[0].due + 2)
        Host(client, run="busy", owners=OWNERS[:5], model="small", cost=Cost(calls=1, tokens=30)).turn(
            *(("think", owner) for owner in OWNERS[:5])
        )
        yield running


@pytest.fixture(scope="module")
def address(server: EmbeddedServer) -> Iterator[str]:
    with flower(server.data_dir, f"--basic-auth={USER}:{PASSWORD}") as found:
        yield found


def rows(page: Any) -> list[str]:
    found: list[str] = page.locator("#jobs tbody tr td:first-child").all_inner_texts()
    return found


@pytest.mark.parametrize("window", WINDOWS)
def test_the_list_filters_pages_and_links_to_jobs(browser: Any, address: str, window: str) -> None:
    with quiet_page(browser, address, window, login=(USER, PASSWORD)) as page:
        page.goto(f"{address}/cogitate/jobs?run=town")
        page.wait_for_selector("#jobs tbody tr")
        keep(page, f"jobs-{window}")
        first = rows(page)
        assert len(first) == 50
        real = re.findall(r"\d\d/\d\d/\d{4}, \d\d:\d\d:\d\d", page.locator("#jobs tbody").inner_text())
        assert len(real) == 50, "each row shows the job's end in real time too"
        page.get_by_role("link", name="Older").click()
        page.wait_for_url("**older=**")
        page.wait_for_selector("#jobs tbody tr")
        both = first + rows(page)
        assert (len(both), len(set(both))) == (70, 70)
        page.get_by_role("link", name="Newest").click()
        page.wait_for_url(f"{address}/cogitate/jobs?run=town")
        page.get_by_label("State, end or reason").select_option("late")
        page.get_by_label("Owner").fill(HOSTILE)
        page.get_by_role("button", name="Filter").click()
        page.wait_for_url("**state=late**")
        assert parse_qs(urlsplit(page.url).query) == {"run": ["town"], "state": ["late"], "owner": [HOSTILE]}
        page.wait_for_selector("#jobs tbody tr")
        assert page.get_by_label("Owner").input_value() == HOSTILE
        (shown,) = rows(page)
        assert ATTACK in shown
        page.locator("#jobs a").click()
        page.wait_for_selector("#life tbody tr")
        assert ATTACK in page.locator("#owner").inner_text()


def test_the_list_of_jobs_is_accessible(browser: Any, address: str) -> None:
    opened = browser.new_page(http_credentials={"username": USER, "password": PASSWORD})
    opened.goto(f"{address}/cogitate/jobs?run=town&state=late")
    opened.get_by_role("button", name="Count matches").click()
    opened.wait_for_selector("#all:not([hidden])")
    check_accessible(opened)
    opened.close()


def test_the_page_of_an_unknown_run_links_to_existing_runs(browser: Any, address: str) -> None:
    opened = browser.new_page(http_credentials={"username": USER, "password": PASSWORD})
    answer = opened.goto(f"{address}/cogitate/jobs?run=nowhere")
    assert answer.status == 404
    assert "There is no run 'nowhere'" in opened.get_by_role("alert").inner_text()
    check_accessible(opened)
    opened.get_by_role("link", name="town", exact=True).click()
    opened.wait_for_selector("#jobs tbody tr")
    opened.close()


def test_all_matches_are_retried_after_a_count(browser: Any, address: str, server: EmbeddedServer) -> None:
    opened = browser.new_page(http_credentials={"username": USER, "password": PASSWORD})
    asked: list[str] = []
    opened.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
    opened.goto(f"{address}/cogitate/jobs?run=town&state=late")
    opened.get_by_role("button", name="Count matches").click()
    opened.wait_for_selector("#all:not([hidden])")
    assert opened.locator("#matches").inner_text() == "Of 69 matches, 69 can be retried."
    opened.get_by_label("Reason, for the audit trail").fill(ATTACK)
    opened.get_by_role("button", name="Retry 69").click()
    until(lambda: opened.locator("#outcome").inner_text().startswith("69 requests: "), "the host's answer")
    assert asked == ["Ask a model again for 69 jobs? They are charged to today."]
    opened.goto(f"{address}/steering?run=town")
    opened.wait_for_selector("#history tbody tr")
    assert ATTACK in opened.locator("#history tbody tr").first.inner_text()
    opened.close()
    with server.client() as client:
        late = {one.id for one in JobHistory(client, "town").newest(0) if one.reason == "late"}
        sent = read_asked(RunStore.open(client, "town").items("controls"))
    assert {f"town/{one.control.job}" for one in sent if one is not None and type(one.control) is Retry} == late
    assert {(one.reason, one.by) for one in sent if one is not None} == {(ATTACK, "ann in Flower")}


@pytest.mark.parametrize("window", WINDOWS)
def test_open_matches_are_cancelled_for_a_reason_after_a_count(
    browser: Any, address: str, server: EmbeddedServer, window: str
) -> None:
    with server.client() as client:
        store = RunStore.open(client, "busy")
        client.delete(store.key("controls"))
    asked: list[str] = []
    _, width, height = WINDOWS[window]
    login = {"username": USER, "password": PASSWORD}
    with closing(browser.new_page(http_credentials=login, viewport={"width": width, "height": height})) as page:
        page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
        page.goto(f"{address}/cogitate/jobs?run=busy&kind=think")
        page.get_by_role("button", name="Count matches").click()
        page.wait_for_selector("#all:not([hidden])")
        assert page.locator("#open").inner_text() == "Of 5 open matches, 5 can be cancelled."
        assert page.get_by_role("button", name="Retry 0").is_disabled()
        page.get_by_role("button", name="Cancel 5").click()
        assert not asked, "a reason is required"
        page.get_by_label("Reason, for the audit trail").fill(ATTACK)
        keep(page, f"jobs-cancel-{window}")
        page.get_by_role("button", name="Cancel 5").click()
        until(lambda: page.locator("#outcome").inner_text().startswith("cancel 5 jobs: "), "the host's answer")
        assert asked == ["Cancel 5 jobs? Heuristics take their place, and the cost of their calls stays charged."]
        page.goto(f"{address}/steering?run=busy")
        page.wait_for_selector("#history tbody tr")
        keep(page, f"steering-cancelled-{window}")
        assert ATTACK in page.locator("#history tbody tr").first.inner_text()
    with server.client() as client:
        (sent,) = read_asked(RunStore.open(client, "busy").items("controls"))
        jobs = {one.id.partition("/")[2] for one in JobHistory(client, "busy").open()}
    assert sent is not None
    assert type(sent.control) is CancelJobs
    assert ({*sent.control.jobs}, sent.reason, sent.by) == (jobs, ATTACK, "ann in Flower")
