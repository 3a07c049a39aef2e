"""Speech reported, rule by rule."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.reported import is_english, is_request, third_person

NAMES = {"Benali", "Ann"}


ATTRIBUTED: list[tuple[str, str, str]] = [
    ("Look at my cat", "told Gina to look at his cat", "mentioned look at his cat"),
    ("Let's meet you", "suggested that they meet Gina", "suggested that they meet you"),
    ("lets go", "suggested that they go", "suggested that they go"),
    # requests, which need a listener
    ("Look at how I do", "told Gina to look at how he does", "said that look at how he does"),
    ("Keep my cat", "told Gina to keep his cat", "mentioned keep his cat"),
    ("Never eat", "told Gina to never eat", "mentioned never eat"),
    # the speaker's own
    ("i know", "knows", "knows"),
    ("Im late", "is late", "is late"),
    # the rest is mentioned, if it is a thing, or told by what it is
    ("The cat", "mentioned the cat", "mentioned the cat"),
    ("A cat on the mat", "mentioned a cat on the mat", "mentioned a cat on the mat"),
    ("The cat is on it", "said that the cat is on it", "said that the cat is on it"),
    ("That is good", "said that it is good", "said that it is good"),
    ("That's good", "said that it's good", "said that it's good"),
    ("That cat is good", "said that the cat is good", "said that the cat is good"),
    ("You win", "said that Gina wins", "said that You win"),
    ("Your cat", "mentioned Gina's cat", "mentioned Your cat"),
    ("NASA is big", "said that NASA is big", "said that NASA is big"),
    ("Fatima Benali is in", "said that Fatima Benali is in", "said that Fatima Benali is in"),
    ("Fatima's Benali is in", "said that Fatima's Benali is in", "said that Fatima's Benali is in"),
    ("Fatima Lopez is in", "said that fatima Lopez is in", "said that fatima Lopez is in"),
    ("Ann is in", "said that Ann is in", "said that Ann is in"),
    ("Ann's cat is in", "said that Ann's cat is in", "said that Ann's cat is in"),
    ("(Dune) is good", "said that (Dune) is good", "said that (Dune) is good"),
    ("... The cat is in", "said that the cat is in", "said that the cat is in"),
]


def test_speech_is_attributed_to_its_speaker(subtests: pytest.Subtests) -> None:
    for said, to_gina, without_listener in ATTRIBUTED:
        with subtests.test(said=said, to_gina=to_gina, without_listener=without_listener):

            def full(told: str) -> str:
                return f"Jon{'' if told.startswith(chr(39)) else ' '}{told}"

            assert third_person(said, "Jon", "Gina", NAMES) == full(to_gina)
            assert third_person(said, "Jon", names=NAMES) == full(without_listener)


def test_english_is_known_by_its_function_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("", True),
        ("uno dos tres", True),  # too short to tell
        ("uno dos tres quatro", False),
        ("uno dos tres the", True),
        ("Привет the", True),
        ("Привет dog the", True),
        ("Привет dog cat the", False),
        ("Привет I the", True),
        ("Café", False),
        ("uno café", True),
    ]
    for said, english in cases:
        with subtests.test(said=said):
            assert is_english(said) is english


def test_a_sentence_that_cannot_be_reworded_is_quoted() -> None:
    assert third_person("?!", "Jon", "Gina") == "?!"
    assert third_person("", "Jon") == ""
    assert third_person("uno dos tres quatro", "Jon") == "Jon: uno dos tres quatro"
    assert (
        third_person("Zoë is at the cafe, and I know it", "Jon") == "Jon said that Zoë is at the cafe, and he knows it"
    )


def test_a_sentence_opening_is_not_a_name_even_if_a_title_begins_with_it(subtests: pytest.Subtests) -> None:
    cases: list[str] = ["The", "A", "These", "Some", "It", "There", "If", "When"]
    for opening in cases:
        with subtests.test(opening=opening):
            told = third_person(f"{opening} cat is in", "Jon", names={opening, "Ann"})
            assert told == f"Jon said that {opening.lower()} cat is in"


def test_speech_is_reported_by_its_type_and_addressee(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, str]] = [
        # advice and reminders are only for a listener, and only if they are the listener's
        ("You should rest", "said that Gina should rest", "said that You should rest"),
        ("You know where your cat is", "said that Gina knows where her cat is", "said that You know where your cat is"),
        ("We should rest", "said that they should rest", "said that they should rest"),
        # what opens a sentence
        ("that was good", "said that it was good", "said that it was good"),
        ("Bob and I sang", "said that bob and he sang", "said that bob and he sang"),
        ("Your cat will win", "said that Gina's cat will win", "said that Your cat will win"),
        ("Ann will win", "said that Ann will win", "said that Ann will win"),
        ("It will win", "said that it will win", "said that it will win"),
        # names of two words
        ("Fatima von Benali is in", "said that fatima von Benali is in", "said that fatima von Benali is in"),
        ("UK is big", "said that UK is big", "said that UK is big"),
    ]
    for said, to_gina, without_listener in cases:
        with subtests.test(said=said):
            assert third_person(said, "Jon", "Gina", NAMES) == f"Jon {to_gina}"
            assert third_person(said, "Jon", names=NAMES) == f"Jon {without_listener}"


def test_a_request_is_known_by_its_first_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("", False),
        ("keep going", True),
        ("don't go", True),
        ("never go", True),
        ("do not go", True),
        ("feel free", True),
        ("feel cold", False),
        ("love me", False),
        ("go", True),
        ("going", False),
        ("do go", False),
    ]
    for said, asks in cases:
        with subtests.test(said=said):
            assert is_request(said.split()) is asks


def test_a_refusal_may_be_one_or_two_words() -> None:
    assert third_person("Do not eat my cat", "Jon", "Gina") == "Jon told Gina not to eat his cat"
    assert third_person("Don't eat my cat", "Jon", "Gina") == "Jon told Gina not to eat his cat"
