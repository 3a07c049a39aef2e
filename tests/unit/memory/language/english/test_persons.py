"""Persons of speech, word by word: "I" as the one who says it, verbs agreeing."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.persons import third_person, tokens_of


def test_contractions_of_the_speaker_are_written_out(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("I'm im I’ve I'll", "I am I am I have I will"),
        ("gonna wanna gotta kinda ain't", "going to want to have to kind of am not"),
        ("the cause it had", "the cause it had"),
        ("cause of it", "cause of it"),
        ("' cause", "' cause"),
        ("a 'boat", "a 'boat"),
        ("Gina's 1,000 well-known_cats!", "Gina's 1,000 well-known_cats!"),
        ("", ""),
    ]
    for said, written_out in cases:
        with subtests.test(said=said):
            assert "".join(tokens_of(said)) == written_out


def test_tokens_are_words_spaces_and_single_marks() -> None:
    assert tokens_of("No_ I'm…  ok?!") == ["No", "_", " ", "I", " ", "am", "…", "  ", "ok", "?", "!"]


def test_the_speaker_is_named_once(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("I know", "Jon knows"),
        ("My dog slept", "Jon's dog slept"),
        ("I know my dog, mine, myself", "Jon knows his dog, his, himself"),
        ("My dog hurt me", "Jon's dog hurt him"),
        ("Now I know", "Now Jon knows"),
    ]
    for said, told in cases:
        with subtests.test(said=said):
            assert third_person(said, "Jon") == told
    assert third_person("I know my dog, mine, myself", "Zyx") == "Zyx knows their dog, theirs, themselves"
    assert third_person("I know my dog, mine, myself", "Gina") == "Gina knows her dog, hers, herself"


def test_a_mine_may_be_a_pit(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("I like the old mine", "Jon likes the old mine"),
        ("I dig in that mine", "Jon digs in that mine"),
        ("I know it is mine", "Jon knows it is his"),
        ("I like the old me", "Jon likes the old him"),
    ]
    for said, told in cases:
        with subtests.test(said=said):
            assert third_person(said, "Jon") == told


def test_the_verb_of_the_subject_agrees_and_no_other(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("I just really know", "Jon just really knows"),
        ("I 100% know", "Jon 100% knows"),
        ("I 7 know", "Jon 7 knows"),
        ("I double-check and know", "Jon double-checks and know"),
        ("I know and know", "Jon knows and know"),
        ("I, know", "Jon, know"),
        ("I; know", "Jon; know"),
        ("I: know", "Jon: know"),
        ("I - know", "Jon - know"),
        ("I -know", "Jon -know"),
        ("I- know", "Jon- knows"),
        ("I really -", "Jon really -"),
        ("I. know", "Jon. knows"),
        ("I (really) go", "Jon (really) goes"),
        ("Dogs know", "Dogs know"),
        ("I have seen dogs", "Jon has seen dogs"),
    ]
    for said, expected in cases:
        with subtests.test(said=said):
            assert third_person(said, "Jon") == expected


def test_surrounding_spaces_are_removed() -> None:
    assert third_person("  I know ", "Jon") == "Jon knows"
    assert third_person("", "Jon") == third_person("  ", "Jon") == ""
