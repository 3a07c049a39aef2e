"""Invisible characters: every writing keeps those that it needs, and nothing can be hidden in a text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.language.hidden_characters import _RUN, is_blank, replace_hidden, without_hidden

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
WRITTEN = {
    "English": "Zoë met Klaus — at 5 PM; it cost 3 € (“a lot”).",
    "Persian": "او می\u200cخواهد کتاب\u200cهایش را در PDF\u200cها بخواند.",
    "Arabic": "قال المعلّم: «اِقرأ!» ثم كتب C++\u200f في الدفتر.",
    "Arabic with its own mark": "من ٥\u061c-١٠ إلى ١٢",
    "Urdu": "وہ آج\u200c کل لاہور میں ہے۔",
    "Hebrew": "הוא אמר \u200e(C++)\u200e שלום, בְּרֵאשִׁית.",
    "Hebrew with a joined mark": "יְרוּשָׁלִַ\u034fם",
    "Hindi": "शक्\u200dति और क्\u200cष, पढ़ाई में रुचि है।",
    "Sinhala": "ශ්\u200dරී ලංකාව",
    "Malayalam": "അവന്\u200d വന്നു",
    "Bengali": "র\u200d্যাব ও কৃষক",
    "Thai": "ฉันรักภาษาไทยมาก",
    "Chinese": "葛\U000e0100城の邊\U000e0101。",
    "Korean": "안녕하세요, ᄒᆞᆫ글",
    "old Korean": "\u115fᆞ ᄀ\u1160",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ\u180bᠠ ᠬᠡᠯ\u180eᠡ",
    "a family": "👨\u200d👩\u200d👧\u200d👦 and 👩🏽\u200d🚀",
    "hearts": "❤\ufe0f\u200d🔥 ❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3",
    "flags": f"🇫🇮 🏳\ufe0f\u200d🌈 {ENGLAND}",
    "accents": unicodedata.normalize("NFD", "Åse é ṩ"),
    "lines": "one\ttwo\nthree\u2028four\u00a0five",
    "private use": "\ue000",
}
HIDDEN = {
    "bidirectional overrides": ("a \u202elive\u202c b", "a live b"),
    "isolates": ("\u2066a\u2069 \u2067b\u2068", "a b"),
    "zero-width spaces": ("pass\u200bword \ufeffx\u2060y", "password xy"),
    "soft hyphens": ("hy\xadphen", "hyphen"),
    "tags": ("Hello\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065", "Hello"),
    "tags behind a flag": (f"{ENGLAND}\U000e0069\U000e0067", ENGLAND),
    "many tags within a flag": ("🏴" + "\U000e0061" * 7 + "\U000e007f", "🏴"),
    "a flag without an end": ("🏴\U000e0067\U000e0062\U000e0065", "🏴"),
    "bytes behind an emoji": ("😊\ufe0f\U000e0158\U000e0155\ufe01", "😊\ufe0f"),
    "bytes behind a letter": ("a\ufe01b\U000e0101c", "abc"),
    "ideographs' selectors elsewhere": ("😊\U000e0100é\U000e0101", "😊é"),
    "joiners in English": ("a\u200db\u200cc", "abc"),
    "many joiners": ("م\u200c\u200d\u200c\u200cی", "م\u200cی"),
    "marks of direction in English": ("a\u200eb\u200f c\u061c", "ab c"),
    "many marks of direction": ("שלום\u200f\u200e\u200f\u200f.", "שלום\u200f."),
    "fillers": ("a\u3164b\u115fc\uffa0", "abc"),
    "annotations": ("a\ufff9b\ufffac\ufffb", "abc"),
    "half a character": ("é\ud800\udfff", "é"),
    "nothing else": ("\u200b\u202e\u2066", ""),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=[*WRITTEN])
def test_marks_that_a_script_needs_stay(text: str) -> None:
    assert without_hidden(text) == text


@pytest.mark.parametrize(("text", "left"), HIDDEN.values(), ids=[*HIDDEN])
def test_hidden_and_bidirectional_marks_are_removed(text: str, left: str) -> None:
    assert without_hidden(text) == left


def test_hidden_characters_can_be_escaped() -> None:
    assert replace_hidden("م\u200cی \u202ea\u2066", "<{}>".format) == "م\u200cی <\u202e>a<\u2066>"


CHARACTERS = "".join({char for text in (*WRITTEN.values(), *(text for text, _ in HIDDEN.values())) for char in text})


@given(st.text(st.sampled_from(CHARACTERS), max_size=40))
def test_runs_of_hidden_characters_are_shortened_and_a_second_pass_changes_nothing(text: str) -> None:
    left = without_hidden(text)
    assert without_hidden(left) == left
    assert _RUN.sub("", left) == _RUN.sub("", text), "what is seen stays"
    assert all(len(run) <= 3 for run in _RUN.findall(left.replace(ENGLAND, "")))


@given(st.text(st.characters(codec="ascii")))
def test_ascii_is_never_changed(text: str) -> None:
    assert without_hidden(text) is text


def test_a_text_of_invisible_characters_is_blank(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "",
        " \n\u3000",
        "\x1b",
        "\x85",
        "\u200d",
        "\u3164\u115f",
        "\u2800",
        "\ufe0f",
        "\u0301",
        "\ud800",
    ]
    for text in cases:
        with subtests.test(text=text):
            assert is_blank(text)


@given(
    st.text(st.sampled_from(CHARACTERS), max_size=20), st.sampled_from(["a", ".", "日", "م", "क", "👩", "\ue000", "7"])
)
def test_a_text_with_a_visible_character_is_not_blank(text: str, seen: str) -> None:
    assert not is_blank(text + seen + text)
