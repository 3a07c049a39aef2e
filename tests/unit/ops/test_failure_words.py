"""Classes of failure as people read them, wherever they are shown."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from cogitate.ops.formatting.job_life import format_delay, job_life
from cogitate.ops.formatting.vitals import endpoints_table, format_breaker, format_class
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.job_records import JobRecord, LateAnswer
from cogitate.scheduler.ledger.claims import Tried
from cogitate.tasks.job import Cost
from cogitate.workers.llm.replies.error_responses import from_status
from cogitate.workers.llm.replies.failures import FAILURE_KINDS, STATUS

FAILING = EndpointVitals(
    endpoint="default",
    breaker="half-open",
    why="server",
    changed=12.0,
    next_probe=None,
    set_aside={},
    held=0.0,
    usual=0.4,
    in_flight=0,
    calls=9,
    requests=9,
    tokens=900,
    estimated=0,
    reasoning=0,
    failures={"server": 3, "timeout": 1},
    refused={"breaker_open": 2},
    waits=0,
    waited=0.0,
    openings=1,
)


def test_a_class_is_shown_with_its_status() -> None:
    assert format_class("server") == "server error 5xx"
    assert format_class("rate_limited") == "rate_limited 429"
    assert set(STATUS) < set(FAILURE_KINDS)


def test_an_unusable_answer_is_shown_with_the_failed_check() -> None:
    assert format_class("unusable:kind_failed") == "unusable (kind failed)"
    assert format_class("unusable") == "unusable", "as older versions keep it"
    assert format_class("owner 'agent:zoe' has left") == "owner 'agent:zoe' has left", "a precondition has no check"


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (401, "401"),
        (403, "403"),
        (402, "402 or 429"),
        (404, "404"),
        (400, "4xx"),
        (422, "4xx"),
        (409, "409"),
        (429, "429"),
        (500, "5xx"),
        (502, "5xx"),
        (503, "503 or 529"),
        (529, "503 or 529"),
    ],
)
def test_a_response_without_an_explanation_shows_a_similar_status(status: int, shown: str) -> None:
    assert format_class(from_status(status, {}, {}).kind).endswith(f" {shown}")


def test_an_unknown_failure_is_shown_unchanged() -> None:
    for name in ("timeout", "breaker_open", "late", "", "entry 3 is gone"):
        assert format_class(name) == name


def test_an_endpoint_shows_the_words_of_failures_and_breaker() -> None:
    assert format_breaker(FAILING) == "half-open for 12 s (server error 5xx), one call tests it"
    console = Console(width=100, file=io.StringIO())
    console.print(endpoints_table([FAILING]))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "server error 5xx 3×, timeout 1×" in shown
    assert "breaker_open 2×" in shown


def test_a_job_shows_the_words_of_attempts_and_end() -> None:
    one = JobRecord(
        id="town/3/plan/agent:ada/0/0",
        kind="plan",
        owner="agent:ada",
        tick=3,
        state="applied",
        decision="admitted",
        refused="",
        due=8,
        successor="",
        reason="failed",
        ended=8,
        source="heuristic",
        failure="breaker_open",
        because="server",
        tries=(Tried(number=1, model="small", ms=900, used=Cost(calls=1), failure="rate_limited"),),
    )
    life = dict(job_life(one, "", lambda *_: None))
    assert life["failure"] == "breaker_open (server error 5xx)"
    assert life["attempt"].endswith(": rate_limited 429")


@pytest.mark.parametrize(
    ("reason", "claims", "answered", "said"),
    [
        ("late", 0, None, "no worker took it"),
        ("late", 1, None, "no answer so far"),
        ("late", 1, 9, "1 tick"),
        ("late", 2, 1_208, "1,200 ticks"),
        ("failed", 1, None, ""),
        ("none", 1, None, ""),
    ],
)
def test_a_late_job_shows_how_late_its_answer_was(reason: str, claims: int, answered: int | None, said: str) -> None:
    one = JobRecord(
        id="town/3/plan/agent:ada/0/0",
        kind="plan",
        owner="agent:ada",
        tick=3,
        state="applied",
        decision="admitted",
        refused="",
        due=8,
        successor="",
        reason=reason,
        claims=claims,
        ended=8,
    )
    if answered is not None:
        late = LateAnswer(
            tick=answered,
            end="applied",
            source="llm",
            usage=Cost(),
            saved=False,
            model="small",
            prompt="",
            failure="",
            effects=(),
            appended=(),
        )
        one = msgspec.structs.replace(one, late=late)
    assert format_delay(one) == said
