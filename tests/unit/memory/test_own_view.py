"""What was seen, promised and said, as the one who remembers it tells it."""

from __future__ import annotations

import pytest

from memory.language.own_view import deed_in_own_words, in_own_words, told_to, with_subject

ADA = "Ada Smith"


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        # the verb
        ("Ada Smith walks home.", "I walk home."), ("Ada Smith tries to sleep.", "I try to sleep."),
        ("Ada Smith watches the boats.", "I watch the boats."), ("Ada Smith kisses Bo.", "I kiss Bo."),
        ("Ada Smith washes up.", "I wash up."), ("Ada Smith fixes it.", "I fix it."), ("Ada Smith goes.", "I go."),
        ("Ada Smith buzzes around.", "I buzz around."), ("Ada Smith uses it.", "I use it."),
        ("Ada Smith is late.", "I am late."), ("Ada Smith was late.", "I was late."),
        ("Ada Smith has a cold.", "I have a cold."), ("Ada Smith does it.", "I do it."),
        ("Ada Smith isn't here.", "I am not here."), ("Ada Smith hasn't slept.", "I haven't slept."),
        ("Ada Smith doesn't care.", "I don't care."), ("Ada Smith discuss it.", "I discuss it."),
        ("Ada Smith focus on it.", "I focus on it."), ("Ada Smith MS it.", "I MS it."),
        ("Ada Smith waits, then leaves.", "I wait, then leaves."), ("Ada Smith agrees!", "I agree!"),
        ("Ada Smith, tired, walks.", "I, tired, walks."), ("Ada Smith  walks.", "I  walks."), ("Ada Smith", "I"),
        ("Ada Smith is engaged in an activity: singing", "I am singing"),
        # a subject, an object, an owner
        ("Bo said that Ada Smith sings.", "Bo said that I sing."),
        ("It rains, and Ada Smith sings.", "It rains, and I sing."),
        ("Bo left. Ada Smith sings.", "Bo left. I sing."), ("Yesterday Ada Smith sings.", "Yesterday I sing."),
        ("Bo told Ada Smith to sing.", "Bo told me to sing."), ("Bo sat near Ada Smith.", "Bo sat near me."),
        ("It is Ada Smith.", "It is me."), ("Bo and Ada Smith sang.", "Bo and I sang."),
        ("Bo Cole and Ada Smith sang.", "Bo Cole and I sang."),
        ("Bo, Cy, Di and Ada Smith sang.", "Bo, Cy, Di and me sang."),
        ("Ada Smith's lamp went out.", "My lamp went out."), ("Look! Ada Smith's cat ran.", "Look! My cat ran."),
        ("The lamp of Ada Smith's aunt.", "The lamp of my aunt."), ("Ada Smithson came.", "Ada Smithson came."),
        # pronouns, where nobody else is named
        ("Ada Smith lost her keys.", "I lost my keys."), ("Ada Smith lost her keys to Bo.", "I lost her keys to Bo."),
        ("Ada Smith hurt herself.", "I hurt myself."),
        ("Ada Smith's aunt gave her a book.", "My aunt gave me a book."),
        ("Ada Smith told her brother of his cat.", "I told her brother of his cat."),
        ("A letter came: Ada Smith's brother sent her the money.", "A letter came: my brother sent me the money."),
        # a subject that is left out
        ("Had lunch at the mill.", "I had lunch at the mill."), ("Waited in vain.", "I waited in vain."),
        ("Fed cats.", "I fed cats."), ("Saw that Bo was there.", "I saw that Bo was there."),
        ("Met Bo who was there.", "I met Bo who was there."), ("Lost keys were found.", "Lost keys were found."),
        ("had lunch", "had lunch"), ("Red cats.", "Red cats."), ("Waited", "Waited"),
        ("The mill burned.", "The mill burned."),
    ],
)  # fmt: skip
def test_an_observation_is_told_as_its_owner_would(seen: str, told: str) -> None:
    assert in_own_words(seen, ADA) == told


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("here are Ada, Bo and Cy", "here are me, Bo and Cy"), ("I see Bo, Cy, Ada.", "I see Bo, Cy."),
        ("I see Bo, Ada, Cy", "I see Bo, Cy"), ("I met Bo, Ada; then left", "I met Bo; then left"),
    ],
)  # fmt: skip
def test_one_leaves_oneself_out_of_a_list(seen: str, told: str) -> None:
    assert in_own_words(seen, "Ada") == told


def test_what_is_told_of_others_stays_as_it_was_seen() -> None:
    assert in_own_words("The cat lost her keys.", ADA) == "The cat lost her keys."


def test_a_text_may_begin_with_a_space() -> None:
    assert in_own_words(" the lamp of Ada Smith went out.", "Ada Smith") == " the lamp of me went out."


def test_whoever_has_no_name_tells_it_as_it_was_seen() -> None:
    assert in_own_words("Ada walks home.", "") == "Ada walks home."


@pytest.mark.parametrize(
    ("deed", "mine", "theirs", "of_many"),
    [
        ("mend your gate", "mend her gate", "mend my gate", "mend their gate"),
        ("feed your cat while you are away", "feed her cat while she is away", "feed my cat while I am away",
         "feed their cat while they are away"),
        ("lend you my boat", "lend her my boat", "lend me her boat", "lend them my boat"),
        ("bring what you really want", "bring what she really wants", "bring what I really want",
         "bring what they really want"),
        ("call when you were there", "call when she was there", "call when I was there", "call when they were there"),
        ("say you can", "say she can", "say I can", "say they can"),
        ("do it yourself", "do it herself", "do it myself", "do it themselves"),
        ("keep what is yours", "keep what is hers", "keep what is mine", "keep what is theirs"),
        ("If you are late, call me!", "If she is late, call me", "If I am late, call her", "If they are late, call me"),
        ("ask, you", "ask, her", "ask, me", "ask, them"),
        ("I often go", "I often go", "she often goes", "I often go"),
        ("say thank you", "say thank you", "say thank you", "say thank you"),
    ],
)  # fmt: skip
def test_a_deed_is_told_as_each_of_the_two_would(deed: str, mine: str, theirs: str, of_many: str) -> None:
    assert deed_in_own_words(deed, mine=True, other="Maria") == mine
    assert deed_in_own_words(deed, mine=False, other="Maria") == theirs
    assert deed_in_own_words(deed, mine=True, other="Zed") == of_many, "nobody knows the pronouns"


def test_of_a_deed_of_somebody_whose_pronouns_nobody_knows_the_verb_is_plural() -> None:
    assert deed_in_own_words("know that I am late", mine=False, other="Zed") == "know that they are late"
    assert deed_in_own_words("know that I often go", mine=False, other="Zed") == "know that they often go"


@pytest.mark.parametrize(
    ("said", "by_the_speaker", "by_the_listener", "by_another"),
    [
        ("I will call you.", "I told Gina that I will call her", "Jon will call me.", "Jon will call Zed."),
        ("The mill burned.", "I told Gina that the mill burned", "Jon reported that the mill burned.",
         "Jon reported that the mill burned."),
        ("UK trains are late.", "I told Gina that UK trains are late", "Jon remarked that UK trains are late.",
         "Jon remarked that UK trains are late."),
        ("Gina won the race.", "I told Gina that Gina won the race", "Jon reported that Gina won the race.",
         "Jon reported that Gina won the race."),
        ("You should rest.", "I told Gina that she should rest", "Jon advised me to rest.",
         "Jon advised Zed to rest."),
        ("I'm sorry to hear about the mill.", "I told Gina that I am sorry to hear about the mill",
         "Jon is sorry to hear about the mill.", "Jon is sorry to hear about the mill."),
        ("Thanks for the cake!", "I thanked Gina for the cake!", "Jon thanked me for the cake!",
         "Jon thanked Zed for the cake!"),
        ("Good luck with the race!", "I wished Gina good luck with the race!", "Jon wished me good luck with the race!",
         "Jon wished Zed good luck with the race!"),
        ("Congrats on the job!", "I congratulated Gina on the job!", "Jon congratulated me on the job!",
         "Jon congratulated Zed on the job!"),
        ("Keep going!", "", "Jon told me to keep going!", "Jon told Zed to keep going!"),
        ("Do not wait.", "", "Jon told me not to wait.", "Jon told Zed not to wait."),
        ("A red mill", "", "", ""),
        ("La casa está muy lejos de aquí.", "", "", ""),
    ],
)  # fmt: skip
def test_what_was_said_is_told_as_each_of_those_there_would(
    said: str, by_the_speaker: str, by_the_listener: str, by_another: str
) -> None:
    names = {"Gina"}
    assert told_to(said, "Jon", "Gina", "Jon", names) == by_the_speaker
    assert told_to(said, "Jon", "Gina", "Gina", names) == by_the_listener
    assert told_to(said, "Jon", "Zed", "Gina", names) == by_another


@pytest.mark.parametrize("said", ["I will call you.", "We met your brother.", "You should rest.", "Keep going!"])
def test_what_was_said_to_nobody_known_is_told_only_where_nobody_is_addressed(said: str) -> None:
    assert told_to(said, "Jon", "", "Gina") == ""
    assert told_to(said, "Jon", "", "Jon") == ""
    assert told_to("I sold the mill.", "Jon", "", "Gina") == "Jon sold the mill."


@pytest.mark.parametrize(
    ("speaker", "told"),
    [
        ("Анна Ковальская", "Анна Ковальская kept her word: she posted my parcel."),
        ("Maria", "Maria kept her word: she posted my parcel."),
        ("Isabella Rossi", "Isabella Rossi kept her word: she posted my parcel."),
    ],
)
def test_who_speaks_keeps_her_pronouns_in_any_script(speaker: str, told: str) -> None:
    said = "I kept my word: I posted your parcel."
    assert told_to(said, speaker, "Klára Nováková", "Klára Nováková") == told


def test_a_name_that_begins_a_sentence_may_be_whose_something_is() -> None:
    assert in_own_words("Анна gave Ada Smith her key.", "Ada Smith") == "Анна gave me her key."


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("Met another Ada Smith.", "I met another Ada Smith."),  # it is the owner who did it: the name is not its own
        ("Ada Smith's aunt hugged her.", "My aunt hugged me."),
    ],
)
def test_who_did_it_is_told_once(seen: str, told: str) -> None:
    assert in_own_words(seen, ADA) == told


def test_a_subject_is_added_only_where_somebody_is_meant() -> None:
    assert with_subject("Saw a cat", "Ada") == "Ada saw a cat"
    assert with_subject("Saw a cat", "") == "Saw a cat"


def test_thanks_are_no_person_and_whoever_is_thanked_has_an_aunt_of_their_own() -> None:
    assert deed_in_own_words("thank your aunt", mine=True, other="Maria") == "thank her aunt"
    assert deed_in_own_words("thank your aunt", mine=False, other="Maria") == "thank my aunt"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("A mill burned.", "I told Gina that a mill burned"),
        ("NASA built it.", "I told Gina that NASA built it"),
        ("I'ma call you now.", "I told Gina that I'ma call her now"),
        ("I must say thank you.", ""),  # nobody is meant by this "you", and Gina is no listener who is thanked
    ],
)
def test_what_one_said_opens_small_unless_it_is_a_name_or_i(said: str, told: str) -> None:
    assert told_to(said, "Jon", "Gina", "Jon") == told


def test_thanks_to_nobody_known_are_not_told() -> None:
    assert told_to("Thanks for the cake!", "Jon", "", "Jon") == ""


def test_a_you_that_is_nobody_is_told_where_the_listener_is_known() -> None:
    assert told_to("You should say thank you.", "Jon", "Zed", "Gina") == "Jon advised Zed to say thank you."
