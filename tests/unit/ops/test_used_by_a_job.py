"""What `cogitate job` says a job used: reasoning apart, and nothing paid where an identical call had paid."""

from __future__ import annotations

import pytest

from cogitate.ops.formatting.job_life import format_used
from cogitate.scheduler.inspection.job_history import JobRecord
from cogitate.tasks.job import Cost


def record(*, saved: bool = False, settled: bool = True, reasoning: int = 0) -> JobRecord:
    return JobRecord(
        id="town/3/plan/agent:ada/0/0", kind="plan", owner="agent:ada", tick=3, state="applied", decision="admitted",
        refused="", due=8, successor="", reason="none", usage=Cost(calls=1, tokens=1_500), saved=saved,
        settled=settled, reserved=Cost(calls=1, tokens=3_300), reasoning=reasoning,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (record(), "1 call, 1,500 tokens"),
        (record(reasoning=1_200), "1 call, 1,500 tokens, 1,200 of the tokens for reasoning"),
        (record(saved=True), "1 call, 1,500 tokens, paid by an identical call"),
        (record(settled=False), "not known yet, 1 call, 3,300 tokens at most"),
    ],
)
def test_the_usage_names_what_reasoning_took(one: JobRecord, words: str) -> None:
    assert format_used(one) == words
