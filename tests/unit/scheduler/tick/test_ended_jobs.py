"""The warnings of jobs that the scheduler drops."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.journal.lines import Core, TickNotes
from cogitate.scheduler.tick.ended_jobs import EndedJobs
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.run_lines_case import ANN, decided


@pytest.mark.parametrize("answered", [True, False])
def test_a_warning_of_dropped_jobs_says_if_their_model_has_not_answered_yet(answered: bool) -> None:
    ended = EndedJobs("town", lambda kind: answered and kind == "act")
    slow = decided(JobKey(1, "act", ANN, 0, 0), "dropped", "too_slow")
    core = Core(tick=1, minute=1, decided=(slow,))
    with capture_logs() as logs:
        ended.note(FinishedTick(core=core, notes=TickNotes(), opened=(), streams=(), faults=()))
    (warned,) = logs
    assert (warned["event"], warned["why"]) == ("job.dropped", "too_slow")
    assert ("has not answered yet" in warned["then"]) is not answered
