"""Jobs that run in the host's own process: at once, in order, by the same runner as in a worker."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.hosting import inline
from cogitate.hosting.inline import InlinePublisher
from cogitate.scheduler.config.settings import PinnedSettings
from tests.unit.scheduler.scheduler_case import ANN, BOB, open_job


class Ran:
    """A runner that notes what it runs and how it was made."""

    def __init__(self, client: Any, claims: Any, heartbeat: Any, settings: Any) -> None:
        self.made = (client, claims, heartbeat, settings)
        self.did: list[str] = []

    def run(self, job: str) -> None:
        self.did.append(job)

    def close(self) -> None:
        self.did.append("close")


def test_published_jobs_have_run_once_publish_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "Runner", Ran)
    client, settings = FakeRedis(), PinnedSettings.tuned(lease=10.0)
    publisher = InlinePublisher(client, settings)
    runner: Any = publisher._runner
    jobs = [open_job(owner=owner).job for owner in (BOB, ANN)]
    assert publisher.publish(jobs) == 2
    assert publisher.publish([]) == 0
    assert runner.did == [job.id for job in jobs]
    publisher.close()
    assert runner.did[-1] == "close"
    used, claims, heartbeat, given = runner.made
    assert (used, given) == (client, settings)
    assert heartbeat._beat == claims.beat
    assert heartbeat._interval == 2.0, "five beats a lease"
