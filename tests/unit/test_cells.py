"""Spec 1: K cells, the oldest into the summary; where memory K+1 waits; what a failure leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import HENDERSON, KIND, OGILVY, Host
from pydantic import ValidationError

from memory.apply import apply, unmet
from memory.cells import cells, has_space, leaving, most_waiting
from memory.compaction import choose, enforce_limits
from memory.effects import Append, Archive, ForgetWaiting, ReplaceSummary, TakeWaiting
from memory.entry import INTO_SUMMARY, Entry
from memory.limits import MemoryLimits
from memory.long_term import estimate_tokens
from memory.receive import receive
from memory.stream import Stream
from prompts.answers import SummaryAnswer
from prompts.render import Templates
from scheduler.rules import rules_of
from scheduler.settings import Settings
from tasks.kind import Case
from tasks.summarise import Summarise

LIMITS = MemoryLimits(policy="cells", cells=3)
UNCHANGED = MemoryLimits(policy="cells", cells=3, on_failure="unchanged")


def writes(case: Case) -> str:
    """A model that tells how often it was asked."""
    return f"Summary {case.job.summary_version + 1}: {' '.join(e.text for e in case.entries)}"


def fails(case: Case) -> None:
    """A model that never answers."""


def texts(stream: Stream) -> list[str]:
    return [cell.text for cell in cells(stream)]


def filled(host: Host, count: int = 3) -> Host:
    for number in range(1, count + 1):
        host.live({owner: [f"Event {number}."] for owner in host.streams})
    return host


# -- the answer ----------------------------------------------------------------------------------------


def test_summary_response_creation() -> None:
    assert SummaryAnswer(summary="Ogilvy found a cylinder.").summary == "Ogilvy found a cylinder."


def test_summary_response_unicode() -> None:
    text = "Огилви нашёл цилиндр на пустоши."
    assert SummaryAnswer.model_validate_json(f'{{"summary": "{text}"}}').summary == text


def test_summary_response_empty_rejected() -> None:
    with pytest.raises(ValidationError):
        SummaryAnswer(summary="")


# -- partitioning and cells ------------------------------------------------------------------------------


def test_partition_mixed() -> None:
    host = Host(LIMITS, writes, owners=(OGILVY, HENDERSON))
    for number in range(3):
        host.live({OGILVY: [f"Event {number}."]})
    host.live({OGILVY: ["One more."], HENDERSON: ["A first one."]})
    assert not has_space(host.streams[OGILVY], LIMITS)
    assert has_space(host.streams[HENDERSON], LIMITS)
    assert list(host.open) == [OGILVY]


def test_partition_empty_cells() -> None:
    stream = Stream(OGILVY)
    assert has_space(stream, LIMITS)
    assert cells(stream) == []
    assert leaving(stream, LIMITS) == []
    assert stream.head.summary == ""


def test_add_cell_at_front() -> None:
    host = filled(Host(LIMITS), 2)
    host.live({OGILVY: ["The newest."]})
    assert cells(host.streams[OGILVY])[0].text == "The newest."
    assert cells(host.streams[OGILVY])[0].tick == 3


def test_add_cell_preserves_order() -> None:
    host = filled(Host(LIMITS))
    assert texts(host.streams[OGILVY]) == ["Event 3.", "Event 2.", "Event 1."]


def test_k_is_read_from_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_POLICY", "cells")
    monkeypatch.setenv("COGITATE_CELLS", "7")
    assert Settings().memory_limits().cells == 7
    assert Settings().memory_limits().policy_of(OGILVY) == "cells"
    assert MemoryLimits().cells == 5


def test_summaries_are_due_when_k_are_full() -> None:
    for k in (1, 2, 7):
        limits = MemoryLimits(policy="cells", cells=k)
        host = filled(Host(limits, writes), k)
        assert not host.open
        host.live({OGILVY: ["One more."]})
        assert list(host.open) == [OGILVY]


def test_a_policy_may_be_an_owners_own_or_its_scopes() -> None:
    limits = MemoryLimits(
        policy="cells", policies={"npc": "tokens", "agent:borin": "stream", "location:crypt": "cells"}
    )
    assert [limits.policy_of(o) for o in ("agent:ogilvy", "npc:smith", "agent:borin")] == ["cells", "tokens", "stream"]
    assert [limits.policy_of(o) for o in ("location:crypt", "location:inn", "world")] == ["cells", "stream", "stream"]
    with pytest.raises(ValidationError, match="name an owner such as 'npc:smith'"):
        Settings(policies={"smith": "cells"})
    with pytest.raises(ValidationError, match="compress_to"):
        Settings(compress_at=0.5, compress_to=0.6)


# -- where memory K+1 waits -------------------------------------------------------------------------------


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


def test_what_arrives_meanwhile_waits_in_order() -> None:
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


def test_no_memory_overtakes_one_that_waits() -> None:
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


def test_free_cells_are_filled_by_what_waits() -> None:
    host = filled(Host(LIMITS, fails, latency=9))
    host.live({OGILVY: ["Event 4."]})
    host.change((Archive(OGILVY, (1,)),))
    host.live()
    assert texts(host.streams[OGILVY]) == ["Event 4.", "Event 3.", "Event 2."]


def test_reflections_and_plans_are_no_cells() -> None:
    host = filled(Host(LIMITS))
    host.live({OGILVY: [Entry(type="reflection", text="All is well.", minute=4)]})
    assert host.streams[OGILVY].count("reflection") == 1
    assert host.open == {}


def test_pruning_leaves_cells_alone() -> None:
    entries = [Entry(type="message", text=f"Line {i}.", minute=i, number=i) for i in range(1, 4)]
    assert choose(OGILVY, entries, LIMITS, 10_000).numbers == ()


# -- execution ---------------------------------------------------------------------------------------------


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


# -- failure -----------------------------------------------------------------------------------------------


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


def test_without_a_model_unchanged_means_the_summary_without_one() -> None:
    host = filled(Host(UNCHANGED, None), 4)
    host.live()
    assert host.streams[OGILVY].head.summary == "Event 1."
    assert host.lost == {}


def test_what_arrives_beyond_twice_k_is_forgotten_where_memory_is_to_stay_unchanged() -> None:
    host = filled(Host(UNCHANGED, writes, latency=50))
    host.live({OGILVY: [f"Event {number}." for number in range(4, 12)]})
    stream = host.streams[OGILVY]
    assert [entry.text for entry in stream.head.waiting] == [f"Event {number}." for number in range(4, 10)]
    assert host.lost == {"memory.forgotten": 2}


# -- edge cases --------------------------------------------------------------------------------------------


def test_execute_empty_pending_memories() -> None:
    host = filled(Host(LIMITS, writes))
    before = texts(host.streams[OGILVY])
    host.live({})
    assert texts(host.streams[OGILVY]) == before
    assert host.asked == []


def test_an_empty_text_is_a_cell_all_the_same() -> None:
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


def test_cyrillic_memories_are_told_without_a_model() -> None:
    host = Host(LIMITS)
    host.live({OGILVY: ["Хендерсон обещал Огилви 12 мешков песка."]})
    filled(host, 4)
    assert "12 мешков" in host.streams[OGILVY].head.summary


def test_the_summary_without_a_model_does_not_grow_beyond_its_room() -> None:
    host = Host(LIMITS)
    for number in range(200):
        host.live({OGILVY: [f"Traveller {number} told Ogilvy about village {number} and its {number} wells."]})
    assert 100 < estimate_tokens(host.streams[OGILVY].head.summary) <= 250


# -- the prompt --------------------------------------------------------------------------------------------


def a_case() -> Case:
    host = filled(Host(LIMITS, writes), 4)
    host.live({OGILVY: ["Event 5."]})
    return host.open[OGILVY]


def test_the_prompt_shows_the_old_summary_and_the_dropping_cell() -> None:
    prompt = KIND.prompt(a_case())
    assert "Summary 1: Event 1." in prompt.user
    assert "Event 2." in prompt.user
    assert "Event 3." not in prompt.user
    assert prompt.used == (2,)


def test_a_hosts_own_template_goes_before_ours(tmp_path: Path) -> None:
    (tmp_path / "summarise_cells.j2").write_text(
        "{% block system %}Mars.{% endblock %}{% block user %}{{ summary }} then {{ memories[0].text }}{% endblock %}"
    )
    prompt = Summarise(Templates(tmp_path)).prompt(a_case())
    assert (prompt.system, prompt.user) == ("Mars.", "Summary 1: Event 1. then Event 2.")
    assert prompt.version != KIND.prompt(a_case()).version


def test_the_effects_hold_only_while_the_summary_stands() -> None:
    host = filled(Host(LIMITS, writes), 4)
    effects = KIND.effects(host.open[OGILVY], SummaryAnswer(summary="New."), ())
    assert [type(effect) for effect in effects] == [ReplaceSummary, Archive, TakeWaiting]
    host.change((ReplaceSummary(OGILVY, "Another one.", 0),))
    assert unmet(host.streams, effects) == "summary is at version 1, not 0"


def test_no_more_can_be_taken_or_forgotten_than_waits() -> None:
    stream = Stream(OGILVY)
    stream.wait(Entry(type="observation", text="One.", minute=1))
    streams = {OGILVY: stream}
    assert unmet(streams, (TakeWaiting(OGILVY, 1),)) is None
    assert unmet(streams, (TakeWaiting(OGILVY, 2),)) == "1 entries wait, not 2"
    assert unmet(streams, (TakeWaiting(OGILVY, 1), ForgetWaiting(OGILVY, 1))) == "0 entries wait, not 1"
    assert unmet(streams, (Archive(OGILVY, (1,)),)) == "entry 1 is not live"
    assert unmet(streams, (TakeWaiting(OGILVY, 1), Archive(OGILVY, (1,)))) is None


# -- any interleaving --------------------------------------------------------------------------------------

turn = st.tuples(
    st.lists(st.text(max_size=40), max_size=9),  # what arrives
    st.sampled_from(["answers", "fails"]),  # what the model does in this tick
    st.booleans(),  # whether somebody else archives the oldest cell
)


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
