"""Cells: where memory K+1 waits, and that nothing is lost or overtaken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.apply import apply
from cogitate.memory.effects import Append, Archive
from cogitate.memory.entry import INTO_SUMMARY, Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import cells, most_waiting, receive
from cogitate.memory.policies.compaction import choose, enforce_limits
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.rules import rules_of
from cogitate.scheduler.config.settings import Settings
from tests.unit.memory.cells_case import LIMITS, fails, filled, texts, writes
from tests.unit.tasks.policy_cases import KIND, OGILVY, Host

# -- where memory K+1 waits ------------------------------------------------------------------------


def test_memory_k_plus_1_waits_and_the_oldest_cell_goes_into_the_summary() -> None:
    host = filled(Host(LIMITS, writes))
    host.live({OGILVY: ["Event 4."]})
    stream = host.streams[OGILVY]
    assert texts(stream) == ["Event 3.", "Event 2.", "Event 1."]
    assert [entry.text for entry in stream.head.waiting] == ["Event 4."]
    host.live()
    assert texts(stream) == ["Event 4.", "Event 3.", "Event 2."]
    assert stream.head.summary == "Summary 1: Event 1."
    assert stream.head.waiting == []
    assert stream.archived[1].into == INTO_SUMMARY


def test_arriving_memories_wait_in_order() -> None:
    host = filled(Host(LIMITS, writes, latency=3))
    for number in range(4, 8):
        host.live({OGILVY: [f"Event {number}."]})
    stream = host.streams[OGILVY]
    assert texts(stream)[0] == "Event 4."
    assert [entry.text for entry in stream.head.waiting] == ["Event 5.", "Event 6.", "Event 7."]
    assert host.open[OGILVY].job.reads[0].numbers == (2, 3, 4)
    for _ in range(3):
        host.live()
    assert texts(stream) == ["Event 7.", "Event 6.", "Event 5."]
    assert [entry.minute for entry in reversed(cells(stream))] == [5, 6, 7]


def test_a_job_takes_no_more_cells_than_its_prompt_can_show() -> None:
    host = Host(MemoryLimits(policy="cells", cells=100), writes)
    host.live({OGILVY: [" ".join(["knock"] * 50)] * 200})
    assert len(host.open[OGILVY].entries) == 13
    host.live()
    assert len(host.streams[OGILVY].head.waiting) == 87


@pytest.mark.parametrize("k", [1, 2, 5])
def test_at_one_memory_a_tick_a_job_may_take_k_ticks(k: int) -> None:
    limits = MemoryLimits(policy="cells", cells=k)
    host = Host(limits, writes, latency=k)
    for number in range(20 * k):
        host.live({OGILVY: [f"Event {number}."]})
    assert host.ends["applied"] == len(host.asked) > 0
    assert host.ends["stale"] == 0
    chosen = Settings(policy="cells", cells=k)
    assert rules_of(chosen, [KIND], lambda owner: {}).latency_of(KIND) == k  # the default


def test_no_memory_overtakes_a_waiting_one() -> None:
    stream = Stream(OGILVY)
    stream.wait(Entry(type="observation", text="First.", minute=1))
    assert not receive(stream, Entry(type="observation", text="Second.", minute=2), LIMITS, 2)
    apply({OGILVY: stream}, enforce_limits(stream, LIMITS, 2), 2)
    assert texts(stream) == ["Second.", "First."]


def test_beyond_twice_k_the_boundary_does_not_wait_for_the_model() -> None:
    host = filled(Host(LIMITS, writes, latency=50))
    for number in range(4, 10):
        host.live({OGILVY: [f"Elara gave Ogilvy {number} coins."]})
    stream = host.streams[OGILVY]
    assert len(stream.head.waiting) == most_waiting(LIMITS) == 6
    host.live({OGILVY: ["The last straw."]})
    assert stream.head.waiting == []
    assert texts(stream) == ["The last straw.", "Elara gave Ogilvy 9 coins.", "Elara gave Ogilvy 8 coins."]
    assert "Elara" in stream.head.summary
    assert host.lost == {}


def test_the_job_that_the_boundary_overtook_is_stale() -> None:
    host = filled(Host(LIMITS, writes, latency=10))
    host.live({OGILVY: [f"Event {number}." for number in range(4, 12)]})
    assert host.open == {}
    host.live({OGILVY: ["Event 12."]})
    host.live({OGILVY: [f"Event {number}." for number in range(13, 20)]})
    for _ in range(12):
        host.live()
    assert host.ends["stale"] == 1


def test_other_observed_entries_leave_no_more_than_k_cells() -> None:
    host = filled(Host(LIMITS))
    summary = Entry(type="summary", text="The party left the crypt with the Sunstone.", minute=3)
    host.change((Append(OGILVY, summary),))
    host.live()
    assert host.streams[OGILVY].observed() == 3
    assert host.streams[OGILVY].head.summary


def test_waiting_memories_fill_free_cells() -> None:
    host = filled(Host(LIMITS, fails, latency=9))
    host.live({OGILVY: ["Event 4."]})
    host.change((Archive(OGILVY, (1,)),))
    host.live()
    assert texts(host.streams[OGILVY]) == ["Event 4.", "Event 3.", "Event 2."]


def test_reflections_and_plans_are_not_cells() -> None:
    host = filled(Host(LIMITS))
    host.live({OGILVY: [Entry(type="reflection", text="All is well.", minute=4)]})
    assert host.streams[OGILVY].count("reflection") == 1
    assert host.open == {}


def test_pruning_leaves_cells_alone() -> None:
    entries = [Entry(type="message", text=f"Line {i}.", minute=i, number=i) for i in range(1, 4)]
    assert choose(OGILVY, entries, LIMITS, 10_000).numbers == ()


turn = st.tuples(
    st.lists(st.text(max_size=40), max_size=9),  # what arrives
    st.sampled_from(["answers", "fails"]),  # what the model does in this tick
    st.booleans(),  # whether somebody else archives the oldest cell
)


# -- any interleaving ------------------------------------------------------------------------------


@given(
    turns=st.lists(turn, max_size=25),
    k=st.integers(1, 5),
    latency=st.integers(1, 6),
    policy=st.sampled_from(["heuristic", "unchanged"]),
)
@settings(max_examples=120, deadline=None)
def test_any_interleaving_keeps_k_cells_and_loses_nothing_silently(
    turns: Sequence[tuple[list[str], str, bool]], k: int, latency: int, policy: str
) -> None:
    limits = MemoryLimits(policy="cells", cells=k, on_failure=policy)  # type: ignore[arg-type]
    host = Host(limits, writes, latency=latency)
    stream, arrived = host.streams[OGILVY], 0
    for arrivals, model, archive in turns:
        host.model = writes if model == "answers" else fails
        if archive and stream.observed():
            host.change((Archive(OGILVY, (cells(stream)[-1].number,)),))
        host.live({OGILVY: arrivals})
        arrived += len(arrivals)
        assert stream.observed() <= k
        assert len(stream.head.waiting) <= most_waiting(limits)
        kept = len(stream.entries) + len(stream.head.waiting)
        assert arrived == kept + host.lost["memory.forgotten"]
        if policy == "heuristic":
            assert not host.lost
        minutes = [entry.minute for entry in [*stream.entries.values(), *stream.head.waiting]]
        assert minutes == sorted(minutes)
        assert enforce_limits(stream, limits, host.tick) == ()
