"""Shared history: first in, first out, always within its limit; pruning and summarising skip it."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Archive, Loss, losses
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import enforce_limits
from cogitate.memory.routing.history import is_shared, length, trim
from cogitate.memory.stream import Stream
from cogitate.prompts.render import Templates
from cogitate.tasks.prune import Prune
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import moment_of

GROUP = "group:assembly"
LIMITS = MemoryLimits(max_history=1_000, max_observations=20)


def statement(size: int, minute: int = 0) -> Entry:
    return Entry(type="message", text="x" * size, minute=minute, subjects=("Alice",), source="dialogue")


def spoken(*sizes: int, owner: str = GROUP) -> Stream:
    stream = Stream(owner)
    for minute, size in enumerate(sizes):
        stream.append(statement(size, minute), 1)
    return stream


def held(stream: Stream, limits: MemoryLimits = LIMITS) -> list[int]:
    """Numbers that are left once the limits hold."""
    effects = enforce_limits(stream, limits, 0)
    assert unmet({stream.owner: stream}, effects) is None
    apply({stream.owner: stream}, effects, 2)
    return [entry.number for entry in stream.live()]


def test_a_history_within_its_limit_stays_whole() -> None:
    assert held(spoken(*[10] * 100)) == list(range(1, 101))


def test_the_fewest_oldest_statements_are_cut() -> None:
    assert held(spoken(400, 300, 300, 300)) == [2, 3, 4]
    assert held(spoken(400, 300, 300)) == [1, 2, 3]


def test_important_statements_that_leave_are_counted_as_lost() -> None:
    stream = spoken(600)
    for importance in (9, LIMITS.importance_threshold, LIMITS.importance_threshold - 1, 1):
        stream.append(msgspec.structs.replace(statement(600, 5), importance=importance), 1)
    effects = trim(stream, LIMITS)
    assert list(losses(effects)) == [Loss("memory.history_cut", GROUP, 2)]
    assert list(losses(trim(spoken(600, 600), LIMITS))) == []


def test_the_specs_example_ends_at_or_below_its_limit() -> None:
    rounds = {1: (50, 15_000), 2: (48, 14_500), 3: (50, 15_500), 4: (52, 16_000), 5: (48, 14_500), 6: (50, 15_000)}
    rounds |= {7: (45, 13_500), 8: (46, 13_000), 9: (50, 14_500)}
    sizes = [total // count for count, total in rounds.values() for _ in range(count)]
    stream = spoken(*sizes)
    assert length(stream) > 125_000
    left = held(stream, MemoryLimits())
    assert 99_500 < length(stream) <= 100_000
    assert left == list(range(left[0], len(sizes) + 1))


def test_the_world_shares_its_history_and_an_agent_does_not() -> None:
    assert [is_shared(owner) for owner in ("group:a", "world", "agent:group", "npc:world", "location:a", "")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_memories_of_the_world_are_not_cut_with_its_statements() -> None:
    stream = spoken(600, 600, owner="world")
    stream.append(Entry(type="summary", text="The quest is over.", minute=9), 1)
    assert held(stream) == [2, 3]
    for number in range(25):
        stream.append(Entry(type="summary", text=f"Chapter {number}.", minute=10 + number), 2)
    assert held(stream) == [2, *range(9, 29)]


def test_pruning_and_summarising_skip_a_shared_history() -> None:
    stream = spoken(*[10] * 30)
    for minute in range(3 * 1440, 3 * 1440 + 200, 10):
        moment = moment_of(stream, minute)
        for kind in (Prune(), Summarise(Templates())):
            assert list(kind.due(moment)) == []
            assert kind.wake(moment) is None


@given(st.lists(st.integers(1, 400), max_size=60))
def test_the_limit_holds_after_every_statement_and_order_is_kept(sizes: list[int]) -> None:
    stream = Stream(GROUP)
    for minute, size in enumerate(sizes):
        stream.append(statement(size, minute), minute)
        apply({GROUP: stream}, trim(stream, LIMITS), minute)
        numbers = [entry.number for entry in stream.live()]
        assert length(stream) <= LIMITS.max_history
        assert numbers == list(range(numbers[0], minute + 2))
        if numbers[0] > 1:
            assert length(stream) + sizes[numbers[0] - 2] > LIMITS.max_history


def test_a_cut_names_its_entries_in_order_and_is_empty_within_the_limit() -> None:
    assert trim(spoken(500, 500), LIMITS) == ()
    assert trim(spoken(500, 501), LIMITS) == (Archive(owner=GROUP, numbers=(1,)),)
    stream = Stream(GROUP)
    for minute in range(22):
        stream.append(Entry(type="summary", text="Told.", minute=minute), 1)
    for minute in range(12):
        stream.append(statement(100, minute), 1)
    assert trim(stream, LIMITS) == (Archive(owner=GROUP, numbers=(1, 2, 23, 24)),)
