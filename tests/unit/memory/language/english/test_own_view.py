"""Observations told by the one who remembers them: only where it is certain who does what."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.language.english.own_view import in_own_words, with_subject

ADA = "Ada Smith"
NAMES = (ADA, "Ben", "Ann", "Ann Marie", "Big Ben")


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("Ada Smith asked the neighbours for help.", "I asked the neighbours for help."),
        ("Ada Smith was late.", "I was late."),
        ("Ada Smith is reading the newspaper.", "I am reading the newspaper."),
        ("Ada Smith has two goats.", "I have two goats."),
        ("Ada Smith's lamp went out.", "My lamp went out."),
        ("A stranger broke Ada Smith's lamp.", "A stranger broke my lamp."),
        ("Ben gave a hat to Ada Smith.", "Ben gave a hat to me."),
        ("An arrow struck Ada Smith in the shoulder.", "An arrow struck me in the shoulder."),
        ("Ada Smith met the baker. Ben saw Ada Smith at noon.", "I met the baker. Ben saw me at noon."),
        ("Ada Smith promised to mend the pump.", "I promised to mend the pump."),
        ("Ada Smith checks the valve.", "I check the valve."),
        ("Ada Smith watches a heron.", "I watch a heron."),
        ("Ada Smith sorted the tools by their age.", "I sorted the tools by their age."),
        ("Ada Smith found grey mould on the seedlings.", "I found grey mould on the seedlings."),
        ("Ada Smith apologised.", "I apologised."),
        ("Ann Marie and Ada Smith lowered the net.", "Ann Marie and I lowered the net."),
        ("Ben and Ada Smith met.", "Ben and I met."),
        ("Ada Smith and Ann Marie are talking about goats.", "Ann Marie and I are talking about goats."),
        ("Ada Smith operated on patient 12 for two hours.", "I operated on patient 12 for two hours."),
        ("Ada Smith told 12 guests about the flood.", "I told 12 guests about the flood."),
        ("Saw a cat.", "I saw a cat."),
        ("Lost the key.", "I lost the key."),
        ("burned my hand", "I burned my hand"),
        ("Ada Smith asked at the inn.", "I asked at the inn."),
    ],
)
def test_certain_sentences_are_told_in_the_first_person(seen: str, told: str) -> None:
    assert in_own_words(seen, ADA, NAMES) == told


@pytest.mark.parametrize(
    "seen",
    [
        "Ada Smith elected speaker.",  # a headline
        "Ada Smith injured in a fall.",
        "Ada Smith seen at the mill.",
        "Ada Smith found dead.",
        "Ada Smith paintings are for sale.",
        "Ada Smith lost her hat.",  # whose?
        "Ada Smith mended their boat.",
        "Ben said Ada Smith left.",
        "Cy and Ada Smith met.",  # who is Cy?
        "Ben and Ada Smith mended their boat.",
        "The guests were Ben, Ada Smith and Ann.",
        'Ben said "Ada Smith was late."',
        "Ada Smithson was late.",
        "Lady Ada Smith was late.",
        "Ada Smith-Jones was late.",
        "Burned village at the ford.",
        "Lost child found at the mill.",
        "Анна видела Ada Smith.",
    ],
)
def test_everything_else_is_unchanged(seen: str) -> None:
    assert in_own_words(seen, ADA, NAMES) == seen


@pytest.mark.parametrize(
    ("seen", "owner"),
    [
        ("Ann Marie was late.", "Ann"),
        ("Annabel was late.", "Ann"),
        ("Ann's sister met Ann Marie.", "Ann Marie Lee"),
        ("A bell called Big Ben was cast.", "Ben"),
        ("Big Ben was cast.", "Ben"),
        ("Ben Nevis was climbed.", "Ben"),
    ],
)
def test_a_name_within_a_longer_one_is_not_the_owners(seen: str, owner: str) -> None:
    assert in_own_words(seen, owner, [owner, *NAMES]) == seen


def test_namesakes_are_not_confused() -> None:
    assert in_own_words("Ben was late.", "Ben", ["Ben", "Ann"]) == "I was late."
    assert in_own_words("Ben was late.", "Ben", ["Ben", "Ben"]) == "Ben was late."


_WORD = st.from_regex(r"[A-Z][a-z]{1,6}", fullmatch=True).filter(lambda word: word not in ("My", "The", "Then"))
_NAME = st.lists(_WORD, min_size=1, max_size=3).map(" ".join)
_PATTERNS = st.sampled_from(
    ["{} was late.", "A cat saw {} at noon.", "{}'s lamp went out.", "It went to {}.", "{} had the key.", "It is {}."]
)


@given(_NAME, st.lists(_NAME, min_size=1, max_size=5), st.lists(st.tuples(_PATTERNS, st.integers(0, 9)), max_size=4))
def test_no_rewritten_text_keeps_half_of_a_name(owner: str, others: list[str], told: list[tuple[str, int]]) -> None:
    people = [owner, *others, f"{owner} {others[0]}", f"{others[0]} {owner}"]
    text = " ".join(pattern.format(people[at % len(people)]) for pattern, at in told)
    mine = in_own_words(text, owner, people)
    for other in (name for name in set(others) if name not in owner):  # who is named is still named as a whole
        whole = re.compile(rf"\b{re.escape(other)}\b")
        assert len(whole.findall(mine)) == len(whole.findall(text))
    assert not re.search(r"\b(?:I|[Mm]y|me) [A-Z]|[A-Z][a-z]+ (?:I|my|me)\b(?! )", mine)


def test_a_subject_that_is_left_out_is_the_owner_where_a_verb_is_certain() -> None:
    assert with_subject("Arrived at the inn", "Ada") == "Ada arrived at the inn"
    assert with_subject("Found the key", "Ada") == "Ada found the key"
    assert with_subject("Found dead: the miller", "Ada") == "Found dead: the miller"
    assert with_subject("Saw a cat", "") == "Saw a cat"
