"""What a host keeps of a crowd so that no tick looks at everybody: changed streams, open jobs by owner."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.open_jobs import OpenJobs
from cogitate.scheduler.engine.run_data import Streams
from tests.unit.scheduler.scheduler_case import ANN, BOB, open_job, seen


def test_a_stream_is_among_those_that_changed_until_they_are_taken() -> None:
    early = Stream(BOB)
    early.append(seen("Rain."), 1)  # before the run knows it
    streams = Streams({BOB: early, ANN: Stream(ANN)})
    assert streams.changed == [BOB]
    streams[ANN].set_counter("served:plan", 3)
    taken = streams.take_changed()
    assert [stream.owner for stream in taken] == [ANN, BOB]
    assert streams.take_changed() == ()
    for stream in taken:
        assert stream.take_changes()
    assert not streams[ANN].take_changes(), "nothing has changed since"
    streams[ANN].set_counter("served:plan", 4)
    assert streams.changed == [ANN]
    del streams[ANN]
    assert streams.changed == [], "it has left"


def test_streams_that_changed_come_by_the_names_of_their_owners() -> None:
    owners = [f"agent:{number:02}" for number in range(30)]
    streams = Streams({owner: Stream(owner) for owner in reversed(owners)})
    for owner in (*owners[1::2], *owners[::2]):
        streams[owner].append(seen("Rain."), 1)
    assert streams.changed == owners
    assert [stream.owner for stream in streams.take_changed()] == owners


def test_a_stream_added_later_reports_its_changes() -> None:
    streams = Streams()
    streams[ANN] = Stream(ANN)
    assert streams.changed == []
    streams[ANN].append(seen("Rain."), 1)
    assert streams.changed == [ANN]


@given(st.lists(st.tuples(st.sampled_from([ANN, BOB]), st.integers(1, 4), st.booleans())))
def test_the_jobs_of_an_owner_are_those_among_all_jobs(steps: list[tuple[str, int, bool]]) -> None:
    jobs = OpenJobs()
    for owner, tick, opens in steps:
        item = open_job(owner=owner, tick=tick)
        if opens:
            jobs[item.job.key] = item
        elif item.job.key in jobs:
            assert jobs.close(item.job.key).job.key == item.job.key
    restored = OpenJobs()
    restored[open_job(owner=ANN, tick=9).job.key] = open_job(owner=ANN, tick=9)
    restored.restore(jobs)
    for held in (jobs, restored):
        for owner in (ANN, BOB):
            assert held.owned.get(owner, {}) == {key: item for key, item in jobs.items() if key.owner == owner}
