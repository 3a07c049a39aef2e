"""Promises are found with whom they were made to, and with what came of them."""

from __future__ import annotations

import pytest

from memory.entry import Entry
from tasks.promises import Promise, find_promises
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, WORLD, message, observation, stream_of


def found(*entries: Entry) -> list[Promise]:
    return find_promises(KLAUS, stream_of(*entries).live(), WORLD.names)


@pytest.mark.parametrize(
    ("said", "deed"),
    [
        ("I promise: I will carry your crate.", "carry my crate"),
        ("I promise to pay you on Friday.", "pay me on Friday"),
        ("I'll bake you a cake tomorrow.", "bake me a cake on day 2"),
        ("I will feed your cat while you are away, I promise.", "feed my cat while I am away"),
        ("I swear I will sell my boat.", "sell her boat"),
        ("I'll bring them to you.", ""),  # what is brought, another sentence said
    ],
)
def test_what_another_promises_is_told_as_it_concerns_oneself(said: str, deed: str) -> None:
    (promise,) = found(message(said, 600))
    assert (promise.giver, promise.taker, promise.deed, promise.outcome) == (MARIA, KLAUS, deed, "open")
    assert (promise.minute, promise.evidence) == (600, (1,))


@pytest.mark.parametrize(
    "said",
    [
        "Will I carry your crate?", "I will be there for you.", "I will never help you.",
        "If it rains, I'll drive you.", "I will sell the boat.", "Maybe I will call you.", "They promise much.",
    ],
)  # fmt: skip
def test_what_is_no_promise(said: str) -> None:
    assert found(message(said, 600)) == []


def test_what_one_promises_oneself_names_the_other_by_pronouns() -> None:
    (promise,) = found(message("I promise: I will mend your gate for you.", 600, speaker=KLAUS, hearer=MARIA))
    assert (promise.giver, promise.taker, promise.deed) == (KLAUS, MARIA, "mend her gate for her")


def test_a_promise_that_was_noted_is_found() -> None:
    noted = observation("I promised Maria Lopez to mend the gate.", 5, subjects=(KLAUS, MARIA))
    other = observation("Maria Lopez promised Klaus Mueller to cook.", 6, subjects=(KLAUS, MARIA))
    without = observation("I promised to fix Maria Lopez's lamp.", 7, subjects=(KLAUS, MARIA))
    strangers = observation("Maria Lopez promised Isabella Rodriguez to sing.", 8, subjects=(MARIA, ISABELLA))
    assert [(p.giver, p.taker, p.deed) for p in found(noted, other, without, strangers)] == [
        (KLAUS, MARIA, "mend the gate"), (MARIA, KLAUS, "cook"), (KLAUS, MARIA, "fix Maria Lopez's lamp"),
    ]  # fmt: skip


GIVEN = message("I promise to lend you my ladder.", 600)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (message("I kept my word: the ladder stands in your yard.", 900), "kept"),
        (message("I brought the ladder as promised.", 900), "kept"),
        (message("I lent you the ladder last night.", 900), "kept"),
        (message("Oh no, I forgot!", 900), "broken"),
        (
            observation(
                "Maria Lopez had promised Klaus Mueller to lend a ladder, and kept silent.",
                900,
                subjects=(KLAUS, MARIA),
            ),
            "broken",
        ),
        (
            observation(
                "Maria Lopez did not bring Klaus Mueller the ladder, though it had been promised.",
                900,
                subjects=(KLAUS, MARIA),
            ),
            "broken",
        ),
        (message("Did you not promise me a ladder?", 900, speaker=KLAUS, hearer=MARIA), "broken"),
        (message("The weather is fine.", 900), "open"),
        (message("I forgot my umbrella.", 900, speaker=ISABELLA), "open"),
    ],
)
def test_what_came_of_a_promise(said: Entry, outcome: str) -> None:
    (promise,) = found(GIVEN, said)
    assert promise.outcome == outcome
    assert promise.evidence == ((1, 2) if outcome != "open" else (1,))


def test_a_promise_that_is_repeated_is_one() -> None:
    assert len(found(GIVEN, message("I promise to lend you my ladder soon.", 700))) == 1
    assert len(found(GIVEN, message("I promise to bake you a cake.", 700))) == 2
