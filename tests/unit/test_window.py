"""Spec 4: summary + buffer + character within a token limit, by at most two passes, and what matters survives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import BORIN, HENDERSON, KIND, OGILVY, Host

from memory import window
from memory.apply import apply, unmet
from memory.compaction import enforce_limits
from memory.effects import Append, Archive, ReplaceSummary, SetCharacter
from memory.entry import INTO_SUMMARY, Character, Entry
from memory.limits import MemoryLimits
from memory.long_term import cut_oldest, estimate_tokens, fold
from memory.stream import Stream
from memory.window import (
    buffer_tokens,
    compressible,
    fitting_character,
    format_character,
    is_near_limit,
    is_over_limit,
    summary_room,
    total_tokens,
)
from prompts.render import Templates
from scheduler.settings import Settings
from tasks.kind import Case
from tasks.summarise import Summarise

LIMITS = MemoryLimits(policy="tokens", token_limit=100)
KNOWN = Character(
    names=("Elara", "Borin"),
    objectives=("recover the Sunstone",),
    relationships={"Elara": "trusted friend"},
    inventory=("silver dagger", "two healing potions"),
)


def stream_of(*texts: str, summary: str = "", character: Character | None = None, owner: str = OGILVY) -> Stream:
    stream = Stream(owner)
    for minute, text in enumerate(texts, start=1):
        stream.append(Entry(type="observation", text=text, minute=minute), minute)
    stream.head.summary = summary
    stream.head.character = character or Character()
    return stream


def ten_words(number: int) -> str:
    """Thirteen tokens."""
    return f"Elara walked {number} miles north to the old stone bridge."


def briefly(case: Case) -> str:
    """A model that writes little."""
    return f"Summary {case.job.summary_version + 1}: Elara walked north."


def at_length(case: Case) -> str:
    """A model that writes far too much."""
    return " ".join(f"Elara walked {number} miles." for number in range(60))


def fails(case: Case) -> None:
    """A model that never answers."""


# -- tokens ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("one", 2),
        ("one two three four five six seven eight nine ten", 13),
        ("Огилви нашёл цилиндр на пустоши", 7),
        ("王先生来了", 7),  # no spaces: a word for each character
        ("x" * 160, 13),
    ],
)
def test_tokens_are_about_one_and_a_third_for_each_word(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_get_total_context_tokens_empty_memory() -> None:
    assert total_tokens(stream_of()) == 0


def test_get_total_context_tokens_summary_only() -> None:
    assert total_tokens(stream_of(summary=ten_words(1))) == 13


def test_get_total_context_tokens_buffer_only() -> None:
    assert total_tokens(stream_of(ten_words(1), ten_words(2))) == 26
    assert buffer_tokens(stream_of(ten_words(1), ten_words(2)).live()) == 26


def test_get_total_context_tokens_includes_character_facts() -> None:
    told = format_character(KNOWN)
    for word in ("Elara", "Borin", "recover the Sunstone", "trusted friend", "silver dagger", "two healing potions"):
        assert word in told
    assert total_tokens(stream_of(character=KNOWN)) == estimate_tokens(told) > 0


def test_get_total_context_tokens_full_context() -> None:
    stream = stream_of(ten_words(1), summary=ten_words(2), character=KNOWN)
    assert total_tokens(stream) == 26 + estimate_tokens(format_character(KNOWN))


def test_reflections_and_plans_are_not_in_the_buffer() -> None:
    stream = stream_of(ten_words(1))
    stream.append(Entry(type="reflection", text=ten_words(2), minute=2), 2)
    assert total_tokens(stream) == 13


# -- the trigger and the check -------------------------------------------------------------------------------


def test_is_total_context_over_limit_false_when_under() -> None:
    assert not is_over_limit(stream_of(*map(ten_words, range(7))), LIMITS)


def test_is_total_context_over_limit_true_when_over() -> None:
    assert is_over_limit(stream_of(*map(ten_words, range(7)), summary=ten_words(8)), LIMITS)


def test_eighty_percent_of_the_buffer_trigger_a_summary() -> None:
    host = Host(LIMITS, briefly)
    for number in range(6):
        host.live({OGILVY: [ten_words(number)]})
    assert buffer_tokens(host.streams[OGILVY].live()) == 78
    assert host.open == {}
    host.live({OGILVY: ["Elara rested."]})
    assert host.open[OGILVY].job.reads[0].numbers == (1, 2, 3, 4)


def test_is_near_limit_looks_at_the_buffer_alone() -> None:
    stream = stream_of(ten_words(1), summary=" ".join(map(ten_words, range(6))))
    assert total_tokens(stream) > 80
    assert not is_near_limit(stream, LIMITS)


def test_a_total_of_eighty_percent_triggers_too_where_enough_entries_can_go() -> None:
    host = Host(LIMITS, briefly)
    summary = " ".join(map(ten_words, range(3)))
    host.streams[OGILVY] = stream_of("Borin slept.", *map(ten_words, range(3)), summary=summary)
    host.live()
    assert total_tokens(host.streams[OGILVY]) == 81
    assert host.open == {}  # one short entry is not worth a call
    host.live({OGILVY: [ten_words(3)]})
    assert host.open[OGILVY].job.reads[0].numbers == (1, 2)


def test_context_manager_checks_every_owner_each_turn() -> None:
    host = Host(LIMITS, briefly, owners=(OGILVY, HENDERSON, BORIN))
    host.live({OGILVY: map(ten_words, range(7)), BORIN: map(ten_words, range(7)), HENDERSON: [ten_words(1)]})  # type: ignore[dict-item]
    assert sorted(host.open) == [BORIN, OGILVY]


def test_empty_buffer_and_buffer_of_no_more_than_is_retained_are_skipped() -> None:
    few = stream_of(*(" ".join([ten_words(n)] * 2) for n in range(3)), summary="Elara left home.")
    assert is_near_limit(few, MemoryLimits(policy="tokens", token_limit=90))
    host = Host(MemoryLimits(policy="tokens", token_limit=90), briefly)
    host.streams[OGILVY] = few
    host.live()
    assert host.open == {}
    assert compressible([], LIMITS) == []


def test_context_manager_validates_after_compression() -> None:
    host = Host(LIMITS, at_length)
    for number in range(7):
        host.live({OGILVY: [ten_words(number)]})
    host.live()
    assert host.ends == {"applied": 1}
    assert not is_over_limit(host.streams[OGILVY], LIMITS)


# -- compression -----------------------------------------------------------------------------------------------


def compressed(model: str = "briefly") -> Host:
    host = Host(LIMITS, {"briefly": briefly, "at_length": at_length, "fails": fails}[model])
    for number in range(7):
        host.live({OGILVY: [ten_words(number)]})
    host.live()
    return host


def test_compressed_entries_leave_the_buffer_for_the_summary() -> None:
    stream = compressed().streams[OGILVY]
    assert stream.head.summary == "Summary 1: Elara walked north."
    assert {number: record.into for number, record in stream.archived.items()} == dict.fromkeys(
        range(1, 5), INTO_SUMMARY
    )


def test_recent_entries_always_retained() -> None:
    for model in ("briefly", "at_length", "fails"):
        stream = compressed(model).streams[OGILVY]
        assert [entry.text for entry in stream.live()] == [ten_words(4), ten_words(5), ten_words(6)]


def test_how_many_are_retained_is_configured() -> None:
    entries = stream_of(*map(ten_words, range(7))).live()
    for retain in (0, 1, 7, 9):
        limits = MemoryLimits(policy="tokens", retain=retain)
        assert len(compressible(entries, limits)) == max(0, 7 - retain)


def test_older_content_is_merged_with_the_summary_that_stands() -> None:
    host = compressed()
    host.live({OGILVY: [ten_words(7), ten_words(8), ten_words(9), "Elara rested."]})
    prompt = KIND.prompt(host.open[OGILVY])
    assert "Summary 1: Elara walked north." in prompt.user
    host.live()
    assert host.streams[OGILVY].head.summary == "Summary 2: Elara walked north."


def test_single_pass_sufficient() -> None:
    host = compressed()
    host.live()
    assert host.asked == [OGILVY]
    assert host.lost == {}


def test_two_pass_compression_when_needed() -> None:
    def writes(case: Case) -> str:
        long = " ".join(ten_words(number) for number in range(4))
        return long if case.entries else "Elara walked north for days."

    host = Host(LIMITS, writes)
    for number in range(7):
        host.live({OGILVY: [ten_words(number)]})
    host.live()
    (case,) = host.open.values()
    assert case.entries == []
    assert case.job.params["pass"] == 2
    host.live()
    assert host.streams[OGILVY].head.summary == "Elara walked north for days."
    assert len(host.asked) == 2


def test_max_passes_prevents_infinite_loop() -> None:
    shorter = iter(range(4, 0, -1))

    def writes(case: Case) -> str:
        return " ".join([" ".join(map(ten_words, range(3))), *["Elara"] * next(shorter)])

    host = Host(LIMITS, writes)
    for number in range(7):
        host.live({OGILVY: [ten_words(number)]})
    for _ in range(10):
        host.live()
    assert total_tokens(host.streams[OGILVY]) >= window.near(LIMITS)
    assert len(host.asked) == 2
    assert host.streams[OGILVY].head.counters[window.PASSES] == 2


def test_two_passes_three_entries_and_eighty_percent_are_defaults_that_can_be_set() -> None:
    limits = MemoryLimits()
    assert (limits.passes, limits.retain, limits.compress_at) == (2, 3, 0.8)
    assert (window.near(MemoryLimits(token_limit=1_000)), window.near(MemoryLimits(compress_at=0.5))) == (800, 2_000)
    chosen = Settings(policy="tokens", passes=3, retain=5, compress_at=0.9).memory_limits()
    assert (chosen.passes, chosen.retain, chosen.compress_at) == (3, 5, 0.9)


def test_a_second_pass_that_gets_no_shorter_is_not_used() -> None:
    host = Host(LIMITS, lambda case: " ".join(ten_words(number) for number in range(4)))
    for number in range(7):
        host.live({OGILVY: [ten_words(number)]})
    host.live()
    host.live()
    stream = host.streams[OGILVY]
    assert 0 < estimate_tokens(stream.head.summary) < 52
    assert total_tokens(stream) <= 60


def test_without_a_second_pass_the_oldest_part_of_the_summary_is_cut() -> None:
    limits = MemoryLimits(policy="tokens", token_limit=50, passes=1)
    stream = stream_of(*map(ten_words, range(3)), summary="Old news first. Elara met Borin later. Then came the flood.")
    (effect,) = enforce_limits(stream, limits, 9)
    assert isinstance(effect, ReplaceSummary)
    assert effect.text == "Elara met Borin later. Then came the flood."
    assert effect.cut > 0


def test_warning_logged_if_still_over_after_max_passes() -> None:
    limits = MemoryLimits(policy="tokens", token_limit=8)
    host = Host(limits)
    host.live({OGILVY: [" ".join(map(ten_words, range(3)))]})
    assert not is_over_limit(host.streams[OGILVY], limits)
    assert host.lost["memory.summary_cut"] == 1


def test_compress_long_term_summary_failure_logs_warning() -> None:
    """A failed pass leaves the heuristic's summary, or under "unchanged" the present one; it is not tried for ever."""
    limits = MemoryLimits(policy="tokens", token_limit=100, on_failure="unchanged")
    host = Host(limits, briefly)
    host.streams[OGILVY] = stream_of(*map(ten_words, range(3)), summary=" ".join(map(ten_words, range(4))))
    host.streams[OGILVY].head.counters[window.PASSES] = 1
    before = host.streams[OGILVY].head.summary
    host.model = fails
    for _ in range(6):
        host.live()
    assert host.asked == [OGILVY]
    assert host.streams[OGILVY].head.summary == before


def test_an_owner_with_a_very_low_limit_stays_within_it() -> None:
    for limit in range(1, 60):
        limits = MemoryLimits(policy="tokens", token_limit=limit)
        host = Host(limits)
        host.streams[OGILVY].head.character = KNOWN
        for number in range(5):
            host.live({OGILVY: [ten_words(number)]})
            assert total_tokens(host.streams[OGILVY]) <= limit
    assert host.streams[OGILVY].head.summary


def test_facts_that_take_the_whole_limit_are_cut_last_objectives_kept_longest() -> None:
    whole = estimate_tokens(format_character(KNOWN))
    assert fitting_character(KNOWN, whole) is KNOWN
    assert fitting_character(KNOWN, 6) == Character(objectives=KNOWN.objectives)
    stream = stream_of("Elara rested.", character=KNOWN)
    effects = enforce_limits(stream, MemoryLimits(policy="tokens", token_limit=6), 9)
    assert isinstance(effects[0], SetCharacter)
    assert effects[0].cut > 0


def test_the_limit_holds_at_once_when_the_host_tells_more_of_a_character() -> None:
    stream = stream_of(*map(ten_words, range(6)))
    streams = {OGILVY: stream}
    apply(streams, (SetCharacter(OGILVY, KNOWN),), 7)
    assert is_over_limit(stream, LIMITS)
    effects = enforce_limits(stream, LIMITS, 7)
    assert unmet(streams, effects) is None
    apply(streams, effects, 7)
    assert not is_over_limit(stream, LIMITS)
    assert stream.head.character == KNOWN


def test_a_very_large_summary_is_compressed_by_the_boundary() -> None:
    stream = stream_of(ten_words(1), summary=" ".join(map(ten_words, range(200))))
    (effect,) = enforce_limits(stream, LIMITS, 9)
    assert isinstance(effect, ReplaceSummary)
    assert 0 < estimate_tokens(effect.text) <= summary_room(stream.live(), Character(), LIMITS)


def test_only_as_much_as_a_prompt_can_show_is_compressed_at_once() -> None:
    limits = MemoryLimits(policy="tokens", token_limit=4_000)
    host = Host(limits, briefly)
    host.live({OGILVY: [ten_words(number) for number in range(260)]})
    case = host.open[OGILVY]
    assert 0 < buffer_tokens(case.entries) <= 900
    host.live()
    assert OGILVY not in host.open  # the buffer is below 80% again


# -- each owner on its own ---------------------------------------------------------------------------------------


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


# -- what matters survives -----------------------------------------------------------------------------------------

STORY = [
    "Theron the ranger met Elara in Oakhaven.",
    "Rain fell on the inn all evening.",
    "Elara asked Theron to recover the Sunstone from the Crypt of Vael before midwinter.",
    "Theron rolled a 17 on perception and noticed a draft.",
    "They ate stew and slept.",
    "Theron bought two healing potions from Marla for 30 gold.",
    "The road was long and muddy.",
    "Borin the dwarf joined the party at the Stone Bridge.",
    "Borin is the brother of the smith Durnan.",
    "Theron rolled a 4 on stealth and slipped on the stairs.",
    "Wolves howled somewhere in the hills.",
    "Theron carries a silver dagger that belonged to his father.",
    "They made camp beside a stream.",
    "Borin betrayed the party and took the map to Castle Grim.",
    "The fire went out twice in the night.",
    "The quest now: find Borin at Castle Grim and win back the map.",
    "Elara trusts Theron like a brother.",
    "A crow watched them from a branch.",
    "Elara found a rusty key under the altar.",
    "The fog lifted around noon.",
    "Theron promised Elara to return to Oakhaven by the full moon.",
    "They walked until their feet hurt.",
    "Durnan owes Theron a favour.",
    "Initiative: Theron 12, Borin 9; the saving throw failed.",
]
CRITICAL = {
    "names": ["Theron", "Elara", "Borin", "Marla", "Durnan", "Oakhaven", "Castle Grim", "Crypt of Vael"],
    "objectives": ["recover the Sunstone", "win back the map", "return to Oakhaven by the full moon"],
    "relationships": ["brother of the smith", "betrayed the party", "trusts Theron", "owes Theron"],
    "inventory": ["silver dagger", "two healing potions", "rusty key"],
}


def kept(text: str, part: str) -> float:
    return sum(fact in text for fact in CRITICAL[part]) / len(CRITICAL[part])


@pytest.fixture(scope="module")
def half() -> str:
    """The story in half its tokens, compressed in one go."""
    entries = stream_of(*STORY).live()
    return fold("", entries, {}, buffer_tokens(entries) // 2)


def test_character_names_preserved(half: str) -> None:
    assert kept(half, "names") == 1


def test_quest_objectives_preserved(half: str) -> None:
    assert kept(half, "objectives") == 1


def test_relationships_preserved(half: str) -> None:
    assert kept(half, "relationships") == 1


def test_inventory_preserved(half: str) -> None:
    assert kept(half, "inventory") == 1


def test_what_matters_survives_compression_turn_by_turn() -> None:
    whole = buffer_tokens(stream_of(*STORY).live())
    limits = MemoryLimits(policy="tokens", token_limit=whole * 9 // 10)
    host = Host(limits)
    for sentence in STORY:
        host.live({OGILVY: [sentence]})
    stream = host.streams[OGILVY]
    told = " ".join([stream.head.summary, *(entry.text for entry in stream.live())])
    assert stream.head.summary_version > 1
    assert estimate_tokens(stream.head.summary) < whole * 0.42
    assert [kept(told, part) for part in CRITICAL] == [1, 1, 1, 1]


def test_dice_and_rules_are_discarded_first(half: str) -> None:
    assert "rolled" not in half
    assert "saving throw" not in half


def test_facts_survive_every_compression() -> None:
    host = Host(LIMITS, at_length)
    host.change((SetCharacter(OGILVY, KNOWN),))
    for number in range(40):
        host.live({OGILVY: [ten_words(number)]})
    assert host.streams[OGILVY].head.character == KNOWN
    assert "recover the Sunstone" in format_character(host.streams[OGILVY].head.character)


# -- the prompt -----------------------------------------------------------------------------------------------------


def a_case() -> Case:
    host = Host(MemoryLimits(policy="tokens", token_limit=150), briefly)
    host.change((SetCharacter(OGILVY, KNOWN), ReplaceSummary(OGILVY, "Elara left home.", 0)))
    host.live({OGILVY: [*map(ten_words, range(9)), "Borin slept."]})
    return host.open[OGILVY]


def test_the_janitor_is_told_what_to_preserve_and_to_discard() -> None:
    prompt = KIND.prompt(a_case())
    for word in ("names", "relationships", "inventory", "quests", "objectives", "dialogue word for word", "dice"):
        assert word in prompt.system
    assert "Elara left home." in prompt.user
    assert "Objectives: recover the Sunstone" in prompt.user
    assert "Elara walked 0 miles" in prompt.user


def test_a_hosts_own_janitor_goes_before_ours(tmp_path: Path) -> None:
    (tmp_path / "compress.j2").write_text(
        "{% block system %}Terse.{% endblock %}{% block user %}{{ words }}{% endblock %}"
    )
    assert Summarise(Templates(tmp_path)).prompt(a_case()).system == "Terse."


def test_the_oldest_part_goes_where_something_must() -> None:
    text = "One is old. Two is newer. Three is the newest."
    assert cut_oldest(text, 100) == text
    assert cut_oldest(text, 11) == "Two is newer. Three is the newest."
    assert cut_oldest(text, 3) == "the newest."
    assert cut_oldest(text, 0) == ""


# -- any interleaving -------------------------------------------------------------------------------------------------

turn = st.tuples(
    st.lists(st.text(max_size=120), max_size=6),  # what arrives
    st.sampled_from(["briefly", "at_length", "fails", "none"]),
    st.booleans(),  # whether another kind appends an entry
)


@given(
    turns=st.lists(turn, max_size=20),
    limit=st.integers(1, 120),
    retain=st.integers(0, 4),
    passes=st.integers(1, 3),
    latency=st.integers(1, 4),
    policy=st.sampled_from(["heuristic", "unchanged"]),
)
@settings(max_examples=120, deadline=None)
def test_any_interleaving_stays_within_the_limit_and_loses_nothing_silently(
    turns: Sequence[tuple[list[str], str, bool]], limit: int, retain: int, passes: int, latency: int, policy: str
) -> None:
    limits = MemoryLimits(
        policy="tokens", token_limit=limit, retain=retain, passes=passes, on_failure=policy  # type: ignore[arg-type]
    )  # fmt: skip
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
