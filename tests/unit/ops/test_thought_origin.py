"""Who wrote a thought, what it cost and how late it was, in a reader's words."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.ops.report.minds_page import cost_of, is_by_model, lateness_of, origin_of
from cogitate.scheduler.inspection.job_records import JobRecord, LateAnswer
from cogitate.scheduler.inspection.minds import Written
from cogitate.tasks.job import Cost

MODELS = {"default": "small-model-3"}
LATE = LateAnswer(
    tick=127,
    end="applied",
    source="llm",
    usage=Cost(calls=1, tokens=40),
    saved=False,
    model="default",
    prompt="",
    failure="",
    effects=(),
    appended=(),
)


def job(**facts: Any) -> JobRecord:
    usual = {"state": "applied", "decision": "admitted", "refused": "", "reason": "none", "successor": ""}
    named = {"id": "town/9/plan/agent:ada/0/0", "kind": "plan", "owner": "agent:ada", "tick": 9, "due": 90}
    return JobRecord(**{**named, **usual, "ended": 90, **facts})


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"source": "llm", "model": "default"}, "by the model small-model-3"),
        ({"source": "llm", "model": "other"}, "by the model other"),
        (
            {"source": "cached", "model": "default"},
            "by the model small-model-3, from its earlier answer to the same prompt",
        ),
        ({"source": "heuristic"}, "by a heuristic, without a model"),
        (
            {"source": "heuristic", "reason": "denied", "refused": "day:0 run calls"},
            "by a heuristic: the limit of calls for day 1 had no room for it",
        ),
        (
            {"source": "heuristic", "reason": "denied", "refused": "run:0 kind:plan usd_micros"},
            "by a heuristic: the limit of dollars for the whole run, for jobs of kind plan had no room for it",
        ),
        (
            {"source": "heuristic", "reason": "denied", "refused": "tick:65 owner:agent:ada tokens"},
            "by a heuristic: the limit of tokens for day 1, 1:05 AM, for this agent had no room for it",
        ),
        (
            {"source": "heuristic", "reason": "denied", "refused": "low_value"},
            "by a heuristic: its expected value is below what the limits of the day afford",
        ),
        ({"source": "heuristic", "reason": "late"}, "by a heuristic: the model's answer was not ready in time"),
        (
            {"source": "heuristic", "reason": "failed", "failure": "connection"},
            "by a heuristic: the endpoint could not be reached, or broke off its answers",
        ),
    ],
)
def test_a_thought_names_its_origin_and_the_reason(facts: dict[str, Any], words: str) -> None:
    written = Written(job(**facts))
    assert origin_of(written, MODELS) == words
    assert is_by_model(written) == words.startswith("by the model")
    assert lateness_of(written) == ""


def test_a_late_answer_is_the_models_though_a_heuristics_result_took_effect_in_time() -> None:
    one = job(source="heuristic", reason="late", late=LATE, usage=Cost(calls=1, tokens=99))
    assert origin_of(Written(one, late=True), MODELS) == (
        "by the model small-model-3, in place of a heuristic's result"
    )
    assert lateness_of(Written(one, late=True)) == "37 game minutes"
    assert cost_of(Written(one, late=True)) == "1 call, 40 tokens"
    assert not is_by_model(Written(one))
    assert lateness_of(Written(one)) == ""


def test_failed_attempts_count_in_the_cost_of_a_thought() -> None:
    one = job(source="llm", model="default", usage=Cost(calls=1, tokens=40), retried=Cost(calls=2, tokens=70))
    assert cost_of(Written(one)) == "1 call, 40 tokens; and 2 calls, 70 tokens for failed attempts"
    assert cost_of(Written(job(source="heuristic"))) == "nothing"
