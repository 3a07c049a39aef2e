"""English verbs, adverbs and objects, told from their forms."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.grammar import PLURAL, SINGULAR, agree, has_verb, is_adverb, is_past, takes_object


def test_a_verb_agrees_with_one_and_with_several(subtests: pytest.Subtests) -> None:
    for verb, singular, plural in [
        ("am", "is", "are"),
        ("are", "is", "are"),
        ("were", "was", "were"),
        ("weren't", "wasn't", "weren't"),
        ("aren't", "isn't", "aren't"),
        ("have", "has", "have"),
        ("haven't", "hasn't", "haven't"),
        ("do", "does", "do"),
        ("don't", "doesn't", "don't"),
        ("go", "goes", "go"),
        ("was", "was", "were"),
        ("AM", "is", "are"),
        ("love", "loves", "love"),
        ("Love", "Loves", "Love"),
        ("pass", "passes", "pass"),
        ("focus", "focuses", "focus"),
        ("wash", "washes", "wash"),
        ("watch", "watches", "watch"),
        ("fix", "fixes", "fix"),
        ("buzz", "buzzes", "buzz"),
        ("echo", "echoes", "echo"),
        ("carry", "carries", "carry"),
        ("fly", "flies", "fly"),
        ("play", "plays", "play"),
        ("say", "says", "say"),
        ("lay", "lays", "lay"),
        ("obey", "obeys", "obey"),
        ("annoy", "annoys", "annoy"),
        ("yearn", "yearns", "yearn"),
        ("sing", "sings", "sing"),
        ("bring", "brings", "bring"),
        ("string", "strings", "string"),
        ("need", "needs", "need"),
        ("succeed", "succeeds", "succeed"),
    ]:
        with subtests.test(verb=verb, singular=singular, plural=plural):
            assert (agree(verb, SINGULAR), agree(verb, PLURAL)) == (singular, plural)


@pytest.mark.parametrize("verb", ["wasn't", "hasn't", "isn't", "needn't", "shan't", "couldn't", "doesn't"])
def test_a_negated_verb_already_agrees_in_number(verb: str) -> None:
    assert agree(verb, SINGULAR) == verb


def test_a_denied_past_agrees_with_several() -> None:
    assert agree("wasn't", PLURAL) == "weren't"


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
            assert agree(verb, SINGULAR) == agree(verb, PLURAL) == verb


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


def test_a_pronoun_is_an_object_after_prepositions_and_some_verbs(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("to", True),
        ("helps", True),
        ("miss", True),
        ("invite", True),
        ("invites", True),
        ("seeing", True),
        ("house", False),
        ("walks", False),
        ("hope", False),
        ("", False),
        ("asked", True),
        ("shed", False),
        ("used", False),
    ]
    for word, takes in cases:
        with subtests.test(word=word):
            assert takes_object(word) is takes


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


def test_a_past_is_known_by_its_form(subtests: pytest.Subtests) -> None:
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


def test_a_verb_is_seen_among_words(subtests: pytest.Subtests) -> None:
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
