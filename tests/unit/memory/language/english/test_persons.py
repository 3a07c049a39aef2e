"""Persons of speech, word by word: "I" and "you" as those whom they mean, verbs agreeing."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.persons import replace_persons, tokens_of


def told(said: str, speaker: str = "Jon", listener: str = "Gina", *, named: bool = False, heard: bool = False) -> str:
    return replace_persons(tokens_of(said), speaker, listener, named=named, heard=heard)


def test_contractions_of_persons_are_written_out(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("I'm im I’ve I'll", "I am I am I have I will"),
        ("you're you've you'll you'd ya", "you are you have you will you would you"),
        ("we're we've we'll we'd", "we are we have we will we would"),
        ("gonna wanna gotta kinda ain't", "going to want to have to kind of am not"),
        ("I'd been I'd", "I had been I would"),
        ("I'd, seen from here, lose", "I had, seen from here, lose"),
        ("I'd walked there", "I had walked there"),
        ("I'd walk there", "I would walk there"),
        ("'cause it's cold", "because it's cold"),
        ("the cause it had", "the cause it had"),
        ("cause of it", "cause of it"),
        ("Gina's 1,000 well-known_cats!", "Gina's 1,000 well-known_cats!"),
        ("", ""),
    ]
    for said, written_out in cases:
        with subtests.test(said=said):
            assert "".join(tokens_of(said)) == written_out


def test_tokens_are_words_spaces_and_single_marks() -> None:
    assert tokens_of("No_ I'm…  ok?!") == ["No", "_", " ", "I", " ", "am", "…", "  ", "ok", "?", "!"]


def test_the_speaker_is_named_once(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, str]] = [
        ("I know", "Jon knows", "he knows"),
        ("me", "Jon", "him"),
        ("my dog", "Jon's dog", "his dog"),
        ("It is mine", "It is Jon's", "It is his"),
        ("myself", "himself", "himself"),
        (
            "I know me, my dog, mine, myself",
            "Jon knows him, his dog, his, himself",
            "he knows him, his dog, his, himself",
        ),
        ("me and my dog", "Jon and his dog", "him and his dog"),
        ("my dog and I", "Jon's dog and he", "his dog and he"),
        ("mine, not my dog", "Jon's, not his dog", "his, not his dog"),
        (
            "We know us, our dog, ours, ourselves",
            "they know them, their dog, theirs, themselves",
            "they know them, their dog, theirs, themselves",
        ),
    ]
    for said, first, again in cases:
        with subtests.test(said=said):
            assert (told(said), told(said, named=True)) == (first, again)


def test_the_listener_is_named_once(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, str]] = [
        ("you know", "Gina knows", "she knows"),
        ("with you", "with Gina", "with her"),
        ("your dog", "Gina's dog", "her dog"),
        ("That is yours", "That is Gina's", "That is hers"),
        ("yourself", "herself", "herself"),
        ("you love your dog, yours, yourself", "Gina loves her dog, hers, herself", "she loves her dog, hers, herself"),
        ("you, with you", "Gina, with her", "she, with her"),
        ("to you have", "to Gina has", "to she has"),  # before such a verb it is a subject
        ("You are my friend", "Gina is Jon's friend", "she is Jon's friend"),
        ("I think you know", "Jon thinks Gina knows", "Jon thinks she knows"),
        ("you guys know", "Gina knows", "she knows"),
        ("you all know", "Gina knows", "she knows"),
        ("you two know", "Gina knows", "she knows"),
        ("those guys know", "those guys know", "those guys know"),
        ("you both are late", "they both are late", "they both are late"),
        ("with you both", "with Gina both", "with her both"),
        ("Dogs both know", "Dogs both know", "Dogs both know"),
    ]
    for said, first, again in cases:
        with subtests.test(said=said):
            assert (told(said), told(said, heard=True)) == (first, again)


@pytest.mark.parametrize(
    ("speaker", "listener", "said"),
    [
        ("Jon", "Tim", "Jon knows Tim, Tim's dog, Tim's, himself"),  # "he knows him" would say nothing
        ("Gina", "Zyx", "Gina knows Zyx, Zyx's dog, Zyx's, themselves"),  # nor would "them", one of them
        ("Zyx", "Gina", "Zyx knows Gina, her dog, hers, herself"),
        ("Jon", "", "Jon knows you, your dog, yours, yourself"),
    ],
)
def test_a_listener_with_the_speakers_pronouns_is_named_again(speaker: str, listener: str, said: str) -> None:
    assert told("I know about you, your dog, yours, yourself", speaker, listener) == said.replace(
        "knows", "knows about"
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("You know your dog", "Tim knows his dog"),
        ("You know how your dog sleeps", "Tim knows how his dog sleeps"),
        ("You know Bo and your dog", "Tim knows Bo and Tim's dog"),
        ("You know me and your dog", "Tim knows Jon and Tim's dog"),
        ("You know us and your dog", "Tim knows them and Tim's dog"),
        ("You know, your dog sleeps", "Tim knows, Tim's dog sleeps"),
        ("With you is your dog", "With Tim is Tim's dog"),
    ],
)
def test_your_is_his_only_while_it_is_plainly_his(said: str, expected: str) -> None:
    assert told(said, listener="Tim") == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I said thank you", "Jon said thank you"),
        ("I say thank you", "Jon says thank you"),
        ("They are saying thank you", "They are saying thank you"),
        ("I want to thank you", "Jon wants to thank Gina"),
        ("I said so and thank you", "Jon said so and thank Gina"),
    ],
)
def test_thank_you_names_no_one(said: str, expected: str) -> None:
    assert told(said) == expected


def test_a_mine_may_be_a_pit(subtests: pytest.Subtests) -> None:
    cases: list[str] = ["the", "an old", "that", "this", "a new", "a silver", "a gold", "a coal"]
    for before in cases:
        with subtests.test(before=before):
            assert told(f"We met at {before} mine") == f"they met at {before} mine"
            assert told("It is good, mine") == "It is good, Jon's"


def test_they_take_the_verb_of_several_once_they_are_named() -> None:
    assert told("I was late, I have been, I know", "Zyx") == "Zyx was late, they have been, they know"
    assert told("I was late", "Zyx", named=True) == "they were late"
    assert told("I was late", named=True) == "he was late"


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
        ("Dogs know", "Dogs know"),
        ("you know, know", "Gina knows, know"),
        ("for you know", "for Gina know"),  # an object has no verb
        ("I have seen you here before", "Jon has seen Gina here before"),
        ("I met you there", "Jon met Gina there"),
        ("I invited you twice", "Jon invited Gina twice"),
        ("When you sing I wasn't sad", "When Gina sings Jon wasn't sad"),
        ("I hope you need it", "Jon hopes Gina needs it"),
    ]
    for said, expected in cases:
        with subtests.test(said=said):
            assert told(said) == expected


def test_nothing_is_left_of_spaces_around() -> None:
    assert told("  I know ") == "Jon knows"
    assert told("") == told("  ") == ""


def test_contractions_are_written_out(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("'cause I say so", "because I say so"),
        ("so, 'cause I say", "so, because I say"),
        ("the cause", "the cause"),
        ("' cause", "' cause"),
        ("a 'boat", "a 'boat"),
        ("I'd been", "I had been"),
        ("I'd walked", "I had walked"),
        ("I'd go", "I would go"),
    ]
    for said, written_out in cases:
        with subtests.test(said=said):
            assert "".join(tokens_of(said)) == written_out


def test_thanked_and_singing_persons_are_found(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("I must say thank you to you", "Jon must say thank you to Gina"),
        ("I say thank your aunt", "Jon says thank Gina's aunt"),
        ("I thank you", "Jon thanks Gina"),
        ("I (really) go", "Jon (really) goes"),
        ("I like the old me", "Jon likes the old him"),
        ("I like the old mine", "Jon likes the old mine"),
        ("you like yours", "Gina likes hers"),
        ("you like it when they see you in your hat", "Gina likes it when they see her in her hat"),
        ("I say you sing", "Jon says Gina sings"),
        ("you guys sing", "Gina sings"),
        ("you all sing", "Gina sings"),
        ("I - well - go", "Jon - well - go"),
    ]
    for said, told in cases:
        with subtests.test(said=said):
            assert replace_persons(tokens_of(said), "Jon", "Gina", named=False) == told
