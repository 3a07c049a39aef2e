"""Messages that are no jobs': whom they are for, and how they are told from those of jobs."""

from __future__ import annotations

import pytest

from cogitate.scheduler.ledger.claims import endpoint_hints, endpoint_of, is_trial_hint, trial_hints
from cogitate.tasks.job import Job, JobKey


def test_each_kind_and_each_endpoint_has_a_trial_hint() -> None:
    hints = trial_hints("town", ["plan", "act"])
    assert [hint.key for hint in hints] == [JobKey(0, kind, "readiness", 0, 0) for kind in ("plan", "act")]
    assert [endpoint_of(hint.key) for hint in hints] == [None, None]
    tries = endpoint_hints("town", "plan", ["default", "a:b"])
    assert [hint.key.text() for hint in tries] == ["0/plan/readiness:default/0/0", "0/plan/readiness:a:b/0/0"]
    assert [endpoint_of(hint.key) for hint in tries] == ["default", "a:b"]
    for hint in (*hints, *tries):
        assert hint == Job(run="town", key=hint.key, minute=0, due=0, reads=())
        assert is_trial_hint(hint.key)


@pytest.mark.parametrize(
    "key",
    [
        JobKey(1, "plan", "readiness", 0, 0),
        JobKey(1, "plan", "readiness:default", 0, 0),
        JobKey(0, "plan", "agent:readiness", 0, 0),
        JobKey(0, "plan", "agent:a", 0, 0),
        JobKey(0, "plan", "readiness2", 0, 0),
    ],
)
def test_the_key_of_a_job_is_not_a_trial_hint(key: JobKey) -> None:
    assert not is_trial_hint(key)
