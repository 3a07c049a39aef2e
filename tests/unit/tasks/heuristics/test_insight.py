"""An insight without a model: what it tells, in which words, and what it rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.tasks.heuristics.insight import NOTABLE, QUIET, Insight, find_insight
from cogitate.tasks.heuristics.promises import MOST_QUOTED
from cogitate.tasks.heuristics.recalled import Recalled
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, PLACES, WORLD, message, observation, stream_of


def noticed(
    *recent: Entry,
    before: Sequence[Entry] = (),
    repeats: Mapping[int, int] | None = None,
    minute: int = 1200,
    least: int = 2,
    language: str = "en",
) -> Insight:
    by_importance = sorted(stream_of(*recent).live(), key=lambda e: (-e.importance, e.number))
    recalled = Recalled(
        owner=KLAUS,
        recent=by_importance,
        before=before,
        names=WORLD.names,
        minute=minute,
        repeats=repeats or {},
        places=PLACES,
        language=language,
    )
    return find_insight(recalled, least)


def test_equal_notes_of_two_speakers_become_one_that_names_both() -> None:
    notes = [
        observation(f"{name} is conversing about the new mill.", 600, importance=6, subjects=(KLAUS, other))
        for name, other in (("Maria Lopez", MARIA), ("Isabella Rodriguez", ISABELLA))
    ]
    assert noticed(*notes).text == "Isabella Rodriguez and Maria Lopez talked about the new mill."
    own = observation("Klaus Mueller is conversing about the new mill.", 600, importance=5, subjects=(KLAUS, MARIA))
    assert noticed(notes[0], own).text == "Klaus Mueller and Maria Lopez talked about the new mill."
    assert noticed(own).text == "Klaus Mueller and Maria Lopez talked about the new mill."


@pytest.mark.parametrize(
    ("note", "opening"),
    [
        ("Klaus Mueller repaired pump 3.", "Maria Lopez told Klaus Mueller:"),
        ("Repaired pump 3.", "Maria Lopez told Klaus Mueller:"),
        ("I repaired pump 3 for Bo.", "Maria Lopez told me:"),
        ("My pump broke.", "Maria Lopez told me:"),
        ('Bo said "I broke it."', "Maria Lopez told Klaus Mueller:"),
    ],
)
def test_the_owner_is_called_as_its_notes_call_it(note: str, opening: str) -> None:
    said = message("The mill burned down.", 5, importance=8)
    assert opening in noticed(said, observation(note, 600, importance=6)).text


def test_one_odd_note_does_not_change_what_the_owner_is_called() -> None:
    notes = [observation(f"Klaus Mueller opened box {at}.", 600 + at, importance=2) for at in range(3)]
    text = noticed(message("The mill burned down.", 5, importance=8), *notes, observation("I sneezed.", 610)).text
    assert text.startswith("Maria Lopez told Klaus Mueller:")


def told(insight: Insight) -> str:
    return insight.text


def test_nothing_observed_and_nothing_that_matters_are_a_quiet_time() -> None:
    assert noticed() == (QUIET, ())
    assert noticed(observation("The bed is idle.", 1, importance=1)) == (QUIET, ())
    assert noticed(observation("Tea.", 1, importance=3), least=NOTABLE) == (QUIET, ())


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        (message("The mill burned down.", 5, importance=8), 'Maria Lopez told Klaus Mueller: "The mill burned down."'),
        (
            message("Open the gate tonight and you shall be marshal.", 5, importance=8),
            'Maria Lopez told Klaus Mueller: "Open the gate tonight and you shall be marshal."',
        ),
        (
            message("Your goat ate the hay, my friend.", 5, importance=8, speaker=KLAUS, hearer=MARIA),
            'Klaus Mueller told Maria Lopez: "Your goat ate the hay, my friend."',
        ),
        (message("Is the mill on fire?", 5, importance=8), 'Maria Lopez asked Klaus Mueller: "Is the mill on fire?"'),
        (
            message("Мельница сгорела вчера ночью.", 5, importance=8),
            'Maria Lopez told Klaus Mueller: "Мельница сгорела вчера ночью."',
        ),
    ],
)
def test_a_statement_is_quoted_with_speaker_and_addressee(said: Entry, quoted: str) -> None:
    assert noticed(said) == (quoted, (1,))


def test_a_quotation_of_an_earlier_day_names_the_day() -> None:
    said = message("The ferry leaves tomorrow.", 600, importance=8)
    assert told(noticed(said, minute=1200)) == 'Maria Lopez told Klaus Mueller: "The ferry leaves tomorrow."'
    assert (
        told(noticed(said, minute=1200 + DAY))
        == 'Maria Lopez told Klaus Mueller on day 1: "The ferry leaves tomorrow."'
    )
    seen = observation("The ferry leaves tomorrow.", 600, importance=8)
    assert told(noticed(seen)) == "The ferry leaves on day 2."


def test_a_frequent_topic_precedes_a_single_statement() -> None:
    rumour = [message(f"They say that the ferry of the mill sank {n} times.", 600 + n, importance=5) for n in range(9)]
    once = message("My cat is grey.", 700, importance=6)
    assert "ferry" in told(noticed(*rumour, once))


def test_important_entries_precede_unimportant_ones() -> None:
    assert (
        told(
            noticed(
                observation("The reactor is on fire.", 700, importance=9),
                observation("Trader 4 gave me a coin and a friendly smile.", 710, importance=2),
                observation("Trader 4 gave me a coin and a friendly smile.", 720, importance=2),
            )
        )
        == "The reactor is on fire."
    )


def test_an_important_event_is_told_beside_a_rumour_that_fills_the_day() -> None:
    rumour = [message(f"The ferry sank near the mill in year {n}.", 600 + n, importance=4) for n in range(20)]
    text = told(noticed(*rumour, observation("Wolves broke into the barn.", 700, importance=9)))
    assert text.index("ferry") < text.index("Wolves")
    assert text.count("ferry") == 1


def test_a_repeated_statement_is_told_once_and_an_event_beside_its_invitation() -> None:
    word = "A feast will be held at the mill today."
    heard = [message(word, 600, importance=6), message(word, 610, importance=6, speaker=KLAUS, hearer=ISABELLA)]
    begun = observation("The feast at the mill has begun with Maria Lopez, Ann and a band.", 700, importance=6)
    text = told(noticed(*heard, begun))
    assert text.count("will be held") == 1
    assert "has begun" in text


def test_news_outweighs_a_topic_of_earlier_days() -> None:
    old = [message(f"Fish costs {n} coins at the harbour.", n, importance=5) for n in range(30, 60)]
    live = stream_of(
        *old,
        *(message(f"Fish costs {n} coins at the harbour.", 1_500 + n, importance=5) for n in (7, 8)),
        message("Smugglers dug 2 tunnels below the tower.", 1_600, importance=5),
        message("Wolves broke into 4 old barns yesterday.", 1_640, importance=5),
        message("Lightning split 9 oaks beside our chapel.", 1_680, importance=5),
    ).live()

    def told_after(before: Sequence[Entry]) -> str:
        recalled = Recalled(owner=KLAUS, recent=live[30:], before=before, names=WORLD.names, minute=2_000, repeats={})
        return find_insight(recalled).text

    assert "Fish" in told_after(())
    assert "Fish" not in told_after(live[:30])


def test_an_appointment_is_told_in_the_sentence_that_names_its_hour() -> None:
    text = "Klaus Mueller talked with Maria Lopez on day 1, 10:00 AM. There is a concert at the plaza today at 8 pm."
    seen = observation(text, 700, importance=3)
    storm = observation("The storm took the roof.", 950, importance=9)
    assert "talked with" not in told(noticed(seen, storm))


def test_a_courtesy_is_not_a_theme() -> None:
    assert noticed(message("Thank you so much!", 5, importance=8)) == (QUIET, ())


def test_seeing_or_thanking_is_neither_meeting_nor_closeness() -> None:
    seen = observation("Isabella Rodriguez opened the window.", 5, importance=5, subjects=(ISABELLA,))
    thanked = message("Thank you for the salt, it was good.", 6, importance=5)
    text = told(noticed(seen, thanked))
    assert not re.search(r"first time|better|closer|praised|interacted", text)


def test_a_promise_is_told_beside_the_theme_if_it_names_its_object() -> None:
    fire = observation("The mill burned down.", 500, importance=9)
    for said, is_told in (("I promise to mend the oars.", True), ("I promise to mend them.", False)):
        promise = message(said, 520, speaker=MARIA, hearer=KLAUS, importance=3)
        assert (said in noticed(fire, promise).text) is is_told


def test_of_a_summary_the_promise_alone_is_told_as_a_finding() -> None:
    text = 'Maria Lopez told Klaus Mueller: "The crate is heavy" and "I promise to carry your crate."'
    before = Entry(type="summary", text=text, minute=100, number=9, subjects=(KLAUS, MARIA), source="dialogue")
    fire = observation("The storm took the roof.", 900, importance=8)
    assert (
        noticed(fire, before=(before,)).text
        == 'The storm took the roof. Maria Lopez told Klaus Mueller: "I promise to carry your crate."'
    )


def test_a_promise_heard_twice_is_told_once_as_given() -> None:
    heard = [
        observation("Maria Lopez promised me to fix the seal tomorrow.", at, importance=n, subjects=(MARIA,))
        for at, n in ((544, 5), (971, 7))
    ]
    text = told(noticed(*heard, observation("The soup was cold.", 700, importance=3)))
    assert text.count("Maria Lopez promised me to fix the seal on day 2.") == 1
    assert "kept" not in text


def test_the_outcome_of_a_promise_is_told_in_its_own_words() -> None:
    given = message("I promise to lend you my ladder.", 100, importance=3)
    kept = message("Here, as promised.", 900, importance=3)
    storm = observation("The storm took the roof.", 950, importance=9)
    assert (
        told(noticed(given, kept, storm))
        == 'The storm took the roof. Maria Lopez told Klaus Mueller: "Here, as promised."'
    )
    lent = message("I lent you the ladder on a whim.", 900, importance=3)
    assert told(noticed(given, lent, storm)) == (
        'The storm took the roof. Maria Lopez told Klaus Mueller: "I lent you the ladder on a whim."'
    )


def test_the_outcome_of_a_promise_is_told_after_a_reflection_that_told_the_promise() -> None:
    given = message("I promise to patch the window tomorrow at 9 am.", 100, importance=6)
    earlier = Entry(type="reflection", text=told(noticed(given)), minute=1_000)
    before = [*stream_of(given).live(), earlier]
    patched = observation("Maria Lopez patched the window.", 2_000, importance=6)
    storm = observation("The storm took the roof.", 2_100, importance=9)
    entries = stream_of(given, patched, storm).live()[1:]
    recalled = Recalled(owner=KLAUS, recent=entries, before=before, names=WORLD.names, minute=2_400, repeats={})
    assert "Maria Lopez patched the window." in find_insight(recalled).text


MILL = observation("The mill burnt down.", 700, importance=5)
TOLL = observation("The toll was raised.", 720, importance=5)


@pytest.mark.parametrize(
    ("deed", "account"),
    [
        ("mend the bridge", "Ada mended the bridge."),
        ("mend the bridge by Friday", "Ada did not mend the bridge."),
        ("mend the bridge on day 2", "Ada and Bo mended the bridge together."),
        ("mend the bridge tomorrow at 9 am", "Ada mended the bridge."),
        ("mend the bridge", "Ada forgot to mend the bridge."),
        ("bring the salt", "Ada brought the salt."),
        ("build a wall", "At noon Ada quietly built a wall."),
        ("pay the toll", "Ada has paid the toll."),
        ("carry the stones", "Ada never carried the stones."),
        ("buy a goat", "Ada bought a goat."),
        ("dig a well", "Ada dug a well."),
    ],
)
@pytest.mark.parametrize("voice", ["Ada", "I", "The miller"])
def test_a_later_account_of_a_promised_deed_is_told(deed: str, account: str, voice: str) -> None:
    account = account.replace("Ada", voice if account.startswith("Ada") else voice.replace("The ", "the "))
    made = observation(f"{voice} promised to {deed}.", 600, importance=5)
    insight = noticed(made, MILL, TOLL, observation(account, 2_200, importance=5), minute=2_300)
    assert account in insight.text
    assert "promise" not in insight.text
    assert {1, 4} <= set(insight.evidence)


def test_a_promise_stays_open_without_an_account_of_the_deed(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "Bo mended the bridge.",
        "Ada will mend the bridge.",
        "Ada asked Bo to mend the bridge.",
        "Has Ada mended the bridge?",
        "If Ada mended the bridge, we could cross.",
        "Ada mended the gate of the farm.",
        "Ada heard that Bo mended the bridge.",
        "Adam mended the bridge.",
    ]
    for other in cases:
        with subtests.test(other=other):
            made = observation("Ada promised to mend the bridge.", 600, importance=8)
            seen = observation(other, 1_900, importance=2)
            assert "Ada promised to mend the bridge." in told(noticed(made, seen, minute=2_000))


def test_a_time_named_by_a_finding_is_not_repeated_before_it() -> None:
    for hour in ("9 AM", "9:00 AM", "09:00", "9 a.m."):
        made = observation(f"Maria Lopez promised to bring the salt on day 2 at {hour}.", 600, importance=5)
        assert told(noticed(made)).count("day 2") == 1


def test_an_appointment_is_told_with_its_hour_and_source() -> None:
    party = message("I am holding a party at Hobbs Cafe tomorrow at 5 pm.", 600, importance=3)
    storm = observation("The storm took the roof.", 950, importance=9)
    assert noticed(party, storm) == (
        "The storm took the roof. "
        'Maria Lopez told Klaus Mueller: "I am holding a party at Hobbs Cafe tomorrow at 5 pm."',
        (1, 2),
    )
    declined = message("I cannot come.", 601, importance=1, speaker=KLAUS, hearer=MARIA)
    assert "party" not in told(noticed(party, declined, storm))
    undated = observation("Isabella Rodriguez is preparing her dinner for 6 pm.", 700, importance=3)
    assert told(noticed(undated, storm, minute=1150)) == "The storm took the roof."


def test_an_earlier_reflections_facts_are_not_repeated() -> None:
    storm = observation("The storm took the roof.", 950, importance=9)
    coin = observation("A trader gave me a coin.", 960, importance=4)
    earlier = Entry(type="reflection", text="The storm took the roof.", minute=1000)
    assert told(noticed(storm, coin, before=[earlier])) == "A trader gave me a coin."


def test_a_long_sentence_is_cut_between_words() -> None:
    text = told(noticed(message(f"The mill {'burned and ' * 60}fell.", 5, importance=8)))
    assert len(text) <= MOST_QUOTED + 40
    assert text.endswith('and..."') or text.endswith('burned..."')


_TEXT = st.text(st.sampled_from("abc XYZ.!?\"'“”,0123456789äжの。\n"), max_size=80)
_ENTRY = st.builds(
    lambda text, minute, importance, spoken: (message if spoken else observation)(
        text or "x", minute, importance=importance
    ),
    _TEXT,
    st.integers(0, 2000),
    st.integers(1, 10),
    st.booleans(),
)


@given(st.lists(_ENTRY, max_size=6))
def test_every_word_of_an_insight_stands_in_its_evidence(entries: list[Entry]) -> None:
    insight = noticed(*entries, minute=2000)
    if insight.text == QUIET:
        return
    by_number = dict(enumerate(entries, start=1))
    source = " ".join(by_number[n].text for n in insight.evidence)
    ours = "I me my noted Maria Lopez Klaus Mueller told asked said on day at AM PM 1 2 tomorrow が に"
    words = set(re.findall(r"[^\W_]+", f"{source} {ours}".lower()))
    assert set(re.findall(r"[^\W_]+", insight.text.lower())) <= words


@pytest.mark.parametrize(
    ("text", "importance", "is_told"),
    [
        ("Alarm: hull breach in the Medbay!", 9, True),
        ("Alarm: hull breach in the Lab 2!", 7, True),
        ("Alarm: hull breaches in the Lab!", 9, False),
        ("Alarm: wide hull breach in the Lab!", 5, True),
    ],
    ids=["another place", "a number", "the same words", "one more word"],
)
def test_an_event_is_told_despite_a_similar_one_elsewhere(text: str, importance: int, is_told: bool) -> None:
    earlier = Entry(type="reflection", text="Alarm: hull breach in the Lab!", minute=1100, importance=5)
    alarm, soup = observation(text, 1150, importance=importance), observation("The cook made soup.", 1160, importance=4)
    insight = noticed(alarm, soup, before=[earlier])
    assert insight.text.startswith(text) if is_told else insight == ("The cook made soup.", (2,))


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_recurring_important_event_makes_no_quiet_period(language: str) -> None:
    text = {"en": "The barometer fell sharply.", "es": "El barómetro cayó en picado."}[language]
    first = msgspec.structs.replace(observation(text, 300, importance=8), number=7)
    told = Entry(type="reflection", text=text, minute=1100, importance=5, number=8)
    again = observation(text, DAY + 300, importance=8)
    trivial = observation("The cook made soup.", DAY + 310, importance=3)
    for least in (2, NOTABLE):
        assert noticed(again, before=[first, told], minute=DAY + 1200, least=least) == (text, (1,))
    once = noticed(trivial, before=[first, told], minute=DAY + 1200, least=NOTABLE)
    assert once == (QUIET, ())


def test_another_is_quoted_in_the_language_of_the_owner() -> None:
    said = message("Quedan 12 kilos.", 1100, importance=6)
    assert noticed(said, language="es").text == "Maria Lopez a Klaus Mueller: «Quedan 12 kilos.»"
    assert noticed(said).text == 'Maria Lopez told Klaus Mueller: "Quedan 12 kilos."'


def test_an_announcement_is_not_told_after_its_event() -> None:
    party = message("Maria is holding a party at Hobbs Cafe today at 5:00 PM.", 600, speaker=MARIA, hearer=KLAUS)
    bridge = observation("The bridge burned down.", 610, importance=6)
    assert "party" in noticed(party, bridge, minute=960).text
    assert noticed(party, bridge, minute=1200).text == "The bridge burned down."


def test_another_in_an_observation_has_no_appointment_with_its_owner() -> None:
    supper = "The counter is empty, since Isabella prepares her supper {} at 6:00 PM."
    storm = observation("The storm took the roof.", 950, importance=9)
    seen = observation(supper.format("tomorrow"), 600, importance=2)
    assert noticed(seen, storm).text == "The storm took the roof."


def test_an_insight_tells_events_in_order_of_time() -> None:
    empty = observation("Not one dose is left in the ward.", 600, importance=7)
    back = observation("Bo came home with 25 doses of serum.", 700, importance=8)
    assert noticed(empty, back).text == "Not one dose is left in the ward. Bo came home with 25 doses of serum."


@pytest.mark.parametrize(
    ("language", "trouble", "outcome"),
    [
        ("en", "The count after the operation was one swab short.", "Bo found the swab under a bucket."),
        ("en", "The pump in greenhouse B is leaking.", "Maria Lopez repaired the pump in greenhouse B."),
        ("fr", "Le générateur s'est arrêté.", "Le générateur est reparti."),
    ],
)
def test_trouble_is_told_with_its_outcome(language: str, trouble: str, outcome: str) -> None:
    others = [observation(f"Trader {n} sold {n} goats.", 610 + n, importance=6) for n in range(3)]
    seen = observation(trouble, 600, importance=8)
    text = noticed(seen, *others, observation(outcome, 700, importance=NOTABLE), language=language).text
    assert text.startswith(trouble)
    assert text.endswith(outcome)
    assert text.count("goats") == 1
    assert trouble in noticed(seen, *others, language=language).text


def test_a_talk_contributes_one_sentence_and_a_remark_only_if_nothing_else_does() -> None:
    order = message("Rope off 3 piers for us.", 600, importance=5)
    remark = message("Your hat looks lovely beside that wall.", 700, importance=5)
    assert told(noticed(order, message("Bring 2 lamps for us.", 601, importance=5))) in (
        'Maria Lopez told Klaus Mueller: "Rope off 3 piers for us."',
        'Maria Lopez told Klaus Mueller: "Bring 2 lamps for us."',
    )
    assert "hat" not in told(noticed(order, remark))
    assert "hat" in told(noticed(remark))


def test_ordinary_events_come_before_talk_where_nothing_seen_is_notable() -> None:
    line = message("Twenty gallons off the awning, near enough!", 600, importance=5)
    seen = observation("Maria Lopez caught rain in the awning.", 590, importance=3)
    state = observation("The awning is wet.", 591, importance=3)
    text = told(noticed(line, seen, state))
    assert "caught rain" in text
    assert "is wet" not in text
