"""A fork repeats the lateness of its source's jobs, even after the two runs diverge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.changes import AddObservation, Fork
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.tasks.job import JobKey
from tests.integration.scheduler.test_forks import Visited, opened
from tests.patience import wait_until

TICKS = 60  # of two minutes, from ten minutes before the morning
SLOW = 1.0  # seconds that a call takes; jobs are due after a quarter of that


class Lived(NamedTuple):
    """The journal of a run."""

    lines: list[ReadLine]

    @property
    def digest(self) -> str:
        return self.lines[-1].digest

    @property
    def calls(self) -> int:
        return sum(spent.cost.calls for line in self.lines for spent in spending(line.notes))

    @property
    def paid(self) -> set[JobKey]:
        """Return the jobs that cost a call."""
        return {spent.key for line in self.lines for spent in spending(line.notes) if spent.cost.calls}

    @property
    def inputs(self) -> dict[JobKey, str]:
        """Return each job's hash of inputs, where its answer or its late usage reported one."""
        found = {one.key: one.inputs for line in self.lines for one in (*line.notes.ended, *line.notes.late)}
        found |= {one.key: one.inputs for line in self.lines for one in line.notes.corrected}
        return {key: inputs for key, inputs in found.items() if inputs}

    @property
    def late(self) -> dict[JobKey, int]:
        """Return the jobs that ended late, with the ticks of their ends."""
        return {one.key: line.core.tick for line in self.lines for one in line.core.ended if one.reason == "late"}

    @property
    def taken(self) -> set[JobKey]:
        """Return the jobs that a worker had claimed by their end."""
        notes = (one for line in self.lines for one in line.notes.ended)
        return {one.key for one in notes if one.attempts}

    @property
    def answered(self) -> dict[JobKey, tuple[int, str]]:
        """Return the answers that arrived after their job's end, each with its tick and its outcome."""
        return {one.key: (line.core.tick, one.end) for line in self.lines for one in line.core.late}


class Town(NamedTuple):
    """The endpoint and the folder of the runs."""

    endpoint: FakeEndpoint
    folder: Path

    def live(self, run: str, fork: Fork | None = None, answered: JobKey | None = None) -> Lived:
        """Host a town of five at 12 ticks a second, and audit and replay it.

        Args:
            answered: a job that a worker claims and answers before the run is over, however slow the machine is.
        """
        town = Visited(0, start_minute=350)
        given = {
            "act_interval": 20,
            "tick_rate": 12,
            "workers": 2,
            "latency": {"plan": 3, "act": 2},
        }
        with opened(town, self.endpoint, self.folder, given, run=run, ticks=TICKS, fork=fork) as loop:
            drive(loop, town, on_tick=answered and self._wait_for(answered, loop.ledger.store))
            lines = list(read_journal(loop.ledger.store, 1, TICKS))
            assert audit(loop.ledger.client, run) == []
            replay(loop.ledger.client, run, redis_in_memory())
        return Lived(lines)

    def _wait_for(self, job: JobKey, store: RunStore) -> Callable[[Tick], None]:
        requests = self.endpoint.stats().requests
        awaited, offered = store.key("awaited"), store.key("offered")

        def wait(tick: Tick) -> None:
            if tick.number == job.tick + 1:  # before the job is late
                wait_until(lambda: self.endpoint.stats().requests > requests, "a worker to claim the job")
            elif tick.number == job.tick + 20:  # the job is late
                wait_until(
                    lambda: store.client.hexists(offered, job.text()) or not store.client.hexists(awaited, job.text()),
                    "its answer",
                )

        return wait


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with FakeEndpoint(latency=SLOW) as endpoint:
        yield Town(endpoint, tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def source(town: Town) -> Lived:
    return town.live("source")


def test_an_unchanged_fork_repeats_lateness(town: Town, source: Lived) -> None:
    assert source.late
    assert source.answered
    fork = town.live("same", Fork(run="source", tick=30))
    assert fork.calls == 0
    assert fork.digest == source.digest
    assert (fork.late, fork.answered) == (source.late, source.answered)


@pytest.mark.parametrize("at", [2, 6, 10, 12])
def test_a_changed_fork_makes_no_call_for_late_jobs_with_unchanged_inputs(town: Town, source: Lived, at: int) -> None:
    owner = min(owner for owner, _ in source.lines[0].core.joined if owner.startswith("agent:"))
    seen = AddObservation(at + 1, owner, {"text": "A stranger asks about the harbour."})
    fork = town.live(f"changed-{at}", Fork(run="source", tick=at, changes=(seen,)))
    assert fork.digest != source.digest
    same = {key for key, inputs in fork.inputs.items() if key.tick > at and source.inputs.get(key) == inputs}
    assert not same & fork.paid
    open_then = {key for key in source.late if key.tick <= at}
    assert not open_then & fork.paid
    repeated = (same | open_then) & source.late.keys()
    assert repeated
    assert {key: fork.late.get(key) for key in repeated} == {key: source.late[key] for key in repeated}
    taken = repeated & (open_then | fork.taken)  # no answer is awaited for the others
    assert {key: fork.answered.get(key) for key in taken} == {key: source.answered.get(key) for key in taken}


def test_a_job_of_the_tick_of_the_change_has_changed_inputs_and_is_asked_again(town: Town, source: Lived) -> None:
    job = min(key for key in source.inputs if key.kind == "plan")
    seen = AddObservation(job.tick, job.owner, {"text": "A stranger asks about the harbour."})
    fork = town.live("changed-then", Fork(run="source", tick=job.tick - 1, changes=(seen,)), answered=job)
    assert fork.inputs[job] != source.inputs[job]
    assert job in fork.paid
