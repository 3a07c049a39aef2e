"""Window: the estimated tokens of a context, and when they exceed the limit."""

from __future__ import annotations

import itertools

import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Archive, ReplaceSummary
from cogitate.memory.entry import Character, Entry, format_character
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.window import (
    buffer_tokens,
    compressible,
    compression_threshold,
    enforce,
    fitting_character,
    is_near_limit,
    is_over_limit,
    summary_room,
    to_compress,
    total_tokens,
)
from cogitate.memory.summaries.long_term import estimate_tokens
from tests.unit.memory.window_case import KNOWN, LIMITS, at_length, briefly, stream_of, ten_words
from tests.unit.tasks.policy_cases import BORIN, HENDERSON, OGILVY, Host

# -- tokens ----------------------------------------------------------------------------------------


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


# -- the trigger and the check ---------------------------------------------------------------------


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
    host.streams[OGILVY] = stream_of(*(" ".join([ten_words(n)] * 3) for n in range(2)))
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


# -- thresholds that are met exactly ----------------------------------------------------------------

EXACT = MemoryLimits(policy="tokens", token_limit=130)  # 80% of it are eight times ten words


def words(count: int) -> str:
    return " ".join(["north"] * count)


def test_exactly_eighty_percent_are_enough_and_a_word_less_is_not() -> None:
    exact, less = stream_of(words(50), words(30)), stream_of(words(50), words(29))
    assert (buffer_tokens(exact.live()), compression_threshold(EXACT)) == (104, 104)
    assert (is_near_limit(exact, EXACT), is_near_limit(less, EXACT)) == (True, False)


def test_exactly_the_limit_is_not_over_it() -> None:
    full, over = stream_of(words(60), summary=words(40)), stream_of(words(60), summary=words(41))
    assert total_tokens(full) == 130
    assert (is_over_limit(full, EXACT), is_over_limit(over, EXACT)) == (False, True)
    assert enforce(full, EXACT, {}) == ()
    assert enforce(over, EXACT, {}) != ()


def test_the_total_removes_entries_of_at_least_a_tenth_of_the_limit() -> None:
    def due(leaving: int, summary: int) -> list[int]:
        stream = stream_of(words(leaving), "a", "b", "c", summary=words(summary))
        return [entry.number for entry in to_compress(stream, EXACT)]

    assert due(10, 70) == [1], "thirteen tokens are a tenth of the limit"
    assert due(9, 71) == []
    tokens = [total_tokens(stream_of(words(10), "a", "b", "c", summary=words(count))) for count in (66, 67)]
    assert tokens[0] < compression_threshold(EXACT) <= tokens[1]
    assert (due(10, 66), due(10, 67)) == ([], [1])


def test_all_but_the_newest_three_may_be_compressed() -> None:
    numbers = [[entry.number for entry in compressible(stream_of(*"abcde"[:n]).live(), LIMITS)] for n in range(6)]
    assert numbers == [[], [], [], [], [1], [1, 2]]


def test_a_summary_gets_the_target_and_at_least_a_tenth_of_the_limit() -> None:
    nobody = Character()
    assert summary_room([], nobody, EXACT) == 78, "60% of the limit"
    assert summary_room(stream_of(words(10)).live(), nobody, EXACT) == 78 - 13
    assert summary_room(stream_of(words(50)).live(), nobody, EXACT) == 13
    assert summary_room(stream_of(words(95)).live(), nobody, EXACT) == 130 - 124
    assert summary_room(stream_of(words(200)).live(), nobody, EXACT) == 0
    assert summary_room([], nobody, MemoryLimits(policy="tokens", token_limit=4_000)) == 600


def test_a_character_is_kept_up_to_the_exact_limit() -> None:
    whole = estimate_tokens(format_character(KNOWN))
    assert fitting_character(KNOWN, whole) == KNOWN
    less = fitting_character(KNOWN, whole - 1)
    assert (less.objectives, less.names) == (KNOWN.objectives, KNOWN.names)
    assert less.inventory == KNOWN.inventory[:1], "what is named last goes first"
    only = fitting_character(KNOWN, estimate_tokens(format_character(Character(objectives=KNOWN.objectives))))
    assert only == Character(objectives=KNOWN.objectives)
    assert fitting_character(KNOWN, 0) == Character()


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [((30, 30, 30), 3), ((30, 30, 31), 2), ((1, 60, 29), 3), ((20, 50, 40), 2), ((5, 50, 41), 1), ((1, 1, 95), 0)],
)
def test_the_newest_three_are_kept_if_a_summary_still_gets_a_tenth(sizes: tuple[int, ...], kept: int) -> None:
    stream = stream_of("Borin promised to guard the old bridge.", "It rained.", *map(words, sizes), summary=words(70))
    effects = enforce(stream, EXACT, {})
    archived = next(effect for effect in effects if isinstance(effect, Archive))
    assert archived == Archive(owner=OGILVY, numbers=tuple(range(1, 6 - kept)), into_summary=True)
    assert unmet({OGILVY: stream}, effects) is None
    apply({OGILVY: stream}, effects, 9)
    assert total_tokens(stream) <= 130
    assert len(stream.live()) == kept
    assert stream.head.summary, "it has room for something"


def test_only_cut_tokens_are_counted_not_shortened_ones() -> None:
    def replaced(summary: str) -> ReplaceSummary:
        stream = stream_of("a", summary=summary)
        (effect,) = enforce(stream, EXACT, {})
        assert isinstance(effect, ReplaceSummary)
        assert effect.version == stream.head.summary_version
        return effect

    shorter = replaced(" ".join(f"Elara walked {number} miles north." for number in range(30)))
    assert (shorter.cut, shorter.text != "") == (0, True)
    cut = replaced(words(150))
    assert cut.cut == estimate_tokens(words(150 - len(cut.text.split()))) > 0
    assert cut.text


def test_a_character_is_described_in_a_fixed_order() -> None:
    bonds = {"Elara": "friend", "Borin": "rival", "Anna": "sister"}
    told = {format_character(Character(relationships=dict(order))) for order in itertools.permutations(bonds.items())}
    assert told == {"Relationships: Anna (sister), Borin (rival), Elara (friend)"}
