"""What `cogitate job` says a job used: reasoning apart, and nothing paid where an identical call had paid."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.ops.formatting.budget import format_cost
from cogitate.ops.formatting.job_life import format_used, job_life
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.tasks.job import Cost


def record(
    *, saved: bool = False, settled: bool = True, reasoning: int = 0, packed: int = 0, embedded: int = 0
) -> JobRecord:
    return JobRecord(
        id="town/3/plan/agent:ada/0/0",
        kind="plan",
        owner="agent:ada",
        tick=3,
        state="applied",
        decision="admitted",
        refused="",
        due=8,
        successor="",
        reason="none",
        usage=Cost(calls=1, tokens=1_500),
        saved=saved,
        settled=settled,
        reserved=Cost(calls=1, tokens=3_300),
        reasoning=reasoning,
        packed=packed,
        hybrid=embedded > 0,
        embedded=embedded,
    )


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (record(), "1 call, 1,500 tokens"),
        (record(reasoning=1_200), "1 call, 1,500 tokens, 1,200 of the tokens for reasoning"),
        (record(embedded=300), "1 call, 1,500 tokens, 300 of the tokens for vectors"),
        (record(packed=4), "1 call, 1,500 tokens, its share of one request for 4 jobs"),
        (record(saved=True), "1 call, 1,500 tokens, paid by an identical call"),
        (record(settled=False), "not known yet, 1 call, 3,300 tokens at most"),
    ],
)
def test_the_usage_names_what_tokens_were_for(one: JobRecord, words: str) -> None:
    assert format_used(one) == words


@pytest.mark.parametrize(("embedded", "said"), [(300, ["chosen by words and vectors"]), (0, [])])
def test_a_job_says_whether_vectors_chose_its_memories(embedded: int, said: list[str]) -> None:
    life = job_life(msgspec.structs.replace(record(embedded=embedded), ended=8), "", lambda *_: None)
    assert [text for name, text in life if name == "memories"] == said


def test_a_job_that_paid_for_an_attempt_is_not_shown_as_shared() -> None:
    one = msgspec.structs.replace(record(saved=True), retried=Cost(calls=1, tokens=900))
    assert "this job's earlier attempts paid 1 call, 900 tokens" in format_used(one)


def test_amounts_below_a_cent_are_shown_to_the_micro_dollar() -> None:
    assert format_cost(Cost(usd_micros=42)) == "$0.000042"


def test_a_reservation_names_the_windows_with_a_limit() -> None:
    cells = ("day:0 run", "day:0 kind:plan", "run:0 run")
    one = msgspec.structs.replace(record(), cells=cells, ended=8)

    def limit_of(window: str, scope: str, unit: str) -> int | None:
        return 9 if (window, scope, unit) == ("day:0", "kind:plan", "calls") else None

    assert dict(job_life(one, "", limit_of))["reserved"] == "1 call, 3,300 tokens of day 1 (kind:plan)"
    assert dict(job_life(one, "", lambda *_: None))["reserved"] == "1 call, 3,300 tokens"
