"""Cuts by content type: within the limit, at words, whole characters, and switched off."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cogitate.memory.language.truncation import ELLIPSIS, Truncation, first_words, shorten

STATEMENT = (
    "I believe we should maximize the floor because it protects the most vulnerable members of society. This approach "
    "aligns with Rawlsian principles of justice, which emphasize that we should organize society to benefit the "
    "worst-off. From a practical standpoint, this also reduces inequality and promotes social cohesion, which benefits "
    "everyone in the long run. Additionally, research shows that societies with stronger safety nets experience..."
)
REASONING = (
    "My internal reasoning: I initially preferred maximizing average because it seemed most efficient. However, after "
    "considering the payoff distributions and the probability of being in the low-income class, I realized that the "
    "floor principle provides better protection against worst-case scenarios..."
)


def test_truncate_statement_content() -> None:
    cut = Truncation().cut("a" * 500, "statement")
    assert len(cut) == 300
    assert cut.endswith("...")
    assert len(Truncation().cut("a" * 500, "reasoning")) == 200


def test_the_specs_statement_is_cut_at_a_word_within_300_characters() -> None:
    cut = Truncation().cut(STATEMENT, "statement")
    assert 280 < len(cut) <= 300
    assert cut.endswith("...")
    assert STATEMENT.startswith(cut.removesuffix(ELLIPSIS))
    assert STATEMENT[len(cut) - 3] in " ,."
    assert len(Truncation().cut("word " * 100, "statement")) <= 300


def test_the_specs_reasoning_is_cut_at_a_word_within_200_characters() -> None:
    cut = Truncation().cut(REASONING, "reasoning")
    assert cut.endswith("the probability of being in the low-income...")
    assert len(cut) <= 200


def test_results_and_other_content_are_never_cut() -> None:
    assert Truncation().cut("r" * 3_000, "result") == "r" * 3_000
    assert Truncation().cut("o" * 3_000, "other") == "o" * 3_000


def test_a_text_of_the_exact_length_is_unchanged() -> None:
    assert shorten("x" * 300, 300) == "x" * 300
    assert shorten("", 10) == ""


def test_truncation_can_be_switched_off_and_configured() -> None:
    assert Truncation(enabled=False).cut(STATEMENT, "statement") == STATEMENT
    assert Truncation(statement=40).cut(STATEMENT, "statement") == "I believe we should maximize the..."
    with pytest.raises(ValueError, match="limit of 3 characters"):
        Truncation(reasoning=3)


def test_a_limit_of_ten_characters_is_the_least_that_may_be_set() -> None:
    assert Truncation(statement=10, reasoning=10).cut("On a bright morning", "statement") == "On a..."
    for too_small in ({"statement": 9}, {"reasoning": 9}):
        with pytest.raises(ValueError, match="limit of 9 characters"):
            Truncation(**too_small)


@pytest.mark.parametrize("word", ["ぁ", "ヿ", "㐀", "䶿", "一", "鿿"])
def test_kana_and_han_are_cut_wherever_a_character_ends(word: str) -> None:
    assert shorten("a" * 5 + word * 8, 10) == "a" * 5 + word * 2 + ELLIPSIS


@pytest.mark.parametrize("tone", ["🏻", "🏿"])
def test_an_emoji_keeps_the_colour_of_its_skin(tone: str) -> None:
    assert shorten(f"👍{tone}" * 10, 12) == f"👍{tone}" * 4 + ELLIPSIS


@pytest.mark.parametrize("letter", ["🇦", "🇿"])
def test_a_flag_keeps_both_its_letters(letter: str) -> None:
    assert shorten(letter * 20, 12) == letter * 8 + ELLIPSIS
    assert shorten("x" + letter * 20, 12) == "x" + letter * 8 + ELLIPSIS


def test_a_cut_leaves_no_mark_before_the_dots() -> None:
    assert shorten("One sentence, another and more", 17) == "One sentence..."
    assert shorten("All is said. Nothing more to say.", 16) == "All is said..."


def test_a_word_longer_than_the_limit_is_split_wherever_it_stands() -> None:
    assert shorten("see " + "x" * 50, 20) == "see " + "x" * 13 + ELLIPSIS
    assert shorten("see " + "x" * 18 + " there", 20) == "see..."


def test_characters_stay_whole_in_a_word_longer_than_the_limit() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert shorten(family * 10, 15) == family * 2 + ELLIPSIS
    assert shorten("\U0001f1eb\U0001f1ee" * 10, 10) == "\U0001f1eb\U0001f1ee" * 3 + ELLIPSIS
    accented = unicodedata.normalize("NFD", "é" * 20)
    assert shorten(accented, 12) == accented[:8] + ELLIPSIS


def test_text_written_without_spaces_is_cut_between_its_characters() -> None:
    text = "今天 " + "我们在咖啡馆讨论了最低收入原则" * 5
    cut = shorten(text, 30)
    assert len(cut) == 30
    assert text.startswith(cut.removesuffix(ELLIPSIS))
    assert shorten("王先生abcdefgh", 10) == "王先生" + ELLIPSIS, "between what has no spaces and a word"
    assert shorten("abc王先生明天给我钥匙", 10) == "abc王先生明" + ELLIPSIS


def test_cyrillic_is_cut_at_words() -> None:
    assert shorten("Сегодня вечером мы обсуждали принцип справедливости", 30) == "Сегодня вечером мы..."


@given(st.text(st.sampled_from("ab é\u0301.,\n\u200d👍🏽🇫🇮中"), max_size=80), st.integers(10, 60))
@example("   " + "a" * 30, 10)
@example("." * 40, 10)
def test_never_above_the_limit_and_never_within_a_word(text: str, limit: int) -> None:
    cut = shorten(text, limit)
    assert len(cut) <= limit
    if len(text) <= limit:
        assert cut == text
        return
    kept = cut.removesuffix(ELLIPSIS)
    assert cut.endswith(ELLIPSIS)
    assert text.startswith(kept)
    words = text.split()
    if kept.strip() and all(len(word) <= limit - 3 for word in words) and "中" not in text:
        assert set(kept.split()[:-1]) <= set(words)
        last = kept.split()[-1]
        assert any(word.rstrip(".,") == last.rstrip(".,") for word in words)


def test_truncation_keeps_the_expected_part(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, int, str]] = [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two..."),
        ("one two three", 10, "one two..."),
        ("one, two; three", 12, "one, two..."),
        ("one twothreefour", 12, "one..."),  # twelve letters: the word alone would fit
        ("one twothreefours", 12, "one twoth..."),
        ("       one two three four", 10, "       ..."),
        ("a" * 20, 10, "aaaaaaa..."),
        ("." * 20, 10, ".........."),
        ("日本語日本語日本語日本語", 10, "日本語日本語日..."),
        ("abc 日本語日本語日本", 10, "abc 日本語..."),
        ("が\u3099" * 7, 10, "が\u3099" * 3 + "..."),
        ("e\u0301" * 12, 10, "e\u0301" * 3 + "..."),
        ("e\u0489" * 12, 10, "e\u0489" * 3 + "..."),
        ("क\u093e" * 12, 10, "क\u093e" * 3 + "..."),
        ("\u0301" * 30, 10, "\u0301" * 7 + "..."),
        ("🇩🇪🇫🇷🇩🇪🇫🇷🇩🇪🇫🇷", 10, "🇩🇪🇫🇷🇩🇪..."),
        ("x🇩🇪🇫🇷🇩🇪🇫🇷🇩🇪🇫🇷", 10, "x🇩🇪🇫🇷🇩🇪..."),
        ("👍🏽" * 6, 10, "👍🏽" * 3 + "..."),
        ("👨\u200d👩\u200d👧" * 3, 10, "👨\u200d👩\u200d👧..."),
        ("four " + "b" * 11, 10, "four bb..."),
        ("fives " + "b" * 11, 10, "fives b..."),
        ("fives " + "b" * 10, 10, "fives..."),
        ("sixsix " + "b" * 11, 10, "sixsix..."),
    ]
    for text, limit, kept in cases:
        with subtests.test(text=text):
            assert shorten(text, limit) == kept


def test_only_kana_and_han_are_cut_within_a_word_that_would_fit(subtests: pytest.Subtests) -> None:
    cases: list[tuple[int, bool]] = [
        (0x3040, False),
        (0x3041, True),
        (0x30FF, True),
        (0x3100, False),
        (0x33FF, False),
        (0x3400, True),
        (0x4DBF, True),
        (0x4DC0, False),
        (0x4DFF, False),
        (0x4E00, True),
        (0x9FFF, True),
        (0xA000, False),
    ]
    for char, unspaced in cases:
        with subtests.test(char=char):
            assert shorten(f"one {chr(char) * 9}", 10) == (f"one {chr(char) * 3}..." if unspaced else "one...")


@pytest.mark.parametrize(("char", "pairs"), [(0x1F1E5, False), (0x1F1E6, True), (0x1F1FF, True), (0x1F200, False)])
def test_only_regional_letters_make_flags(char: int, pairs: bool) -> None:
    assert shorten(chr(char) * 11, 10) == chr(char) * (6 if pairs else 7) + ELLIPSIS


@pytest.mark.parametrize(("char", "colours"), [(0x1F3FA, False), (0x1F3FB, True), (0x1F3FF, True), (0x1F400, False)])
def test_only_skin_tones_stay_with_the_preceding_character(char: int, colours: bool) -> None:
    assert shorten(f"x{chr(char)}" * 9, 10) == (f"x{chr(char)}" * 4)[: 6 if colours else 7] + ELLIPSIS


@pytest.mark.parametrize(
    ("text", "limit"),
    [("我们明天在中心广场见面" * 9, 60), ("私は明日広場で会いましょう" * 9, 60), ("พบกันพรุ่งนี้ที่จัตุรัส" * 9, 60)],
)
def test_a_text_without_spaces_keeps_all_that_fits(text: str, limit: int) -> None:
    cut = shorten(f"Ann: {text}", limit)
    assert limit - 6 <= len(cut) <= limit
    assert text.startswith(cut.removeprefix("Ann: ").removesuffix(ELLIPSIS))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("กำลังทำ" * 9, "\u0e33"),  # Thai am is the end of the letter before it
        ("เแโใไก" * 9, ""),
        ("क्षत्रिय" * 9, "\u094d"),  # two consonants joined
    ],
)
def test_no_cut_splits_a_grapheme(text: str, parts: str) -> None:
    for limit in range(10, 40):
        kept = shorten(text, limit, "…").removesuffix("…")
        rest = text[len(kept) :]
        assert not (parts and rest.startswith(parts))
        assert not kept.endswith(("\u094d", "เ", "แ", "โ", "ใ", "ไ"))


@pytest.mark.parametrize(
    ("text", "most", "words"),
    [
        ("one two  three", 2, "one two"),
        ("我们明天见面", 2, "我们明天"),
        ("Ann 我们明天见面", 2, "Ann 我们"),
        ("", 2, ""),
    ],
)
def test_the_first_words_of_any_script(text: str, most: int, words: str) -> None:
    assert first_words(text, most) == words
