"""Promises are found with whom they were made to, and with what came of them."""

from __future__ import annotations

import pytest

from memory.entry import Entry, EntryType
from tasks.heuristics.promises import Promise, find_promises
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
        "Will I carry your crate?", "I'll carry your crate, shall I?", "Should I promise to carry your crate?",
        "I will be there for you.", "I will never help you.",
        "If it rains, I'll drive you.", "I will sell the boat.", "Maybe I will call you.", "They promise much.",
    ],
)  # fmt: skip
def test_what_is_no_promise(said: str) -> None:
    assert found(message(said, 600)) == []


def test_what_one_promises_oneself_names_the_other_by_pronouns() -> None:
    (promise,) = found(message("I promise: I will mend your gate for you.", 600, speaker=KLAUS, hearer=MARIA))
    assert (promise.giver, promise.taker, promise.deed) == (KLAUS, MARIA, "mend her gate for her")


@pytest.mark.parametrize(
    ("noted", "deed"),
    [
        ("look after Maria Lopez's plants while Maria Lopez is away", "look after her plants while she is away"),
        ("find out about the bus for Maria Lopez", "find out about the bus for her"),
        ("lend Maria Lopez Ben's ladder", "lend her Ben's ladder"),
    ],
)
def test_whom_a_promise_was_made_to_is_named_once(noted: str, deed: str) -> None:
    assert [p.deed for p in found(observation(f"I promised to {noted}.", 5, subjects=(KLAUS, MARIA)))] == [deed]


def test_a_promise_that_was_noted_is_found() -> None:
    noted = observation("I promised Maria Lopez to mend the gate.", 5, subjects=(KLAUS, MARIA))
    other = observation("Maria Lopez promised Klaus Mueller to cook.", 6, subjects=(KLAUS, MARIA))
    without = observation("I promised to fix Maria Lopez's lamp.", 7, subjects=(KLAUS, MARIA))
    strangers = observation("Maria Lopez promised Isabella Rodriguez to sing.", 8, subjects=(MARIA, ISABELLA))
    assert [(p.giver, p.taker, p.deed) for p in found(noted, other, without, strangers)] == [
        (KLAUS, MARIA, "mend the gate"), (MARIA, KLAUS, "cook"), (KLAUS, MARIA, "fix her lamp"),
    ]  # fmt: skip


def test_a_promise_that_a_line_of_nobody_known_tells_of_is_found() -> None:
    told = observation("Maria Lopez promised Klaus Mueller to cook.", 6, subjects=(KLAUS, MARIA), source="dialogue")
    assert [(p.giver, p.taker, p.deed) for p in found(told)] == [(MARIA, KLAUS, "cook")]


def test_a_question_notes_no_promise() -> None:
    asked = observation("Has Klaus Mueller promised Maria Lopez to cook?", 5, subjects=(KLAUS, MARIA))
    assert found(asked) == []


def test_a_promise_that_was_noted_is_to_whom_it_names_whoever_was_there() -> None:
    known = observation("Tea.", 1, subjects=(MARIA,))
    noted = observation("I promised Maria Lopez to mend the gate.", 5, subjects=(KLAUS, ISABELLA))
    assert [(p.giver, p.taker) for p in found(known, noted)] == [(KLAUS, MARIA)]
    nobody = observation("I promised to mend the gate.", 5, subjects=(KLAUS, ISABELLA))
    assert [(p.giver, p.taker) for p in found(known, nobody)] == [(KLAUS, ISABELLA)]
    several = observation("I promised to mend the gate.", 5, subjects=(KLAUS, ISABELLA, MARIA))
    assert [(p.giver, p.taker) for p in found(known, several)] == [(KLAUS, "")]


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


@pytest.mark.parametrize("kind", ["plan", "reflection"])
def test_what_is_planned_or_thought_neither_makes_a_promise_nor_settles_one(kind: EntryType) -> None:
    def thought(text: str) -> Entry:
        return Entry(type=kind, text=text, minute=900, subjects=(KLAUS, MARIA), valid_until=2_000)

    assert found(thought("Maria Lopez promised Klaus Mueller to cook.")) == []
    (promise,) = found(GIVEN, thought("Maria Lopez lent me the ladder as promised."))
    assert promise.outcome == "open"


@pytest.mark.parametrize(
    ("reflected", "outcome"),
    [
        ("Maria Lopez kept the promise to lend me her ladder. The mill burned down.", "kept"),
        ("Maria Lopez broke the promise to lend me her ladder, which has come between us.", "broken"),
        ("Maria Lopez kept the promise to bake me a cake.", "open"),
        ("Maria Lopez kept the promise. She did not lend me her ladder.", "open"),
        ("Maria Lopez has not yet kept the promise made to me on day 1: to lend me her ladder.", "open"),
    ],
)
def test_what_a_reflection_told_of_a_promise_holds_when_what_showed_it_is_archived(
    reflected: str, outcome: str
) -> None:
    (promise,) = found(GIVEN, Entry(type="reflection", text=reflected, minute=900))
    assert promise.outcome == outcome
    assert (promise.evidence, promise.settled) == (((1,), 0) if outcome == "open" else ((1, 2), 900))


def test_a_promise_that_is_repeated_is_one() -> None:
    assert len(found(GIVEN, message("I promise to lend you my ladder soon.", 700))) == 1
    assert len(found(GIVEN, message("I promise to bake you a cake.", 700))) == 2
    noted = observation("I promised Maria Lopez to mend the gate.", 5, subjects=(KLAUS, MARIA))
    assert len(found(noted, noted)) == 1
    spoken = message("I promise to mend your gate.", 9, speaker=KLAUS, hearer=MARIA)
    assert [promise.evidence for promise in found(noted, spoken)] == [(1,)]
    unclear = message("I'll bring them to you.", 600)
    assert [promise.deed for promise in found(unclear, unclear)] == [""]


def test_what_both_promise_are_two_promises() -> None:
    assert [promise.giver for promise in found(GIVEN, message(GIVEN.text, 700, speaker=KLAUS, hearer=MARIA))] == [
        MARIA, KLAUS,
    ]  # fmt: skip


def test_a_promise_that_was_kept_may_be_made_again() -> None:
    kept = message("I lent you the ladder last night.", 900)
    assert [promise.outcome for promise in found(GIVEN, kept, message(GIVEN.text, 1_000))] == ["kept", "open"]


def test_what_settles_a_promise_settles_the_latest_one_alone() -> None:
    cake = message("I promise to bake you a cake.", 620)
    settled = found(GIVEN, cake, message("I kept my word.", 900))
    assert [(promise.outcome, promise.settled, promise.evidence) for promise in settled] == [
        ("open", 0, (1,)), ("kept", 900, (2, 3)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (message("Oh no, I forgot!", 629), "open"),
        (message("Oh no, I forgot!", 630), "broken"),
        (message("I kept my word.", 629), "open"),
        (message("I kept my word.", 630), "kept"),
        (message("I lent you the ladder as promised.", 601), "kept"),
        (message("I lent you the ladder as promised.", 600), "open"),
    ],
)
def test_in_the_talk_of_the_promise_only_what_tells_of_the_deed_settles_it(said: Entry, outcome: str) -> None:
    (promise,) = found(GIVEN, said)
    assert promise.outcome == outcome


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (observation("Maria Lopez lent Klaus Mueller the ladder.", 900, subjects=(KLAUS, MARIA)), "kept"),
        (message("You lent the ladder to Ben.", 900, speaker=KLAUS, hearer=MARIA), "open"),
        (message("I baked bread for the feast.", 900), "open"),
        (message("I lent you the ladder, and I'll lend you the ladder once more.", 900), "open"),
        (message("Lend me the ladder?", 900), "open"),
    ],
)
def test_a_promise_is_kept_when_its_giver_or_an_onlooker_tells_of_the_deed(said: Entry, outcome: str) -> None:
    (promise,) = found(GIVEN, said)
    assert promise.outcome == outcome


def test_a_promise_whose_deed_only_another_sentence_names_is_kept_in_its_own_words() -> None:
    (promise,) = found(message("I'll bring them to you.", 600), message("I brought them to you last night.", 900))
    assert (promise.deed, promise.outcome) == ("", "kept")


def test_a_promise_to_nobody_who_is_named_is_settled_by_its_giver_alone() -> None:
    noted = observation("I promised to fix the lamp.", 5, subjects=(KLAUS,))
    fixed = observation("I fixed the lamp as promised.", 99, subjects=(KLAUS,))
    (promise,) = found(noted, fixed)
    assert (promise.taker, promise.outcome) == ("", "kept")


@pytest.mark.parametrize(("words", "promises"), [(16, 1), (17, 0)])
def test_a_deed_of_more_than_sixteen_words_is_not_told(words: int, promises: int) -> None:
    deed = "carry your crate " + "on " * (words - 3)
    assert len(found(message(f"I promise: I will {deed.strip()}.", 600))) == promises


@pytest.mark.parametrize(("told", "outcome"), [("I mended the red gate.", "kept"), ("I mended the red wall.", "open")])
def test_a_deed_is_done_when_three_of_its_five_words_are_told(told: str, outcome: str) -> None:
    (promise,) = found(message("I promise: I will mend old red barn gates.", 600), message(told, 2_000))
    assert promise.outcome == outcome
