"""What is deleted of the archive, and what stays because it is young, or because an open job may read it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.limits import MemoryLimits
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.retention import Retention, cut
from cogitate.scheduler.engine.run_data import Streams
from cogitate.tasks.job import Reads
from tests.unit.scheduler.scheduler_case import ANN, BOB, open_job, seen

NOW = 100


def facts(minutes_per_tick: int = 1, **limits: Any) -> Facts:
    return Facts(limits=MemoryLimits(**({"retention": 60} | limits)), minutes_per_tick=minutes_per_tick)


def archived(*ticks: int, owner: str = ANN) -> Stream:
    """A stream whose entry n was archived at the n-th of these ticks, and a live entry after them."""
    stream = Stream(owner)
    for number in range(len(ticks) + 1):
        stream.append(seen(f"Tree {number}."), 1)
    for number, tick in enumerate(ticks, 1):
        stream.archive(number, tick)
    return stream


def forgotten(stream: Stream, known: Facts, *jobs: OpenJob) -> list[int]:
    deleted = Retention().forget(Streams({stream.owner: stream}), known, jobs, NOW)
    assert all(number not in stream.entries for _, numbers in deleted for number in numbers)
    return [number for owner, numbers in deleted for number in numbers if owner == stream.owner]


def test_an_archived_entry_stays_for_the_retention_and_no_longer() -> None:
    assert forgotten(archived(38, 39, 40, 41), facts()) == [1, 2]
    assert forgotten(archived(93, 94, 95), facts(minutes_per_tick=10)) == [1]
    assert forgotten(archived(40, 41), facts()) == []


def test_the_oldest_of_too_many_are_deleted_at_any_age() -> None:
    assert forgotten(archived(95, 90, 96, 90), facts(max_archived=2)) == [2, 4]
    assert forgotten(archived(95, 90, 96, 90), facts(max_archived=3)) == [2]
    assert forgotten(archived(95, 90, 96, 90), facts(max_archived=4)) == []
    assert forgotten(archived(95, 90), facts(max_archived=0)) == [1, 2]


def test_entries_archived_since_an_open_jobs_request_are_kept_for_it() -> None:
    assert forgotten(archived(10, 20, 30), facts(), open_job(tick=20)) == [1, 2]
    assert forgotten(archived(10, 20, 30), facts(), open_job(tick=19), open_job(tick=50)) == [1]


def test_an_entry_that_an_open_job_names_stays_and_one_of_the_same_number_of_another_owner_goes() -> None:
    names_ann = open_job(tick=90, reads=[Reads(ANN, 0, (2,))])
    assert forgotten(archived(10, 20, 30), facts(), names_ann) == [1, 3]
    assert forgotten(archived(10, 20, 30, owner=BOB), facts(), names_ann) == [1, 2, 3]


def test_only_owners_that_lose_entries_are_reported_in_order() -> None:
    streams = {BOB: archived(10, owner=BOB), "agent:cy": archived(99, owner="agent:cy"), ANN: archived(20, 10)}
    assert Retention().forget(Streams(streams), facts(), [], NOW) == ((ANN, (1, 2)), (BOB, (1,)))


def test_owners_are_reported_in_order() -> None:
    owners = [f"agent:{letter}" for letter in "hcgaebfd"]
    streams = Streams({owner: archived(50, owner=owner) for owner in owners})
    retention = Retention()
    assert retention.forget(streams, facts(), [], NOW) == ()
    for stream in streams.take_changed():
        stream.take_changes()
    assert retention.forget(streams, facts(), [], NOW + 11) == tuple((owner, (1,)) for owner in sorted(owners))


@settings(max_examples=40)  # lives of 24 ticks
@given(st.data())
def test_checking_only_when_due_deletes_the_same_as_checking_always(data: st.DataObject) -> None:
    known = facts(retention=data.draw(st.integers(1, 6)), max_archived=data.draw(st.none() | st.integers(0, 4)))
    owners = [f"agent:{letter}" for letter in "abcd"]
    kept, looked_at = (Streams({owner: Stream(owner) for owner in owners}) for _ in range(2))
    retention = Retention()
    for tick in range(1, 25):
        here = data.draw(st.lists(st.sampled_from(owners), max_size=6))
        for owner in here:
            for streams in (kept, looked_at):
                number = streams[owner].append(seen(f"Tree {tick}."), tick).number
                streams[owner].archive(number, tick)
        reads = [
            Reads(o, 0, (n,)) for o, n in data.draw(st.lists(st.tuples(st.sampled_from(owners), st.integers(1, 9))))
        ]
        jobs = [open_job(tick=data.draw(st.integers(max(0, tick - 4), tick)), reads=reads)] if reads else []
        assert retention.forget(kept, known, jobs, tick) == Retention().forget(looked_at, known, jobs, tick)
        for stream in kept.take_changed():
            stream.take_changes()  # they are written with the tick
        if len(kept) > 2 and data.draw(st.integers(0, 9)) == 0:
            gone = data.draw(st.sampled_from(sorted(kept)))
            owners.remove(gone)
            del kept[gone], looked_at[gone]


@pytest.mark.parametrize("most", [2, 3])
def test_exactly_the_named_owners_are_cut_to_their_limits(most: int) -> None:
    streams = {owner: Stream(owner) for owner in (ANN, BOB)}
    for stream in streams.values():
        for minute in range(5):
            stream.append(seen(f"Tree {minute}.", minute), minute)
    limits = MemoryLimits(max_observations=most)
    effects = cut(streams, [ANN], limits, tick=9, minute=9, names={})
    assert {effect.owner for effect in effects} == {ANN}
    assert (streams[ANN].observed(), streams[BOB].observed()) == (most, 5)
    assert {item.tick for item in streams[ANN].archived.values()} == {9}
