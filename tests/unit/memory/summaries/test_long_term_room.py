"""The number of tokens of a text, and the content of a long-term summary within a limit."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.long_term import (
    cut_oldest,
    estimate_tokens,
    fold,
    fold_or_cut,
    format_entries,
    tokens_of_words,
    words_of_tokens,
)
from cogitate.memory.summaries.units import MOST_SENTENCES
from tests.unit.tasks.kind_cases import MARIA, WORLD, message, observation, stream_of


def test_long_words_and_unspaced_characters_count_as_several(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, int]] = [
        ("", 0),
        (" \n ", 0),
        ("one", 1),
        ("one two\nthree", 3),
        ("x" * 16, 1),
        ("x" * 17, 2),
        ("x" * 32, 2),
        ("x" * 33, 3),
        ("é" * 16, 1),
        ("é" * 17, 2),
        ("café " + "x" * 17, 3),
        ("東京 に行く", 5),
        ("Tokyo東京tower", 4),
        ("日" * 17, 17),
    ]
    for text, words in cases:
        with subtests.test(text=text):
            assert count_words(text) == words


def test_ten_words_are_thirteen_tokens() -> None:
    assert [tokens_of_words(words) for words in (0, 1, 2, 3, 9, 10, 11, 20)] == [0, 2, 3, 4, 12, 13, 15, 26]
    assert [words_of_tokens(tokens) for tokens in (0, 1, 2, 3, 12, 13, 14, 26, 54, 55)] == [
        0,
        0,
        1,
        2,
        9,
        10,
        10,
        20,
        41,
        42,
    ]
    assert estimate_tokens("one two three") == 4


def test_the_newest_part_of_a_too_long_text_stays(subtests: pytest.Subtests) -> None:
    cases: list[tuple[int, str]] = [
        (99, "Ann sang. Bo left the old house. Cy ran."),
        (12, "Ann sang. Bo left the old house. Cy ran."),  # 9 words
        (11, "Bo left the old house. Cy ran."),
        (10, "Bo left the old house. Cy ran."),  # 7 words
        (9, "Cy ran."),
        (3, "Cy ran."),
        (2, "ran."),
        (1, ""),
        (0, ""),
    ]
    for room, kept in cases:
        with subtests.test(room=room):
            assert cut_oldest("Ann sang. Bo left the old house. Cy ran.", room) == kept


def test_a_single_sentence_is_cut_to_its_last_words() -> None:
    assert cut_oldest("one two three four", 3) == "three four"
    assert cut_oldest("東南西北中", 3) == "北中"
    assert cut_oldest("x" * 40 + "y" * 16, 3) == "x" * 16 + "y" * 16
    assert cut_oldest("東" * 9, 1) == ""
    assert cut_oldest("", 0) == ""


def test_entries_are_told_in_order_of_time_then_number() -> None:
    entries = stream_of(
        message("Last.", 30), observation("Second, today.", 20), observation("Third.", 20), message("First.", 10)
    ).live()
    expected = "Maria Lopez: First. Second, on day 1. Third. Maria Lopez: Last."
    assert format_entries(entries, WORLD.names) == expected
    assert format_entries([*entries, observation("", 25)], WORLD.names) == expected
    assert format_entries([], {}) == ""


def test_a_summary_starts_with_the_old_one_then_entries_by_time() -> None:
    entries = stream_of(
        observation("Dora reached Delft.", 40),
        message("I will visit Carl tomorrow.", 30),
        observation("Bea found 7 pearls.", 20),
        observation("Emil sold 9 boats.", 20),
    ).live()
    assert fold("Ada owns 2 mills.", entries, {MARIA: "Maria Lopez"}, 99) == (
        "Ada owns 2 mills. Bea found 7 pearls. Emil sold 9 boats. Maria Lopez will visit Carl on day 2. "
        "Dora reached Delft."
    )


@pytest.mark.parametrize(
    ("critical", "other"),
    [
        ("She must go home", "Zoe paid 30 crowns"),  # an objective
        ("He trusts his sister", "Zoe paid 30 crowns"),  # a bond
    ],
)
def test_critical_facts_precede_names_and_numbers(critical: str, other: str) -> None:
    for first, second in ((critical, other), (other, critical)):
        entries = stream_of(observation(f"{first}.", 1), observation(f"{second}.", 2)).live()
        assert fold("", entries, {}, 6) == f"{critical}."


def test_an_objective_goes_before_a_bond_and_both_before_either() -> None:
    entries = stream_of(
        observation("He trusts his sister.", 1),
        observation("She must go home.", 2),
        observation("She must find her brother.", 3),
    ).live()
    assert fold("", entries, {}, 7) == "She must find her brother."
    assert fold("", entries[:2], {}, 6) == "She must go home."


def test_rules_of_the_game_come_last() -> None:
    entries = stream_of(observation("Zoe must roll 2d6 for 30 crowns.", 1), observation("the cat slept.", 2)).live()
    assert fold("", entries, {}, 10) == "The cat slept."
    assert fold("", entries[:1], {}, 10) == "Zoe must roll 2d6 for 30 crowns."


@pytest.mark.parametrize(("room", "text"), [(6, "Bea found 7 pearls."), (5, ""), (0, ""), (-3, "")])
def test_a_sentence_that_exactly_fits_is_told(room: int, text: str) -> None:
    assert fold("Bea found 7 pearls.", [], {}, room) == text


def test_a_too_long_word_shortens_the_summary() -> None:
    """Words are chosen by their number and measured by their tokens."""
    long = f"Bea owns {'x' * 60}."
    assert fold(f"{long} Ann ran.", [], {}, estimate_tokens(long) - 1) == "Ann ran."
    assert fold(f"{long} Ann ran.", [], {}, estimate_tokens(f"{long} Ann ran.")) == f"{long} Ann ran."


def test_a_text_of_very_many_sentences_is_told_completely() -> None:
    text = " ".join(f"{1000 + n}!" for n in range(MOST_SENTENCES + 9))
    found = fold("", [observation(text, 1)], {}, 9_999).split()
    assert (len(found), found[0], found[-1]) == (309, "1000.", "1308.")


def test_a_sentence_without_room_is_cut_and_its_rest_counted() -> None:
    words = [f"word{n}" for n in range(60)]
    told, cut = fold_or_cut("Ann owns 2 mills.", [observation(" ".join(words), 1)], {}, 52)  # 40 words
    kept = told.removeprefix("Ann owns 2 mills. ").replace(".", "").lower().split()
    assert 0 < len(kept) < 60
    assert kept == words[words.index(kept[0]) :][: len(kept)]
    assert cut == tokens_of_words(60 - len(kept))


@pytest.mark.parametrize("size", [191, 192, 193, 400, 900])
@pytest.mark.parametrize(
    "script",
    [
        lambda n: chr(0x4E00 + 7 * n),  # Han, without a full stop
        lambda n: chr(0x0E01 + n % 46),  # Thai
        lambda n: f" слово{n}",  # Russian, without a full stop
        lambda n: f" w{n}",
        lambda n: f"{n:04}",  # one word without end
    ],
)
def test_part_of_every_memory_is_told_and_omissions_are_counted(script: Callable[[int], str], size: int) -> None:
    """In 250 tokens, 192 words."""
    text = "".join(map(script, range(size)))[:4_000].strip()
    told, cut = fold_or_cut("", [observation(text, 1)], {}, 250)
    source = "".join(text.lower().split())
    parts = re.split("[.。]|(?<=[\u0e00-\u0eff]) ", told.lower())  # Thai has no full stop
    assert all("".join(part.split()) in source for part in parts)
    assert estimate_tokens(told) <= 250
    assert estimate_tokens(told) >= min(estimate_tokens(text), 125) - 2, "at least half of the room is used"
    assert cut == 0 if estimate_tokens(text) <= 250 else cut > 0


def test_a_memory_without_spaces_does_not_displace_the_old_summary() -> None:
    text = "王先生明天给我钥匙" * 100
    told, cut = fold_or_cut("Elara found the silver dagger in the mill.", [observation(text, 1)], {}, 250)
    assert told.startswith("Elara found the silver dagger in the mill. 王先生")
    assert cut > 0


def test_facts_past_by_the_last_entry_are_told_in_the_past() -> None:
    told = observation("Ada will sing at the mill on day 1 at 5:00 PM.", 600)
    assert "Ada will sing" in fold("", [told], {}, 100)
    assert "Ada was going to sing" in fold("", [told, observation("Rain fell on the mill.", 3 * 1440)], {}, 100)


def test_facts_past_when_the_summary_is_written_are_not_told_as_future() -> None:
    coming = "Pilar will repair the mast on the evening of day 3."
    noon, evening = 2 * 1440 + 720, 2 * 1440 + 1439
    leaving = [Entry(type="observation", text="Pilar found a rope.", minute=noon, number=1)]
    assert "will repair" in fold(coming, leaving, {}, 100, now=noon)
    assert "was going to repair the mast on the evening of day 3" in fold(coming, leaving, {}, 100, now=evening + 1)
    assert "was going to repair" in fold(coming, (), {}, 100, now=evening + 1)


def test_without_a_clock_no_fact_is_past() -> None:
    text = "Ann Lee will sell 9 mills on day 1 at 12:00 AM."
    assert fold_or_cut(text, (), {}, 250) == (text, 0)
    told, _ = fold_or_cut(text, (), {}, 250, now=1)
    assert "will" not in told


@pytest.mark.parametrize(
    "told", ['Ada said: "Come at 11:00!"', "Aino: ”Silta on haljennut!”", "Анна: «Мост треснул!»", "Bo: “I won’t…”"]
)
def test_a_quotation_is_folded_again_as_it_stands(told: str) -> None:
    assert fold(told, [], {}, 100) == told
