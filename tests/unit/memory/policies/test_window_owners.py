"""Window: each owner is compressed separately, whatever happens to others and in any order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cogitate.memory.apply import unmet
from cogitate.memory.effects import Append, Archive, ReplaceSummary
from cogitate.memory.entry import INTO_SUMMARY, Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import enforce_limits
from cogitate.memory.policies.window import total_tokens
from cogitate.memory.summaries.long_term import estimate_tokens
from tests.unit.memory.window_case import KNOWN, LIMITS, at_length, briefly, fails, stream_of, ten_words
from tests.unit.tasks.policy_cases import HENDERSON, OGILVY, Host

# -- each owner on its own -------------------------------------------------------------------------


def test_agent_a_compression_doesnt_affect_agent_b() -> None:
    host = Host(LIMITS, briefly, owners=(OGILVY, HENDERSON))
    host.live({OGILVY: map(ten_words, range(7)), HENDERSON: [ten_words(1)]})  # type: ignore[dict-item]
    host.live()
    assert host.streams[OGILVY].head.summary
    assert host.streams[HENDERSON].head.summary == ""
    assert len(host.streams[HENDERSON].live()) == 1


def test_multiple_agents_compress_independently() -> None:
    host = Host(LIMITS, lambda case: f"This is {case.job.key.owner}.", owners=(OGILVY, HENDERSON))
    host.live({owner: map(ten_words, range(7)) for owner in host.streams})  # type: ignore[misc]
    host.live()
    assert [stream.head.summary for stream in host.streams.values()] == [f"This is {o}." for o in (OGILVY, HENDERSON)]


@pytest.mark.parametrize("on_failure", ["heuristic", "unchanged"])
def test_one_agent_failure_doesnt_block_others(on_failure: str) -> None:
    limits = MemoryLimits(policy="tokens", token_limit=100, on_failure=on_failure)  # type: ignore[arg-type]
    host = Host(limits, lambda c: None if c.job.key.owner == OGILVY else briefly(c), owners=(OGILVY, HENDERSON))
    host.live({owner: map(ten_words, range(7)) for owner in host.streams})  # type: ignore[misc]
    host.live()
    assert host.streams[HENDERSON].head.summary == "Summary 1: Elara walked north."
    assert len(host.streams[OGILVY].live()) == (3 if on_failure == "heuristic" else 7)


def test_a_failed_compression_is_tried_again_next_turn() -> None:
    limits = MemoryLimits(policy="tokens", token_limit=100, on_failure="unchanged")
    host = Host(limits, fails)
    host.live({OGILVY: map(ten_words, range(7))})  # type: ignore[dict-item]
    host.live()
    host.model = briefly
    host.live()
    assert host.streams[OGILVY].head.summary == "Summary 1: Elara walked north."


turn = st.tuples(
    st.lists(st.text(max_size=120), max_size=6),  # what arrives
    st.sampled_from(["briefly", "at_length", "fails", "none"]),
    st.booleans(),  # whether another kind appends an entry
)


# -- any interleaving ------------------------------------------------------------------------------


@given(
    turns=st.lists(turn, max_size=20),
    limit=st.integers(1, 120),
    retain=st.integers(0, 4),
    passes=st.integers(1, 3),
    latency=st.integers(1, 4),
    policy=st.sampled_from(["heuristic", "unchanged"]),
)
@example(turns=[([">"], "briefly", False)], limit=1, retain=0, passes=1, latency=1, policy="heuristic")
@settings(max_examples=120, deadline=None)
def test_any_interleaving_stays_within_the_limit_and_loses_nothing_silently(
    turns: Sequence[tuple[list[str], str, bool]], limit: int, retain: int, passes: int, latency: int, policy: str
) -> None:
    limits = MemoryLimits(
        policy="tokens",
        token_limit=limit,
        retain=retain,
        passes=passes,
        on_failure=policy,  # type: ignore[arg-type]
    )
    host = Host(limits, briefly, latency=latency)
    host.streams[OGILVY].head.character = KNOWN
    for arrivals, model, appends in turns:
        host.model = {"briefly": briefly, "at_length": at_length, "fails": fails, "none": None}[model]
        if appends:
            host.change((Append(OGILVY, Entry(type="summary", text=ten_words(1), minute=host.tick)),))
        host.live({OGILVY: arrivals})
        stream = host.streams[OGILVY]
        assert total_tokens(stream) <= limit
        assert enforce_limits(stream, limits, host.tick) == ()
        assert all(record.into == INTO_SUMMARY for record in stream.archived.values())
        told = any(estimate_tokens(stream.entries[number].text) for number in stream.archived)
        assert stream.head.summary or not told or host.lost["memory.summary_cut"]
    assert set(host.ends) <= {"applied", "stale"}


def test_archiving_by_the_boundary_holds_its_preconditions() -> None:
    stream = stream_of(*map(ten_words, range(9)))
    effects = enforce_limits(stream, LIMITS, 9)
    assert [type(effect) for effect in effects] == [Archive, ReplaceSummary]
    assert unmet({OGILVY: stream}, effects) is None
