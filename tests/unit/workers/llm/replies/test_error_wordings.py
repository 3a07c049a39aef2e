"""What providers say when they refuse, as it was seen: its class, the wait it names, and the form to try next."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cogitate.workers.llm.replies.error_responses import error_text, from_status
from cogitate.workers.llm.replies.reply import read_completion
from cogitate.workers.llm.requests.dialect import Dialect

ROOT = Path(__file__).parents[5]
SEEN: list[dict[str, Any]] = json.loads((ROOT / "tests/fixtures/error-wordings.json").read_text())


def test_a_refusal_has_the_class_that_its_words_say(subtests: pytest.Subtests) -> None:
    for row in SEEN:
        with subtests.test(row=row):
            failure = from_status(row["status"], row["body"], {})
            if row["kind"] == "unsupported":
                better = Dialect().without_named(error_text(row["body"]))
                assert failure.kind in ("bad_request", "server", "model_missing")
                assert better == replace(Dialect(), **row["then"])
            else:
                assert failure.kind == row["kind"]
            assert failure.retry_after == row["wait"]
            assert failure.context == row.get("context", 0)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Incorrect API key provided", "auth"),
        ("flagged by guidelines", "filtered"),
        ("quota exceeded", "quota_exhausted"),
    ],
)
def test_a_json_error_that_is_labelled_html_is_no_firewalls_page(message: str, kind: str) -> None:
    failure = from_status(403, {"error": {"message": message}}, {"Content-Type": "text/html; charset=utf-8"})
    assert failure.kind == kind


def test_an_account_without_money_is_no_limit_whatever_wait_it_names() -> None:
    body = {"error": {"code": "insufficient_quota", "message": "You exceeded your quota, see the rate limit docs"}}
    assert from_status(429, body, {"Retry-After": "60"}).kind == "quota_exhausted"


def test_each_wording_is_in_the_table_of_the_docs() -> None:
    page = (ROOT / "docs/reference/failures.md").read_text()
    for row in SEEN:
        line = next(line for line in page.splitlines() if row["seen"] in line and row["says"] in line)
        assert f"| {row['provider']} |" in line
        assert f"| {row['status']} | `{row['kind']}` |" in line


def test_an_error_within_a_success_is_read_though_its_text_has_line_breaks() -> None:
    reply = read_completion(b'{"error": {"code": 429, "message": "Slow down:\ntoo many requests"}}', {})
    assert reply.failure is not None
    assert (reply.failure.kind, reply.unreported) == ("rate_limited", "nothing")
