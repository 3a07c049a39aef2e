"""Cells: who gets a summary in a tick, and the state after a failure or an empty answer."""

from __future__ import annotations

from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import cells
from cogitate.memory.summaries.long_term import estimate_tokens
from tests.unit.memory.cells_case import LIMITS, fails, filled, texts, writes
from tests.unit.tasks.policy_cases import HENDERSON, OGILVY, Host

UNCHANGED = MemoryLimits(policy="cells", cells=3, on_failure="unchanged")


# -- execution -------------------------------------------------------------------------------------


def test_execute_all_need_summary() -> None:
    host = filled(Host(LIMITS, writes, owners=(OGILVY, HENDERSON)))
    host.live({OGILVY: ["Event 4."], HENDERSON: ["Event 4."]})
    host.live()
    assert sorted(host.asked) == [HENDERSON, OGILVY]
    for stream in host.streams.values():
        assert stream.head.summary == "Summary 1: Event 1."
        assert texts(stream) == ["Event 4.", "Event 3.", "Event 2."]


def test_execute_none_need_summary() -> None:
    host = filled(Host(LIMITS, writes, owners=(OGILVY, HENDERSON)))
    host.live()
    assert host.asked == []
    assert all(len(cells(stream)) == 3 for stream in host.streams.values())


def test_execute_mixed() -> None:
    host = Host(LIMITS, writes, owners=(OGILVY, HENDERSON))
    for number in range(1, 5):
        host.live({OGILVY: [f"Event {number}."]})
    host.live({HENDERSON: ["A first one."]})
    assert host.asked == [OGILVY]
    assert texts(host.streams[OGILVY]) == ["Event 4.", "Event 3.", "Event 2."]
    assert texts(host.streams[HENDERSON]) == ["A first one."]


def test_one_memory_a_tick_costs_one_summary_a_tick() -> None:
    host = filled(Host(LIMITS, writes), 20)
    stream = host.streams[OGILVY]
    assert texts(stream) == ["Event 19.", "Event 18.", "Event 17."]
    assert [entry.text for entry in stream.head.waiting] == ["Event 20."]
    assert stream.head.summary_version == len(host.asked) == 16


# -- failure ---------------------------------------------------------------------------------------


def test_execute_llm_error_fallback() -> None:
    host = filled(Host(UNCHANGED, fails))
    host.live({OGILVY: ["Event 4."]})
    host.live()
    assert texts(host.streams[OGILVY]) == ["Event 3.", "Event 2.", "Event 1."]
    assert host.streams[OGILVY].head.waiting == []
    assert host.lost == {"memory.forgotten": 1}


def test_fallback_preserves_existing_memory() -> None:
    host = filled(Host(UNCHANGED, writes), 5)
    host.live()
    stream = host.streams[OGILVY]
    before = (texts(stream), stream.head.summary, stream.head.summary_version)
    host.model = fails
    host.live({OGILVY: ["Forgotten."]})
    host.live()
    assert (texts(stream), stream.head.summary, stream.head.summary_version) == before
    host.model = writes
    host.live({OGILVY: ["Remembered."]})
    host.live()
    assert texts(stream)[0] == "Remembered."


def test_only_the_memory_of_the_failed_tick_is_forgotten() -> None:
    host = filled(Host(UNCHANGED, fails, latency=2))
    host.live({OGILVY: ["Event 4."]})
    host.live({OGILVY: ["Event 5."]})
    host.live()
    host.model = writes
    host.live()
    host.live()
    assert host.lost == {"memory.forgotten": 1}
    assert texts(host.streams[OGILVY]) == ["Event 5.", "Event 3.", "Event 2."]


def test_one_owners_failure_leaves_another_alone() -> None:
    host = Host(UNCHANGED, lambda c: None if c.job.key.owner == OGILVY else writes(c), owners=(OGILVY, HENDERSON))
    filled(host, 4).live()
    assert texts(host.streams[OGILVY])[0] == "Event 3."
    assert texts(host.streams[HENDERSON])[0] == "Event 4."


def test_by_default_a_failed_model_is_replaced_by_a_summary_without_one() -> None:
    host = Host(LIMITS, fails)
    host.live({OGILVY: ["Henderson promised Ogilvy 12 sandbags."]})
    filled(host, 3).live()
    stream = host.streams[OGILVY]
    assert texts(stream) == ["Event 3.", "Event 2.", "Event 1."]
    assert "12 sandbags" in stream.head.summary
    assert host.lost == {}


def test_without_a_model_unchanged_means_the_heuristic_summary() -> None:
    host = filled(Host(UNCHANGED, None), 4)
    host.live()
    assert host.streams[OGILVY].head.summary == "Event 1."
    assert host.lost == {}


def test_with_unchanged_memories_beyond_twice_k_are_forgotten() -> None:
    host = filled(Host(UNCHANGED, writes, latency=50))
    host.live({OGILVY: [f"Event {number}." for number in range(4, 12)]})
    stream = host.streams[OGILVY]
    assert [entry.text for entry in stream.head.waiting] == [f"Event {number}." for number in range(4, 10)]
    assert host.lost == {"memory.forgotten": 2}


# -- edge cases ------------------------------------------------------------------------------------


def test_execute_empty_pending_memories() -> None:
    host = filled(Host(LIMITS, writes))
    before = texts(host.streams[OGILVY])
    host.live({})
    assert texts(host.streams[OGILVY]) == before
    assert host.asked == []


def test_an_empty_text_is_a_cell() -> None:
    host = Host(LIMITS, None)
    for _ in range(5):
        host.live({OGILVY: [""]})
    assert texts(host.streams[OGILVY]) == ["", "", ""]
    assert host.streams[OGILVY].head.summary == ""
    assert host.lost == {}


def test_a_new_owner_with_neither_cells_nor_summary_just_gets_a_cell() -> None:
    host = Host(LIMITS, writes)
    host.live({OGILVY: ["A beginning."]})
    assert texts(host.streams[OGILVY]) == ["A beginning."]
    assert host.asked == []


def test_cyrillic_memories_are_summarised_without_a_model() -> None:
    host = Host(LIMITS)
    host.live({OGILVY: ["Хендерсон обещал Огилви 12 мешков песка."]})
    filled(host, 4)
    assert "12 мешков" in host.streams[OGILVY].head.summary


def test_the_summary_without_a_model_does_not_grow_beyond_its_room() -> None:
    host = Host(LIMITS)
    for number in range(200):
        host.live({OGILVY: [f"Traveller {number} told Ogilvy about village {number} and its {number} wells."]})
    assert 100 < estimate_tokens(host.streams[OGILVY].head.summary) <= 250
