"""A fork of a run with `record` reuses a recorded answer where a job differs but its prompt is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.ops.capsule.writing import write_capsule
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.changes import Fork, SetSetting
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.run_store import RunStore
from tests.integration.scheduler.test_forks import Visited, opened
from tests.live_redis import empty_redis

AT, TICKS = 30, 90  # ticks of two minutes, from ten o'clock on
OTHER = (SetSetting("morning", 365),)  # an input of every job, but not part of any later prompt of that day


class Towns(NamedTuple):
    """Runs of a town of five, on one server."""

    client: Redis
    endpoint: FakeEndpoint
    folder: Path

    def live(self, run: str, *, record: bool, fork: Fork | None = None) -> list[tuple[str, int]]:
        """Host, audit and replay a run; return the source of each answer with the calls that it cost."""
        town, given = Visited(0, start_minute=600), {"act_interval": 15, "record": record}
        how: dict[str, Any] = {"run": run, "ticks": TICKS, "inline": True, "client": self.client, "fork": fork}
        with opened(town, self.endpoint, self.folder, given, **how) as loop:
            drive(loop, town)
        assert audit(self.client, run) == []
        replay(self.client, run, redis_in_memory())
        lines = list(read_journal(RunStore.open(self.client, run), AT + 1, TICKS))
        calls = {one.key: one.cost.calls for line in lines for one in spending(line.notes)}
        return [
            (note.source, calls.get(note.key, 0))
            for line in lines
            for note in line.notes.ended
            if note.key.tick > AT and note.source in ("llm", "cached")
        ]


@pytest.fixture
def towns(tmp_path: Path) -> Iterator[Towns]:
    with FakeEndpoint() as endpoint:
        yield Towns(empty_redis(), endpoint, tmp_path)


@pytest.mark.parametrize("record", [False, True])
def test_a_fork_reuses_an_answer_only_if_its_source_recorded_it(towns: Towns, record: bool) -> None:
    source = towns.live("source", record=record)
    assert len(source) > 10
    found = towns.live("fork", record=False, fork=Fork(run="source", tick=AT, changes=OTHER))
    assert len(found) > 10
    if record:
        assert {*found} == {("cached", 0)}
    else:
        assert {*found} == {("llm", 1)}


def test_recorded_answers_pass_through_capsules_and_forks(towns: Towns) -> None:
    towns.live("source", record=True)
    file = towns.folder / "source.capsule"
    write_capsule(towns.client, "source", Settings(data_dir=towns.folder), file)
    towns.live("same", record=False, fork=Fork(run="source", tick=AT))
    delete_run(towns.client, "source", force=True)
    for run, capsule in (("source", file), ("same", None)):
        fork = Fork(run=run, tick=AT, changes=OTHER, capsule=capsule)
        assert {*towns.live(f"fork-{run}", record=False, fork=fork)} == {("cached", 0)}
    for run in ("same", "fork-source", "fork-same"):
        delete_run(towns.client, run, force=True)
    assert not [key for key in towns.client.scan_iter() if b"answers" in key or b"recorded" in key]
