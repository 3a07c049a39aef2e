"""Promises are found with their giver, their addressee and their outcome."""

from __future__ import annotations

import pytest

from cogitate.memory.entry import Entry, EntryType
from cogitate.memory.summaries.conversations import summarise_entries
from cogitate.tasks.heuristics.promises import Promise, find_promises
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, WORLD, message, observation, stream_of


def found(*entries: Entry) -> list[Promise]:
    return find_promises(KLAUS, stream_of(*entries).live(), WORLD.names)


@pytest.mark.parametrize(
    ("said", "reminder"),
    [
        ("I promise: I will carry your crate.", '"I promise: I will carry your crate."'),
        ("I promise to pay you on Friday.", '"I promise to pay you on Friday."'),
        ("I promise to bake you a cake tomorrow.", '"I promise to bake you a cake tomorrow." (day 1)'),
        (
            "I will feed your cat while you are away, I promise.",
            '"I will feed your cat while you are away, I promise."',
        ),
        ("I swear I will sell my boat.", '"I swear I will sell my boat."'),
    ],
)
def test_anothers_promise_is_quoted(said: str, reminder: str) -> None:
    (promise,) = found(message(f"Hello. {said} Bye.", 600))
    assert (promise.giver, promise.taker, promise.said, promise.settled) == (MARIA, KLAUS, said, False)
    assert (promise.reminder, promise.minute, promise.evidence) == (reminder, 600, (1,))


def test_a_promise_that_a_summary_quotes_is_the_speakers() -> None:
    text = (
        "Klaus Mueller talked with Maria Lopez on day 1, 10:00 AM. "
        'Maria Lopez told Klaus Mueller: "The crate is heavy" and "I promise: I will carry your crate."'
    )
    (promise,) = found(Entry(type="summary", text=text, minute=600, subjects=(KLAUS, MARIA), source="dialogue"))
    assert (promise.giver, promise.taker, promise.reminder) == (MARIA, KLAUS, '"I promise: I will carry your crate."')


@pytest.mark.parametrize(
    ("giver", "taker", "said"),
    [
        ("Anna Berger", "Ben Klein", "Ich verspreche dir, ich bringe die Karte vorbei."),
        ("Анна Петрова", "Иван Белов", "Обещаю, принесу карту моста."),
        ("Ana Ruiz", "Luis Gil", "Prometo traer el mapa del puente."),
        ("Anne Roux", "Luc Petit", "Je promets d'apporter la carte du pont."),
        ("李梅", "王强", "我保证把桥的地图送来。"),
        ("田中花子", "佐藤健", "橋の地図を届けると約束します。"),
        ("राम कुमार", "सीता देवी", "मैं वादा करता हूँ कि नक्शा लाऊँगा।"),
        ("آنا سالم", "سامي نور", "أعدك أن أحضر خريطة الجسر."),
    ],
)
def test_a_promise_that_a_summary_quotes_in_any_language_is_the_speakers(giver: str, taker: str, said: str) -> None:
    names = {KLAUS: giver, MARIA: taker}
    told = summarise_entries(stream_of(message(said, 600, speaker=KLAUS, hearer=MARIA)).live(), names)
    summary = Entry(type="summary", text=told, minute=700, subjects=(KLAUS, MARIA))
    (promise,) = find_promises(KLAUS, stream_of(summary).live(), names)
    assert (promise.giver, promise.taker, promise.said) == (KLAUS, MARIA, said)


def test_other_sentences_are_not_promises(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "Will I carry your crate?",
        "I'll carry your crate, shall I?",
        "Should I promise to carry your crate?",
        "I will be there for you.",
        "I will never help you.",
        "I'll bake you a cake.",
        "If it rains, I'll drive you.",
        "I will sell the boat.",
        "Maybe I will call you.",
        "They promise much.",
    ]
    for said in cases:
        with subtests.test(said=said):
            assert found(message(said, 600)) == []


def test_a_promise_that_was_noted_is_found() -> None:
    noted = observation("I promised Maria Lopez to mend the gate.", 5, subjects=(KLAUS, MARIA))
    other = observation("Maria Lopez promised Klaus Mueller to cook.", 6, subjects=(KLAUS, MARIA))
    without = observation("I promised to fix Maria Lopez's lamp.", 7, subjects=(KLAUS, MARIA))
    strangers = observation("Maria Lopez promised Isabella Rodriguez to sing.", 8, subjects=(MARIA, ISABELLA))
    assert [(p.giver, p.taker, p.deed) for p in found(noted, other, without, strangers)] == [
        (KLAUS, MARIA, "mend the gate"),
        (MARIA, KLAUS, "cook"),
        (KLAUS, MARIA, "fix Maria Lopez's lamp"),
        (MARIA, ISABELLA, "sing"),
    ]


def test_a_promise_of_an_unknown_speaker_is_found() -> None:
    told = observation("Maria Lopez promised Klaus Mueller to cook.", 6, subjects=(KLAUS, MARIA), source="dialogue")
    assert [(p.giver, p.taker, p.deed) for p in found(told)] == [(MARIA, KLAUS, "cook")]


def test_a_question_notes_no_promise() -> None:
    asked = observation("Has Klaus Mueller promised Maria Lopez to cook?", 5, subjects=(KLAUS, MARIA))
    assert found(asked) == []


def test_a_noted_promise_is_made_to_the_named_person() -> None:
    known = observation("Tea.", 1, subjects=(MARIA,))
    noted = observation("I promised Maria Lopez to mend the gate.", 5, subjects=(KLAUS, ISABELLA))
    assert [(p.giver, p.taker) for p in found(known, noted)] == [(KLAUS, MARIA)]
    nobody = observation("I promised to mend the gate.", 5, subjects=(KLAUS, ISABELLA))
    assert [(p.giver, p.taker) for p in found(known, nobody)] == [(KLAUS, ISABELLA)]
    several = observation("I promised to mend the gate.", 5, subjects=(KLAUS, ISABELLA, MARIA))
    assert [(p.giver, p.taker) for p in found(known, several)] == [(KLAUS, "")]


GIVEN = message("I promise to lend you my ladder.", 600)


def test_the_outcome_of_a_promise_is_found(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Entry, bool]] = [
        (message("I kept my word: the ladder stands in your yard.", 900), True),
        (message("I brought the ladder as promised.", 900), True),
        (message("I lent you the ladder last night.", 900), True),
        (message("Oh no, I forgot!", 900), True),
        (
            observation(
                "Maria Lopez had promised Klaus Mueller to lend a ladder, and kept silent.",
                900,
                subjects=(KLAUS, MARIA),
            ),
            True,
        ),
        (
            observation(
                "Maria Lopez did not bring Klaus Mueller the ladder, though it had been promised.",
                900,
                subjects=(KLAUS, MARIA),
            ),
            True,
        ),
        (message("Did you not promise me a ladder?", 900, speaker=KLAUS, hearer=MARIA), True),
        (message("The weather is fine.", 900), False),
        (message("I forgot my umbrella.", 900, speaker=ISABELLA), False),
    ]
    for said, outcome in cases:
        with subtests.test(said=said):
            (promise,) = found(GIVEN, said)
            assert promise.settled is outcome
            assert promise.evidence == ((1, 2) if outcome else (1,))


@pytest.mark.parametrize("kind", ["plan", "reflection"])
def test_plans_and_thoughts_neither_make_nor_settle_promises(kind: EntryType) -> None:
    def thought(text: str) -> Entry:
        return Entry(type=kind, text=text, minute=900, subjects=(KLAUS, MARIA), valid_until=2_000)

    assert found(thought("Maria Lopez promised Klaus Mueller to cook.")) == []
    (promise,) = found(GIVEN, thought("Maria Lopez lent me the ladder as promised."))
    assert not promise.settled


@pytest.mark.parametrize(
    "again",
    [
        "Maria Lopez promised me to lend me her ladder.",
        "Maria Lopez promised Klaus Mueller to lend a ladder tomorrow.",
    ],
)
def test_hearing_of_a_promise_again_does_not_keep_it(again: str) -> None:
    (promise,) = found(GIVEN, observation(again, 900, subjects=(KLAUS, MARIA)))
    assert (promise.settled, promise.evidence) == (False, (1,))


def test_a_settled_promise_is_told_by_the_settling_sentence() -> None:
    (stated,) = found(GIVEN, message("Hello! I kept my word.", 900))
    assert stated.settled_by == "I kept my word."
    (seems,) = found(GIVEN, message("I lent you the ladder last night.", 900))
    assert (seems.settled, seems.settled_by) == (True, "I lent you the ladder last night.")


def test_a_repeated_promise_counts_once() -> None:
    assert len(found(GIVEN, message("I promise to lend you my ladder soon.", 700))) == 1
    assert len(found(GIVEN, message("I promise to bake you a cake.", 700))) == 2
    noted = observation("I promised Maria Lopez to mend the gate.", 5, subjects=(KLAUS, MARIA))
    assert len(found(noted, noted)) == 1
    spoken = message("I promise to mend your gate.", 9, speaker=KLAUS, hearer=MARIA)
    assert [promise.evidence for promise in found(noted, spoken)] == [(1,)]


def test_mutual_promises_are_two_promises() -> None:
    assert [promise.giver for promise in found(GIVEN, message(GIVEN.text, 700, speaker=KLAUS, hearer=MARIA))] == [
        MARIA,
        KLAUS,
    ]


def test_a_promise_that_was_kept_may_be_made_again() -> None:
    kept = message("I lent you the ladder last night.", 900)
    assert [promise.settled for promise in found(GIVEN, kept, message(GIVEN.text, 1_000))] == [True, False]


def test_a_settlement_settles_only_the_latest_promise() -> None:
    cake = message("I promise to bake you a cake.", 620)
    settled = found(GIVEN, cake, message("I kept my word.", 900))
    assert [(promise.settled, promise.evidence) for promise in settled] == [(False, (1,)), (True, (2, 3))]


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (message("Oh no, I forgot!", 629), False),
        (message("Oh no, I forgot!", 630), True),
        (message("I kept my word.", 629), False),
        (message("I kept my word.", 630), True),
        (message("I lent you the ladder as promised.", 601), True),
        (message("I lent you the ladder as promised.", 600), False),
    ],
)
def test_within_the_same_talk_only_an_account_of_the_deed_settles_a_promise(said: Entry, outcome: bool) -> None:
    (promise,) = found(GIVEN, said)
    assert promise.settled is outcome


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (observation("Maria Lopez lent Klaus Mueller the ladder.", 900, subjects=(KLAUS, MARIA)), True),
        (message("You lent the ladder to Ben.", 900, speaker=KLAUS, hearer=MARIA), False),
        (message("I baked bread for the feast.", 900), False),
        (message("I lent you the ladder, and I promise to lend you the ladder again.", 900), False),
        (message("Lend me the ladder?", 900), False),
    ],
)
def test_a_promise_is_kept_when_its_giver_or_an_onlooker_reports_the_deed(said: Entry, outcome: bool) -> None:
    (promise,) = found(GIVEN, said)
    assert promise.settled is outcome


def test_a_promise_without_an_addressee_is_settled_by_its_giver_only() -> None:
    noted = observation("I promised to fix the lamp.", 5, subjects=(KLAUS,))
    fixed = observation("I fixed the lamp as promised.", 99, subjects=(KLAUS,))
    (promise,) = found(noted, fixed)
    assert (promise.taker, promise.settled) == ("", True)


@pytest.mark.parametrize(("told", "outcome"), [("I mended the red gate.", True), ("I mended the red wall.", False)])
def test_three_of_five_words_of_a_deed_suffice(told: str, outcome: bool) -> None:
    (promise,) = found(message("I promise: I will mend old red barn gates.", 600), message(told, 2_000))
    assert promise.settled is outcome


def test_promises_are_the_same_whether_entries_are_read_one_after_another_or_at_once() -> None:
    told = [
        observation("Isabella promised Klaus Mueller to mend the mill.", 1, subjects=(KLAUS,)),
        message("I promise to carry your crate of apples.", 2),
        observation("Klaus Mueller mended a net.", 3, subjects=(KLAUS,)),
        observation("Isabella Rodriguez mended the mill.", 4, subjects=(KLAUS, ISABELLA)),
        message("I promise to carry your crate of apples to the mill.", 5),
        observation("Maria Lopez carried a crate of apples.", 6, subjects=(MARIA,)),
        message("I promised to sing for you, but I forgot.", 40),
        observation("Isabella joined the choir.", 41, subjects=("agent:isabella",)),  # the one whom the first names
        message("I kept my word.", 80),
    ]
    entries = stream_of(*told).live()
    names = {**WORLD.names, "agent:isabella": "Isabella"}
    grown = [find_promises(KLAUS, entries[:count], names) for count in range(len(entries) + 1)]
    afresh = [find_promises(KLAUS, entries[:count], {**names}) for count in range(len(entries) + 1)]
    assert grown == afresh
    assert grown[1][0].giver == "Isabella", "an unknown name stands for itself"
    assert grown[-1][0].giver == "agent:isabella"
    assert find_promises(KLAUS, entries[:-3], names) == afresh[-4], "fewer than before"


def test_the_same_deed_promised_to_two_is_two_promises_and_each_is_kept_towards_its_taker() -> None:
    first = message("I promise: I will post your parcel.", 10, speaker=KLAUS, hearer=MARIA)
    second = message("I promise: I will post your parcel.", 20, speaker=KLAUS, hearer=ISABELLA)
    kept = message("I kept my word: I posted your parcel.", 100, speaker=KLAUS, hearer=ISABELLA)
    assert [(p.taker, p.settled) for p in found(first, second, kept)] == [(MARIA, False), (ISABELLA, True)]


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ("I kept my word: the ladder stands in your yard.", "kept"),
        ("I lent you the ladder last night.", "kept"),
        ("Oh no, I forgot!", "broken"),
        ("I did not lend you the ladder.", "broken"),
        ("I broke my promise.", "broken"),
        ("I never kept my word.", "broken"),
        ("Good morning.", "open"),
    ],
)
def test_a_promise_is_kept_broken_or_open(told: str, state: str) -> None:
    (promise,) = found(GIVEN, message(told, 900))
    assert promise.state == state


@pytest.mark.parametrize(
    ("given", "told", "state"),
    [
        ("Prometo que lo guardo para el sábado.", "No voy a poder cumplir.", "broken"),
        ("أعدك أن أدفع عشرين دينارا.", "لقد وفيتِ بالوعد.", "kept"),
        ("मैं वादा करता हूँ कि दूध लाऊँगा।", "आपने अपना वादा निभाया।", "kept"),
        ("領収書を持ってくると約束します。", "約束を守ってくれてありがとう。", "kept"),
        ("領収書を持ってくると約束します。", "約束を守ってください。", "open"),
        ("Ich verspreche dir, dass die Pumpe dicht ist.", "Du hast dein Versprechen nicht gehalten.", "broken"),
    ],
)
def test_the_outcome_of_a_promise_is_recognised_in_other_languages(given: str, told: str, state: str) -> None:
    (promise,) = found(message(given, 600), message(told, 900))
    assert promise.state == state


def test_an_oath_about_a_fact_is_no_promise() -> None:
    assert found(message("أقسم أني لم أنم.", 600), message("Te juro que no fui yo.", 601)) == []
