"""Operators' requests from Flower's pages over plain HTTP: who may send them, and how they are handled."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from cogitate.scheduler.config.controls import CancelJobs, ControlRequest, Retry, SetLimit, SetMode, read_asked
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.ops.flower.flower_case import LOGIN, jobs, reading
from tests.live_flower import flower, get, post
from tests.patience import LONGEST

TOKEN = "0123456789abcdef0123456789abcdef"
SENT = {"Cookie": f"_xsrf={TOKEN}", "X_XSRFToken": TOKEN, "Sec_Fetch_Site": "same-origin"}
PAUSE = {"run": "town-1", "action": "pause"}


@pytest.fixture
def asked(server: EmbeddedServer) -> Iterator[Callable[[], list[ControlRequest | None]]]:
    """Yield a function that returns the requests waiting for a host; delete them at the end."""
    with server.client() as client:
        store = RunStore.open(client, "town-1")
        yield lambda: read_asked(store.items("controls"))
        client.delete(store.key("controls"))


def test_a_logged_in_user_may_act_and_the_history_names_them(
    address: str, asked: Callable[[], list[ControlRequest | None]]
) -> None:
    status, text = post(f"{address}/steering/ask", PAUSE, LOGIN, **SENT)
    assert (status, json.loads(text)["state"]) == (200, "waits")
    assert "the run is finished" in json.loads(text)["outcome"]
    limit = {"run": "town-1", "action": "limit", "name": "day.tokens", "value": 70}
    assert post(f"{address}/steering/ask", limit, LOGIN, **SENT)[0] == 200
    (pause, lower) = asked()
    assert pause is not None
    assert lower is not None
    assert (pause.control, pause.by) == (SetMode("paused"), "operator in Flower")
    assert lower.control == SetLimit("day.run.tokens", 70)
    history = reading(address, "steering")["history"]
    assert all(abs(one["at"] - time.time()) < LONGEST for one in history if one["tick"]), "with real time too"
    assert [(one["asked"], one["by"], one["state"]) for one in history] == [
        ("limit day.run.tokens 70", "operator in Flower", "waits"),
        ("pause", "operator in Flower", "waits"),
    ]


def test_a_job_without_its_answer_can_be_retried_from_its_page(
    server: EmbeddedServer, address: str, asked: Callable[[], list[ControlRequest | None]]
) -> None:
    one = next(one for one in jobs(server) if one.reason == "denied" and one.appended)
    answered = next(one for one in jobs(server) if one.source == "llm")
    offers = [reading(address, "job", f"?id={quote(job.id)}")["job"]["retryable"] for job in (one, answered)]
    assert offers == [True, False]
    act = {"run": "town-1", "action": "retry", "jobs": [one.id]}
    status, text = post(f"{address}/steering/ask", act, LOGIN, **SENT)
    assert status == 200, text
    status, text = post(f"{address}/steering/ask", act | {"jobs": [answered.id]}, LOGIN, **SENT)
    assert (status, "has the requested result" in text) == (409, True)
    (retry,) = asked()
    assert retry is not None
    assert retry.control == Retry(one.id.partition("/")[2], one.owner, one.appended)


def test_a_cancellation_needs_a_reason_and_jobs_of_one_run(
    server: EmbeddedServer, address: str, asked: Callable[[], list[ControlRequest | None]]
) -> None:
    one = jobs(server)[0]
    act = {"run": "town-1", "action": "cancel_jobs", "jobs": [one.id, one.id], "reason": "it hangs"}
    for wrong, why in (
        ({"reason": " "}, "give a reason"),
        ({"jobs": []}, "a request cannot name 0 jobs"),
        ({"jobs": [one.id] * 1_001}, "a request cannot name 1,001 jobs"),
        ({"jobs": ["town-2/1/plan/agent:a/0/0"]}, "is not of run"),
        ({"jobs": ["town-1/1/plan/agent:nobody/0/0"]}, "has no job"),
    ):
        status, text = post(f"{address}/steering/ask", act | wrong, LOGIN, **SENT)
        assert (status, why in text) == (409, True), text
    assert asked() == []
    assert post(f"{address}/steering/ask", act, LOGIN, **SENT)[0] == 200, "a job that has ended is no error"
    (cancel,) = asked()
    assert cancel is not None
    assert (cancel.control, cancel.reason) == (CancelJobs((one.id.partition("/")[2],)), "it hangs")


def test_all_matches_are_retried_with_a_reason(
    server: EmbeddedServer, address: str, asked: Callable[[], list[ControlRequest | None]]
) -> None:
    denied = [one.id for one in jobs(server) if one.reason == "denied"]
    left = {one.id for one in jobs(server) if one.reason == "denied" and one.appended}
    status, text = get(f"{address}/cogitate/jobs/matches?run=town-1&state=denied", LOGIN)
    found = json.loads(text)
    assert (status, found["found"]) == (200, f"Of {len(denied)} matches, {len(left)} can be retried.")
    assert set(found["retry"]) == left
    act = {"run": "town-1", "action": "retry", "jobs": found["retry"], "reason": "<b>the model is back</b>"}
    status, text = post(f"{address}/steering/ask", act, LOGIN, **SENT)
    assert (status, f"{len(left)} requests: {len(left)} wait" in text) == (200, True)
    sent = {(f"town-1/{one.control.job}", one.reason, one.by) for one in asked() if one and type(one.control) is Retry}
    assert sent == {(job, "<b>the model is back</b>", "operator in Flower") for job in left}
    assert {one["reason"] for one in reading(address, "steering")["history"]} == {"<b>the model is back</b>"}


@pytest.mark.parametrize(
    ("login", "headers"),
    [
        ("", SENT),
        ("operator:wrong", SENT),
        (LOGIN, {}),
        (LOGIN, SENT | {"X_XSRFToken": TOKEN[::-1]}),
        (LOGIN, {"Cookie": SENT["Cookie"], "Sec_Fetch_Site": "same-origin"}),
        (LOGIN, SENT | {"Sec_Fetch_Site": "cross-site"}),
        (LOGIN, SENT | {"Sec_Fetch_Site": "same-site"}),
        (LOGIN, {"Cookie": SENT["Cookie"], "X_XSRFToken": TOKEN, "Origin": "http://elsewhere.example"}),
        (LOGIN, {"Cookie": SENT["Cookie"], "X_XSRFToken": TOKEN, "Origin": "null"}),
    ],
    ids=[
        "nobody",
        "wrong password",
        "nothing",
        "other token",
        "cookie only",
        "cross-site",
        "same-site",
        "origin",
        "hidden",
    ],
)
def test_requests_without_login_or_from_other_sites_are_refused(
    address: str, asked: Callable[[], list[ControlRequest | None]], login: str, headers: dict[str, str]
) -> None:
    status, _ = post(f"{address}/steering/ask", PAUSE, login, **headers)
    assert status in (401, 403)
    assert asked() == []


def test_headers_forbid_framing_and_foreign_scripts(address: str) -> None:
    for page in ("overview", "budgets", "cadence", "charts", "steering", "job?id=town-1", "workers", "tasks"):
        request = urllib.request.Request(f"{address}/{page}")
        request.add_header("Authorization", "Basic " + b64encode(LOGIN.encode()).decode())
        try:
            answer = urllib.request.urlopen(request, timeout=LONGEST)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            headers, text = answer.headers, answer.read().decode()
        assert headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "samesite=strict" in headers["Set-Cookie"].lower()
        if page in ("workers", "tasks") or answer.status == 404:
            continue  # Flower's own pages have inline scripts of their own
        (nonce,) = re.findall(r"script-src 'self' 'nonce-([\w-]+)'", headers["Content-Security-Policy"])
        inline = re.findall(r"<(?:script|style)(?![^>]*(?:src=|application/json))[^>]*>", text)
        assert len(inline) == 2
        assert all(f'nonce="{nonce}"' in tag for tag in inline)


@pytest.mark.parametrize(
    ("act", "status", "why"),
    [
        ({"run": "town-1", "action": "cancel"}, 400, "cancel"),
        ({"action": "pause"}, 400, "run"),
        (PAUSE | {"more": 1}, 400, "more"),
        ({"run": "nowhere", "action": "pause"}, 409, "there is no run"),
        ({"run": "town-1", "action": "throttle"}, 409, "share of the usual cadence"),
        ({"run": "town-1", "action": "throttle", "factor": 7}, 409, "is not a share"),
        ({"run": "town-1", "action": "limit", "name": "week.tokens", "value": 1}, 409, "week"),
        ({"run": "town-1", "action": "limit", "name": "day.tokens", "value": -1}, 409, "limit -1 is invalid"),
        ({"run": "town-1", "action": "retry", "jobs": ["other/1/plan/agent:a/0/0"]}, 409, "is not of run"),
        ({"run": "town-1", "action": "retry", "jobs": ["town-1/1/plan/agent:a/0/0"]}, 409, "has no job"),
        ({"run": "town-1", "action": "retry"}, 409, "give 1 to 100"),
        ({"run": "town-1", "action": "retry", "jobs": ["town-1/1/plan/agent:a/0/0"] * 101}, 409, "give 1 to 100"),
        (PAUSE | {"reason": "x" * 201}, 409, "give at most 200"),
    ],
)
def test_invalid_requests_are_explained_and_not_sent(
    address: str, asked: Callable[[], list[ControlRequest | None]], act: dict[str, object], status: int, why: str
) -> None:
    answered, text = post(f"{address}/steering/ask", act, LOGIN, **SENT)
    assert answered == status, text
    assert why in json.loads(text)["error"]
    assert asked() == []


def test_flower_without_authentication_allows_no_actions(
    server: EmbeddedServer, asked: Callable[[], list[ControlRequest | None]]
) -> None:
    with flower(server.data_dir) as unasked:
        status, text = post(f"{unasked}/steering/ask", PAUSE, **SENT)
        shown = json.loads(get(f"{unasked}/steering/data")[1])
    assert status == 403
    assert "--basic-auth=NAME:PASSWORD" in json.loads(text)["error"]
    assert shown["why_not"] == json.loads(text)["error"]
    assert asked() == []
