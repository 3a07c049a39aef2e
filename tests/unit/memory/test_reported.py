"""Speech reported, rule by rule."""

from __future__ import annotations

import pytest

from memory.language.reported import is_english, is_request, third_person

NAMES = {"Benali", "Ann"}


@pytest.mark.parametrize(
    ("said", "to_gina", "to_nobody"),
    [
        # thanks and the like
        ("Thanks for coming with you", "thanked Gina for coming with her", "thanked for coming with you"),
        ("thank you so much for my cat", "thanked Gina for his cat", "thanked for his cat"),
        ("Big congrats on your win", "congratulated Gina on her win", "congratulated on your win"),
        ("Sorry to hear you lost", "was sorry to hear she lost", "was sorry to hear you lost"),
        ("So sorry about your cat", "was sorry about her cat", "was sorry about your cat"),
        ("Good luck with my cat", "wished Gina good luck with his cat", "wished good luck with his cat"),
        ("Look at my cat", "showed Gina his cat", "showed his cat"),
        ("Let's meet you", "suggested that they meet Gina", "suggested that they meet you"),
        ("lets go", "suggested that they go", "suggested that they go"),
        # what is exclaimed before a statement is no part of it
        ("Well done, you found my cat", "said that Gina found his cat", "said that you found his cat"),
        ("Oh dear! I lost my cat", "lost his cat", "lost his cat"),
        ("Of course, I go", "goes", "goes"),
        ("Thanks, Ann", "mentioned thanks, Ann", "mentioned thanks, Ann"),
        ("Thanks a lot, you came", "reported that thanks a lot, Gina came", "reported that thanks a lot, you came"),
        # requests, which need somebody who is asked
        ("Look at how I do", "told Gina to look at how he does", "noticed that look at how he does"),
        ("Keep my cat", "told Gina to keep his cat", "mentioned keep his cat"),
        ("Don't eat my cat", "told Gina not to eat his cat", "doesn't eat his cat"),
        ("Never eat", "told Gina to never eat", "mentioned never eat"),
        ("Feel free to eat", "told Gina to feel free to eat", "feels free to eat"),
        ("Feel cold", "feels cold", "feels cold"),
        ("Find your cat for you", "told Gina to find her cat for her", "mentioned find your cat for you"),
        # what spoken English leaves out
        ("Going to work", "is going to work", "is going to work"),
        ("Looking forward to you", "is looking forward to Gina", "is looking forward to you"),
        ("Looking to be loved", "reported that it is looking to be loved", "reported that it is looking to be loved"),
        ("Going home", "mentioned going home", "mentioned going home"),
        ("Excited for you", "is excited for Gina", "is excited for you"),
        ("Excited", "is excited", "is excited"),
        ("So excited for it", "is so excited for it", "is so excited for it"),
        ("So big a cat", "mentioned so big a cat", "mentioned so big a cat"),
        ("Very", "mentioned very", "mentioned very"),
        ("Lucky you", "mentioned lucky Gina", "mentioned lucky you"),
        ("Lucky with it", "is lucky with it", "is lucky with it"),
        ("Been a while", "mentioned that it has been a while", "mentioned that it has been a while"),
        ("Been to Rome", "has been to Rome", "has been to Rome"),
        ("Hope for you to win", "hopes for Gina to win", "hopes for you to win"),
        ("Hope you win", "hopes Gina wins", "hopes you win"),
        ("Hope", "remarked that hope", "remarked that hope"),
        ("Just saw a cat", "just saw a cat", "just saw a cat"),
        ("Just a cat", "mentioned just a cat", "mentioned just a cat"),
        ("Got me a cat", "reported that it got him a cat", "reported that it got him a cat"),
        ("Got for me a cat", "reported that it got for him a cat", "reported that it got for him a cat"),
        ("Made a day for me", "made a day for him", "made a day for him"),
        ("Sounds good", "noticed that it sounds good", "noticed that it sounds good"),
        ("Sounds", "noticed that sounds", "noticed that sounds"),
        # the speaker's own
        ("i know", "knows", "knows"),
        ("My cat", "'s cat", "'s cat"),
        ("Im late", "is late", "is late"),
        ("Really, just always I know", "really, just always he knows", "really, just always he knows"),
        # the rest is mentioned, if it is a thing, or told by what it is
        ("The cat", "mentioned the cat", "mentioned the cat"),
        ("A cat on the mat", "mentioned a cat on the mat", "mentioned a cat on the mat"),
        ("A cat on the old mat", "mentioned that a cat on the old mat", "mentioned that a cat on the old mat"),
        ("Cat on the old mat here", "mentioned cat on the old mat here", "mentioned cat on the old mat here"),
        ("The cat is on it", "remarked that the cat is on it", "remarked that the cat is on it"),
        ("That is good", "thought that it is good", "thought that it is good"),
        ("That's good", "thought that it's good", "thought that it's good"),
        ("That cat is good", "thought that the cat is good", "thought that the cat is good"),
        ("You win", "said that Gina wins", "said that You win"),
        ("Your cat", "mentioned Gina's cat", "mentioned Your cat"),
        ("NASA is big", "remarked that NASA is big", "remarked that NASA is big"),
        ("Is it", "remarked that it is it", "remarked that it is it"),
        ("Fatima Benali is in", "remarked that Fatima Benali is in", "remarked that Fatima Benali is in"),
        ("Fatima's Benali is in", "remarked that Fatima's Benali is in", "remarked that Fatima's Benali is in"),
        ("Fatima, Benali is in", "remarked that fatima, Benali is in", "remarked that fatima, Benali is in"),
        ("Fatima was Benali", "reported that fatima was Benali", "reported that fatima was Benali"),
        ("Fatima Lopez is in", "remarked that fatima Lopez is in", "remarked that fatima Lopez is in"),
        ("That", "mentioned the", "mentioned the"),
        ("The Benali is in", "remarked that the Benali is in", "remarked that the Benali is in"),
        ("Loved Benali is", "reported that loved Benali is", "reported that loved Benali is"),
        ("Check Benali is in", "told Gina to check Benali is in", "remarked that check Benali is in"),
        ("Ann is in", "remarked that Ann is in", "remarked that Ann is in"),
        ("Ann's cat is in", "remarked that Ann's cat is in", "remarked that Ann's cat is in"),
        ("(Dune) is good", "thought that (Dune) is good", "thought that (Dune) is good"),
        ("... The cat is in", "remarked that the cat is in", "remarked that the cat is in"),
        ("It Benali is", "remarked that it Benali is", "remarked that it Benali is"),
        ("Lucky you and me", "remarked that lucky Gina and him", "remarked that lucky you and him"),
    ],
)
def test_speech_is_told_of_its_speaker(said: str, to_gina: str, to_nobody: str) -> None:
    def full(told: str) -> str:
        return f"Jon{'' if told.startswith(chr(39)) else ' '}{told}"

    assert third_person(said, "Jon", "Gina", NAMES) == full(to_gina)
    assert third_person(said, "Jon", names=NAMES) == full(to_nobody)


@pytest.mark.parametrize(
    ("said", "english"),
    [
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
    ],
)
def test_english_is_known_by_its_function_words(said: str, english: bool) -> None:
    assert is_english(said) is english


def test_whoever_is_named_beside_i_acts_with_the_speaker() -> None:
    assert third_person("Ann and I are late for my talk.", "Jon", names=NAMES) == "Ann and Jon are late for his talk."
    assert third_person("Ann and I'll call you.", "Jon", "Gina", NAMES) == "Ann and Jon will call Gina."


def test_what_cannot_be_reworded_is_told_as_it_was_said() -> None:
    assert third_person("?!", "Jon", "Gina") == "?!"
    assert third_person("", "Jon") == ""
    assert third_person("uno dos tres quatro", "Jon") == "Jon: uno dos tres quatro"
    assert (
        third_person("Zoë is at the cafe, and I know it", "Jon")
        == "Jon remarked that Zoë is at the cafe, and he knows it"
    )


@pytest.mark.parametrize("opening", ["The", "A", "These", "Some", "It", "There", "If", "When"])
def test_what_opens_a_sentence_is_no_name_though_a_title_begins_with_it(opening: str) -> None:
    told = third_person(f"{opening} cat is in", "Jon", names={opening, "Ann"})
    assert told == f"Jon remarked that {opening.lower()} cat is in"


def test_whose_sentence_it_is_shows_within_four_words() -> None:
    assert third_person("Sadly badly madly I know", "Jon", "Gina") == "Sadly badly madly Jon knows"
    assert third_person("Sadly badly madly gladly I know", "Jon", "Gina") == (
        "Jon remarked that sadly badly madly gladly he knows"
    )


@pytest.mark.parametrize(
    ("said", "to_gina", "to_nobody"),
    [
        # of several, the listener is one
        ("You sat together", "reported that they sat together", "said that You sat together"),
        # advice and reminders are only for a listener, and only if they are the listener's
        ("You should rest", "advised Gina to rest", "argued that You should rest"),
        ("You know where your cat is", "reminded Gina where her cat is", "said that You know where your cat is"),
        ("We should rest", "argued that they should rest", "argued that they should rest"),
        # what opens a sentence
        ("Just really I know", "just really he knows", "just really he knows"),
        ("that was good", "thought that it was good", "thought that it was good"),
        ("(Ann and I sang", "reported that (Ann and he sang", "reported that (Ann and he sang"),
        ("Bob and I sang", "reported that bob and he sang", "reported that bob and he sang"),
        ("Your cat will win", "said that Gina's cat will win", "said that Your cat will win"),
        ("Ann will win", "announced that Ann will win", "announced that Ann will win"),
        ("It will win", "predicted that it will win", "predicted that it will win"),
        # names of two words
        ("Fatima von Benali is in", "remarked that fatima von Benali is in", "remarked that fatima von Benali is in"),
        ("With Benali it is in", "remarked that with Benali it is in", "remarked that with Benali it is in"),
        # feelings
        ("Cat glad of it", "mentioned cat glad of it", "mentioned cat glad of it"),
        ("Just met Gina", "just met Gina", "just met Gina"),
        ("UK is big", "remarked that UK is big", "remarked that UK is big"),
        ("Bob !", "mentioned bob !", "mentioned bob !"),
        ("A is a letter", "remarked that a is a letter", "remarked that a is a letter"),
    ],
)  # fmt: skip
def test_speech_is_told_as_what_it_is_to_whom_it_is_said(said: str, to_gina: str, to_nobody: str) -> None:
    assert third_person(said, "Jon", "Gina", NAMES) == f"Jon {to_gina}"
    assert third_person(said, "Jon", names=NAMES) == f"Jon {to_nobody}"


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("", False), ("keep going", True), ("don't go", True), ("never go", True), ("do not go", True),

        ("feel free", True), ("feel cold", False), ("love me", False), ("go", True), ("going", False), ("do go", False),
    ],
)  # fmt: skip
def test_a_request_is_known_by_its_first_words(said: str, asks: bool) -> None:
    assert is_request(said.split()) is asks


def test_a_refusal_is_asked_for_in_one_word_or_two() -> None:
    assert third_person("Do not eat my cat", "Jon", "Gina") == "Jon told Gina not to eat his cat"
    assert third_person("Don't eat my cat", "Jon", "Gina") == "Jon told Gina not to eat his cat"
