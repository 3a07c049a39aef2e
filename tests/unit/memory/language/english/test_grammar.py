"""English verbs and adverbs, told from their forms."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.grammar import agree, has_verb, is_adverb, is_past


def test_a_verb_agrees_with_one(subtests: pytest.Subtests) -> None:
    for verb, agreed in [
        ("am", "is"),
        ("have", "has"),
        ("haven't", "hasn't"),
        ("do", "does"),
        ("don't", "doesn't"),
        ("go", "goes"),
        ("was", "was"),
        ("AM", "is"),
        ("love", "loves"),
        ("Love", "Loves"),
        ("pass", "passes"),
        ("focus", "focuses"),
        ("wash", "washes"),
        ("watch", "watches"),
        ("fix", "fixes"),
        ("buzz", "buzzes"),
        ("echo", "echoes"),
        ("carry", "carries"),
        ("fly", "flies"),
        ("play", "plays"),
        ("say", "says"),
        ("lay", "lays"),
        ("obey", "obeys"),
        ("annoy", "annoys"),
        ("yearn", "yearns"),
        ("sing", "sings"),
        ("bring", "brings"),
        ("string", "strings"),
        ("need", "needs"),
        ("succeed", "succeeds"),
    ]:
        with subtests.test(verb=verb):
            assert agree(verb) == agreed


@pytest.mark.parametrize("verb", ["wasn't", "hasn't", "isn't", "needn't", "shan't", "couldn't", "doesn't"])
def test_a_negated_verb_already_agrees_in_number(verb: str) -> None:
    assert agree(verb) == verb


def test_pasts_auxiliaries_and_other_words_stay(subtests: pytest.Subtests) -> None:
    """Each is of another list or ending than the others."""
    cases: list[str] = [
        "can",
        "used",
        "couldn't",
        "put",
        "hurt",
        "went",
        "gave",
        "walked",
        "singing",
        "trying",
        "agreed",
        "here",
        "makes",
        "is",
        "café",
        "both",
    ]
    for verb in cases:
        with subtests.test(verb=verb):
            assert agree(verb) == verb


def test_an_adverb_is_listed_or_ends_in_ly_and_has_five_letters(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("just", True),
        ("so", True),
        ("early", True),
        ("sadly", True),
        ("only", True),
        ("ugly", False),
        ("fly", False),
        ("house", False),
        ("lying", False),
    ]
    for word, adverb in cases:
        with subtests.test(word=word):
            assert is_adverb(word) is adverb


def test_a_finite_verb_is_known_by_its_form_or_by_the_subject_before_it(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("is", True),
        ("could", True),
        ("there's", True),
        ("went", True),  # irregular
        ("hope", True),
        ("ended", True),
        ("moved", True),
        ("needn't", True),
        ("shed", False),  # too short for a past
        ("red", False),
        ("dog", False),
        ("", False),
        ("a loaf of bread", False),
        ("she dog", True),  # what follows a subject is taken for its verb
        ("they dance well", True),
        ("it", False),  # and nothing follows this one
        ("dance with you", False),
        ("you know", True),
    ]
    for words, found in cases:
        with subtests.test(words=words):
            assert has_verb(words.split()) is found


def test_a_past_tense_is_recognised_by_its_form(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("had", True),
        ("went", True),
        ("walked", True),
        ("agreed", True),
        ("tried", True),
        ("red", False),
        ("bed", False),
        ("used", False),
        ("added", True),  # of four letters too many are no verbs
        ("need", False),
        ("proceed", False),
        ("walking", False),
        ("walks", False),
        ("mill", False),
        ("men", False),
        ("goes", False),
        ("leaves", False),  # irregular, and no past
    ]
    for word, past in cases:
        with subtests.test(word=word):
            assert is_past(word) is past


def test_a_verb_is_recognised_among_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("mill burned", True),
        ("wine fed it", True),
        ("hope mill", True),
        ("just mill", False),
        ("red mill", False),
        ("mill went", True),
        ("they'll mill", True),
        ("she mill", True),
        ("mill she", False),
        ("mill is", True),
    ]
    for said, verb in cases:
        with subtests.test(said=said):
            assert has_verb(said.split()) is verb
