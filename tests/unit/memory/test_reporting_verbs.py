"""The verb that reports a statement, by what the statement is."""

from __future__ import annotations

import pytest

from memory.language.reported import third_person
from memory.language.reporting_verbs import reporting_verb

NAMES = {"Ada", "Luca", "Moretti"}


@pytest.mark.parametrize(
    ("said", "verb"),
    [
        # what happened, and what is long over
        ("A cart came at dusk.", "reported"),
        ("One of the pupils has won a prize.", "reported"),
        ("The letters have been burned.", "reported"),
        ("We played football there.", "recalled"),
        ("The mill stood still for six weeks last year.", "recalled"),
        # what is to come
        ("The ferry will be late.", "predicted"),
        ("If we raise the weir, we will sit here again.", "predicted"),
        ("We will take the collars to the farm.", "announced"),
        ("The choir is singing at the church on day 4.", "announced"),
        ("The ferry will leave at 5:30 PM.", "announced"),
        # opinions, and what somebody sees
        ("The children ask better questions than we can answer.", "thought"),
        ("He must be saving for something.", "thought"),
        ("The show was great.", "thought"),
        ("One should be outside all day.", "argued"),
        ("You look busy.", "noticed"),
        # what others say, reasons, and habits
        ("The old charter says that the weir belongs to us.", "relayed"),
        ("They say that it burned.", "relayed"),
        ("The kettle has not boiled yet, so you have to wait.", "explained"),
        ("The roof leaks because nobody mended it.", "explained"),
        ("We know the boat.", "explained"),
        ("Nobody keeps the dogs.", "observed"),
        ("The board is crooked.", "remarked"),
        # nothing in particular
        ("You kept your word.", "said"),
        ("You may marry us.", "said"),
        ("You will find it there.", "said"),
        ("The garden.", "mentioned"),
        # a date alone, or what is being done alone, announces nothing
        ("The fire on day 4 was small.", "reported"),
        ("The choir is singing at the church.", "remarked"),
        # a permission is said, and so is what somebody is told of themselves
        ("You can keep it.", "said"),
        ("You keep a good inn.", "thought"),
        # a value is judged where it is said of what is or was
        ("Weren't the songs good.", "thought"),
        ("They sing good songs.", "thought"),
        ("If the ferry will leave at noon, we win.", "predicted"),
        ("The boats have long masts.", "remarked"),
        ("The boats have been there.", "reported"),
        ("The boats have all they need.", "observed"),
        # a value that is no opinion, and nouns that end as pasts do
        ("The men agreed to trust the keepers.", "reported"),
        ("The children sleep.", "remarked"),
    ],
)
def test_the_verb_says_what_a_statement_is(said: str, verb: str) -> None:
    assert reporting_verb(said, said.lower().strip(".").replace(",", "").split()) == verb


def test_what_somebody_else_will_do_is_announced() -> None:
    lowered = ["ada", "will", "mend", "the", "roof"]
    assert reporting_verb("Ada will mend the roof.", lowered, named=True) == "announced"
    assert reporting_verb("It will mend the roof.", ["it", *lowered[1:]]) == "predicted"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("You should take a day off.", "Jon advised Gina to take a day off."),
        ("You shouldn't sell your boat.", "Jon advised Gina not to sell her boat."),
        ("You had better not wait for me.", "Jon advised Gina not to wait for him."),
        ("You should have told me.", "Jon argued that Gina should have told him."),
        ("You know where to find me.", "Jon reminded Gina where to find him."),
        ("You sat together until you agreed.", "Jon reported that they sat together until they agreed."),
        ("You and I sat together.", "Jon said that Gina and he sat together."),
        ("Luca will mend the roof.", "Jon announced that Luca will mend the roof."),
        ("Nothing has changed: let us wait.", "Jon argued that nothing has changed: they should wait."),
        ("Hope the trip was safe.", "Jon hopes the trip was safe."),
        ("Hope is a good thing.", "Jon thought that hope is a good thing."),
    ],
)
def test_what_is_said_to_you_is_told_as_what_it_does(said: str, told: str) -> None:
    assert third_person(said, "Jon", "Gina", NAMES) == told
