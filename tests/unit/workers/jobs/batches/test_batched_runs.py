"""A run that asks in batch files thinks what it would without them, and its accounts agree, whatever fails."""

from __future__ import annotations

import pytest

from tests.unit.workers.jobs.batches.batch_case import OWNERS, Lived, live, spent


@pytest.fixture(scope="module")
def alone() -> Lived:
    """Return the run that asks singly."""
    return live(batch="off")


def test_a_batch_costs_half_and_changes_nothing_else(alone: Lived) -> None:
    batched = live()
    assert batched.ends == alone.ends
    assert alone.served.requests == batched.served.batch_requests == len(OWNERS)
    assert (alone.served.batches, batched.served.requests) == (0, 0)
    assert spent(batched.jobs).tokens == spent(alone.jobs).tokens == batched.served.batch_tokens
    assert all(job.spent.usd_micros == -(-job.spent.tokens // 2) for job in batched.jobs)


@pytest.mark.parametrize(
    ("took", "wait", "batched"), [(200, 300.0, True), (280, 300.0, False), (0, 300.0, False), (0, 4e3, True)]
)
def test_requests_wait_where_the_host_waits_longer_than_a_batch_takes(took: int, wait: float, batched: bool) -> None:
    served = live(took=took, wait=wait).served
    assert (served.batches > 0, served.requests) == (batched, 0 if batched else len(OWNERS))


@pytest.mark.parametrize(
    ("pack", "tier", "flex", "batched"),
    [
        ("auto", "auto", 50, False),
        ("auto", "auto", 60, True),
        ("auto", "standard", 50, True),
        ("off", "auto", 50, True),
    ],
)
def test_requests_wait_unless_packs_in_flex_cost_no_more(pack: str, tier: str, flex: int, batched: bool) -> None:
    served = live(pack=pack, service_tier=tier, service_tiers={"batch": 50, "flex": flex}).served
    assert (served.batches > 0, served.requests) == (batched, 0 if batched else len(OWNERS))


@pytest.mark.parametrize(
    ("fault", "in_batch"),
    [("batch_refused", 0), ("batch_failed", 0), ("batch_expired", 6), ("batch_partial", 6), ("batch_errors", 6)],
)
def test_a_request_unanswered_by_its_batch_is_sent_singly_in_the_first_attempt(
    alone: Lived, fault: str, in_batch: int
) -> None:
    lived = live({fault: 1.0})
    assert lived.ends == alone.ends
    assert (lived.served.batch_answers, lived.served.requests) == (in_batch, len(OWNERS) - in_batch)
    assert {job.claims for job in lived.jobs} == {1}
    assert spent(lived.jobs).calls == len(OWNERS)


@pytest.mark.parametrize("fault", ["batch_unknown", "batch_doubled", "batch_reordered"])
def test_odd_lines_reach_no_other_job(alone: Lived, fault: str) -> None:
    lived = live({fault: 1.0})
    assert lived.ends == alone.ends
    assert lived.served.requests == 0
    assert spent(lived.jobs).tokens == lived.served.batch_tokens


def test_a_useless_answer_costs_an_attempt_and_the_next_one_is_made_singly() -> None:
    lived = live({"not_json": 0.5})
    assert all(job.ended for job in lived.jobs)
    tokens = lived.served.batch_tokens + lived.served.prompt_tokens + lived.served.completion_tokens
    assert spent(lived.jobs).tokens == tokens
    assert spent(lived.jobs).calls == lived.served.batch_answers + lived.served.requests > len(OWNERS)


def test_a_batch_that_takes_too_long_is_cancelled_and_its_jobs_are_asked_singly(alone: Lived) -> None:
    """Half of its lines were answered when it was cancelled: they are charged, and no job uses them."""
    lived = live(batch_latency=10_000.0, wait=300.0, job_deadline=298.0)
    assert lived.ends == alone.ends
    assert (lived.served.batches, lived.served.requests) == (1, len(OWNERS))
    assert {job.claims for job in lived.jobs} == {2}
