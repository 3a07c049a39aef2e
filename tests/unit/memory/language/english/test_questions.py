"""Questions, invitations and polite wishes, reported."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.grammar import past_of
from cogitate.memory.language.english.questions import LONGEST, reported_question


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("What do you think of Luca Moretti?", "Jon asked what Gina thinks of Luca Moretti"),
        ("Have you tried the soup?", "Jon asked whether Gina has tried the soup"),
        ("Did you ever stop smoking?", "Jon asked whether Gina ever stopped smoking"),
        ("Did Gina hear the bells?", "Jon asked whether Gina heard the bells"),
        ("Does Gina like my cat?", "Jon asked whether Gina likes his cat"),
        ("What time does she leave?", "Jon asked what time she leaves"),
        ("How many sacks did they carry?", "Jon asked how many sacks they carried"),
        ("Shall I bring wine?", "Jon asked whether he should bring wine"),
        ("Luca, do you believe it?", "Jon asked whether Luca believes it"),
        ("Who took my hat?", "Jon asked who took his hat"),
        ("Who sang?", "Jon asked who sang"),
        ("Where is the old ferry?", "Jon asked where the old ferry is"),
        ("Who was the rider that stopped?", "Jon asked who was the rider that stopped"),
        # what is no question
        ("Shall we play dominoes on day 3?", "Jon invited Gina to play dominoes on day 3"),
        ("Would you like to see my cat?", "Jon invited Gina to see his cat"),
        ("Could you please bring me your hat?", "Jon asked Gina to bring him her hat"),
        ("Why don't we meet?", "Jon suggested that they meet"),
    ],
)
def test_a_question_is_reported(asked: str, told: str) -> None:
    assert reported_question(asked, "Jon", "Gina") == told


def test_without_a_listener_a_proposal_is_a_suggestion() -> None:
    assert reported_question("Shall we dance?", "Jon") == "Jon suggested that they dance"
    assert reported_question("Could you dance?", "Jon") == "Jon asked whether you could dance"


@pytest.mark.parametrize(
    "asked",
    [
        "Don't you like it?",
        "Did a cart cross here?",
        "Is Luca ill?",
        "What is the matter with you?",
        "Where is nearly everybody?",
        "Do you like Luca or do you hate him?",
        "Did you admit it?",
        "Do you?",
        "Who is?",
        "Is?",
        "Who?",
        "Louvre?",
        "?",
        f"Do you {'sing ' * LONGEST}?",
    ],
)
def test_a_question_that_has_no_plain_order_is_left_to_a_quote(asked: str) -> None:
    assert reported_question(asked, "Jon", "Gina") == ""


@pytest.mark.parametrize(
    ("verb", "past"),
    [
        ("go", "went"),
        ("put", "put"),
        ("have", "had"),
        ("bake", "baked"),
        ("carry", "carried"),
        ("play", "played"),
        ("look", "looked"),
        ("stop", "stopped"),
        ("fix", "fixed"),
        ("visit", "visited"),
        ("remember", "remembered"),
        ("admit", ""),
        ("kidnap", ""),
        ("help", "helped"),
    ],
)
def test_the_past_of_a_verb_is_known_where_its_spelling_is_plain(verb: str, past: str) -> None:
    assert past_of(verb) == past


def test_questions_are_reported_by_form(subtests: pytest.Subtests) -> None:
    for asked, told in [
        # whom it is put to
        ("Ada Smith, do you sing?", "Jon asked whether Ada Smith sings"),
        ("Well, do you sing?", "Jon asked whether Gina sings"),  # "Well" is nobody's name
        # a proposal is told with pronouns
        ("How about we meet your aunt?", "Jon suggested that they meet her aunt"),
        # where the verb of a question stands
        ("Which of the two old and green boats is he taking?", ""),  # too far from its opening
        ("Which of the two boats is he taking?", "Jon asked which of the two boats he is taking"),
        ("Have lunch at the mill will you?", ""),
        ("What help can I offer?", ""),  # not "what help him can offer"
        ("Luca has you?", ""),
        # the subject of "who" and "what"
        ("Who took it?", "Jon asked who took it"),
        ("What burned down?", "Jon asked what burned down"),
        ("Who sings here?", ""),
        ("Where went Luca?", ""),
        ("Took who my hat?", ""),
        # the listener's name as a subject
        ("What does Gina like?", "Jon asked what Gina likes"),
        ("What does Luca like?", ""),
        # "do" and its kin
        ("Do we sing?", "Jon asked whether they sing"),
        ("Do they really sing?", "Jon asked whether they really sing"),
        ("Does she really sing?", "Jon asked whether she really sings"),
        ("Does he Sing?", ""),
        ("Do they 2 sing?", ""),
        ("Are you?", "Jon asked whether Gina is"),
        ("Did you really?", ""),
        ("To whom do you sing?", ""),
        # things
        ("Where is the old iron ferry?", "Jon asked where the old iron ferry is"),
        ("Where is the very old ferry?", ""),
        ("Where is the old big iron ferry?", ""),
        ("Where is Luca?", "Jon asked where Luca is"),
        ("Where is the missing boat?", ""),
        ("Who is that?", ""),
        ("What is that boat that sank?", ""),
        ("Who is the one who sank it?", "Jon asked who is the one who sank it"),
    ]:
        with subtests.test(asked=asked, told=told):
            assert reported_question(asked, "Jon", "Gina") == told


def test_a_subject_may_have_a_name_of_two_words() -> None:
    assert reported_question("Does Gina Cole sing?", "Jon", "Gina Cole") == "Jon asked whether Gina Cole sings"
    assert reported_question("Does Gina sing?", "Jon", "Gina Cole") == ""
    assert reported_question("Does sing?", "Jon") == ""


def test_a_question_of_the_greatest_length_is_reported() -> None:
    asked = "Do you sing " + "x" * (LONGEST - len("Do you sing "))
    assert reported_question(f"{asked}?", "Jon", "Gina") == f"Jon asked whether Gina sings {asked[12:]}"
    assert reported_question(f"{asked}x?", "Jon", "Gina") == ""
