"""How long an endpoint asks its callers to wait: in which header or words, and in which form."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from time import tzset
from types import SimpleNamespace

import pytest

from cogitate.workers.llm.replies import error_responses as module
from cogitate.workers.llm.replies.error_responses import requested_wait

NOW = 1_800_000_000.0
DAY = 86_400.0


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: NOW))


def date(seconds: float) -> datetime:
    return datetime.fromtimestamp(NOW + seconds, UTC)


def test_a_wait_is_read_from_the_headers(subtests: pytest.Subtests) -> None:
    for headers, seconds in [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "1200000"}, 1_200.0),
        ({"retry-after-ms": "soon"}, None),
        ({"retry-after": ".5"}, 0.5),
        ({"retry-after": "5 seconds, then retry"}, 5.0),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after": "9" * 400}, DAY),
        ({"retry-after": str(int(NOW) + 12)}, 12.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon", "x-ratelimit-reset": "9"}, 9.0),
        ({"retry-after": "99999999"}, DAY),
        ({"retry-after": format_datetime(date(30), usegmt=True)}, 30.0),
        ({"retry-after": format_datetime(date(-30), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1.2.3"}, None),
        ({"retry-after": "٣"}, None),
        # limits and when they are renewed
        ({"x-ratelimit-reset": "20"}, 20.0),
        ({"x-ratelimit-reset-tokens": "1m30s"}, 90.0),
        ({"x-ratelimit-reset-requests": "250ms"}, 0.25),
        ({"x-ratelimit-reset": "2d1h"}, DAY),
        ({"anthropic-ratelimit-tokens-reset": date(45).isoformat()}, 45.0),
        ({"x-ratelimit-tokens-reset": "3"}, 3.0),
        ({"y-ratelimit-reset": "20"}, None),
        ({"x-ratelimit-reset": "1000000000000"}, DAY),  # still a time in seconds
        ({"x-ratelimit-reset": str(int(NOW) + 12)}, 12.0),
        ({"x-ratelimit-reset": str(int(NOW + 12) * 1000)}, 12.0),
        ({"x-ratelimit-reset": "999999999"}, DAY),
        ({"x-ratelimit-reset": "soon"}, None),
        # of several the one that is used up, and of those the longest; else the shortest
        ({"x-ratelimit-reset-tokens": "9", "x-ratelimit-reset-requests": "4"}, 4.0),
        ({"x-ratelimit-reset-a": "9", "x-ratelimit-remaining-a": "0", "x-ratelimit-reset-b": "4"}, 9.0),
        (
            {
                "x-ratelimit-reset-tokens": "9",
                "x-ratelimit-remaining-tokens": "5",
                "x-ratelimit-reset-requests": "4",
                "x-ratelimit-remaining-requests": "0.0",
            },
            4.0,
        ),
        (
            {
                "x-ratelimit-reset-a": "9",
                "x-ratelimit-remaining-a": "0",
                "x-ratelimit-reset-b": "12",
                "x-ratelimit-remaining-b": "0",
                "x-ratelimit-reset-c": "1",
            },
            12.0,
        ),
    ]:
        with subtests.test(headers=headers, seconds=seconds):
            assert requested_wait(headers) == (None if seconds is None else pytest.approx(seconds))


def test_a_wait_is_read_from_the_words_of_an_error(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, float | None]] = [
        ("Rate limit reached. Please try again in 6m0s.", 360.0),
        ("please retry in 1.5s", 1.5),
        ("Retry in 20ms, please", 0.02),
        ('{"retryDelay: 34s"}', 34.0),
        ("try again in 1h2m3s", 3723.0),
        ("try again later", None),
        ("retry in 2 days", DAY),
        ("retry in 3d", DAY),
        ("Please retry after 20 seconds.", 20.0),
        ("Try again in 2 Minutes", 120.0),
        ("wait 1 hour", 3_600.0),
        ("wait for 1.5 seconds", 1.5),
        ("retry after 250 milliseconds", 0.25),
        ("wait and retry after 20", None),
    ]
    for words, seconds in cases:
        with subtests.test(words=words):
            assert requested_wait({}, words) == (None if seconds is None else pytest.approx(seconds))
            assert requested_wait({"retry-after": "5"}, words) == 5.0, "a header that says so comes first"
            assert requested_wait({"x-ratelimit-reset": "8"}, words) == pytest.approx(
                8.0 if seconds is None else seconds
            )


def test_only_a_limit_that_is_used_up_holds_back_after_an_error_of_another_kind() -> None:
    left = {"x-ratelimit-reset-a": "9", "x-ratelimit-remaining-a": "5", "x-ratelimit-reset-b": "4"}
    assert requested_wait(left) == 4.0
    assert requested_wait(left, limited=False) is None
    assert requested_wait(left | {"x-ratelimit-remaining-b": "0"}, limited=False) == 4.0
    assert requested_wait(left | {"retry-after": "3"}, limited=False) == 3.0


@pytest.mark.parametrize("late", [-7_200, 7_200])
def test_dates_are_read_by_the_clock_of_the_server(late: int) -> None:
    """Check servers whose clock is two hours fast or slow; a date that is none leaves ours."""
    theirs = format_datetime(date(late), usegmt=True)
    for named in (format_datetime(date(late + 30), usegmt=True), str(int(NOW) + late + 30)):
        assert requested_wait({"Date": theirs, "Retry-After": named}) == 30.0
    reset = {"Date": theirs, "x-ratelimit-reset": str(1000 * (int(NOW) + late + 30))}
    assert requested_wait(reset) == 30.0
    assert requested_wait({"Date": theirs, "Retry-After": "30"}) == 30.0
    assert requested_wait({"Date": "today", "Retry-After": str(int(NOW) + 30)}) == 30.0


def test_a_date_without_a_zone_is_in_universal_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    tzset()
    try:
        assert requested_wait({"retry-after": date(45).replace(tzinfo=None).isoformat()}) == pytest.approx(45.0)
        assert requested_wait({"retry-after": date(45).strftime("%a, %d %b %Y %H:%M:%S -0000")}) == pytest.approx(45.0)
    finally:
        monkeypatch.undo()
        tzset()
