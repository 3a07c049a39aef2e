"""Window: compression of the buffer into the summary, in passes, and the boundary when passes are not enough."""

from __future__ import annotations

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import ReplaceSummary, SetCharacter
from cogitate.memory.entry import INTO_SUMMARY, Character, Entry, format_character
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies import window
from cogitate.memory.policies.compaction import enforce_limits
from cogitate.memory.policies.window import (
    buffer_tokens,
    compressible,
    fitting_character,
    is_over_limit,
    summary_room,
    total_tokens,
)
from cogitate.memory.summaries.long_term import estimate_tokens
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.kind import Case
from tests.unit.memory.window_case import KNOWN, LIMITS, at_length, briefly, fails, stream_of, ten_words
from tests.unit.tasks.policy_cases import KIND, OGILVY, Host


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
    assert total_tokens(host.streams[OGILVY]) >= window.compression_threshold(LIMITS)
    assert len(host.asked) == 2
    assert host.streams[OGILVY].head.counters[window.PASSES] == 2


def test_two_passes_three_entries_and_eighty_percent_are_defaults_that_can_be_set() -> None:
    limits = MemoryLimits()
    assert (limits.passes, limits.retain, limits.compress_at) == (2, 3, 0.8)
    assert window.compression_threshold(MemoryLimits(compress_at=0.5)) == 2_000
    assert [window.compression_threshold(MemoryLimits(token_limit=most)) for most in (1_000, 1_001, 1_004, 1_005)] == [
        800,
        800,
        803,
        804,
    ]
    chosen = Settings.tuned(policy="tokens", passes=3, retain=5, compress_at=0.9).memory_limits()
    assert (chosen.passes, chosen.retain, chosen.compress_at) == (3, 5, 0.9)


def test_a_second_pass_that_does_not_shorten_is_discarded() -> None:
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
    """A failed pass leaves the heuristic's summary, or under "unchanged" the present one; it is not retried forever."""
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
    assert effects[0].character == Character(objectives=KNOWN.objectives)
    assert effects[0].cut == whole - estimate_tokens(format_character(effects[0].character))


def test_the_limit_holds_at_once_when_a_profile_grows() -> None:
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
    (effect,) = enforce_limits(stream_of(summary=" ".join(map(ten_words, range(200)))), LIMITS, 9)
    assert isinstance(effect, ReplaceSummary), "also where nothing else is remembered"


def test_a_past_plan_is_not_told_as_future() -> None:
    stream = stream_of("Elara will open the gate on day 2.", *[ten_words(1)] * 8)
    stream.append(Entry(type="observation", text="Elara rested.", minute=4 * 1_440), 20)
    (_, effect) = enforce_limits(stream, LIMITS, 9)
    assert isinstance(effect, ReplaceSummary)
    assert "Elara was going to open the gate on day 2." in effect.text


def test_only_as_much_as_a_prompt_can_show_is_compressed_at_once() -> None:
    limits = MemoryLimits(policy="tokens", token_limit=4_000)
    host = Host(limits, briefly)
    host.live({OGILVY: [ten_words(number) for number in range(260)]})
    case = host.open[OGILVY]
    assert 0 < buffer_tokens(case.entries) <= 900
    host.live()
    assert OGILVY not in host.open  # the buffer is below 80% again
