"""What an insight tells first, what it leaves out, and which entries it names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.clock import DAY
from memory.entry import Entry, EntryType
from tasks.heuristics.insight import QUIET, find_insight
from tasks.heuristics.recalled import PlanOutcome, Recalled
from tests.unit.tasks.heuristics.test_insight import KNOWN, mine, noticed
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, PLACES, WORLD, message, observation, stream_of

BURNED = "The old mill burned down."


def mill(importance: int = 10) -> Entry:
    return observation(BURNED, 5, importance=importance)


def met(text: str, minute: int = 700, importance: int = 3) -> Entry:
    return observation(text, minute, subjects=(KLAUS, MARIA), importance=importance)


HELPED = met("Maria Lopez helped Klaus Mueller with the boat.")
CLOSER = "Things are better between Maria Lopez and me: Maria Lopez helped me with the boat."
RATTLES = observation("The centrifuge rattles.", 5, importance=2)
PARTY = message("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600, importance=7)
OWN_PARTY = observation("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600, importance=7)
GATE = mine("I promise: I will mend your gate.", 600)


# -- what comes first ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("importance", "first"), [(10, BURNED), (8, BURNED), (7, CLOSER)])
def test_the_more_an_event_matters_the_sooner_it_is_told(importance: int, first: str) -> None:
    told = noticed(HELPED, mill(importance)).text
    assert told.startswith(first)
    assert BURNED in told


def test_what_one_saw_goes_before_what_was_said() -> None:
    heard, seen = message(BURNED, 5, importance=8), observation("A ship sank at sea.", 6, importance=8)
    assert noticed(heard, seen).text.startswith("A ship sank at sea.")


def test_a_broken_promise_goes_before_the_greatest_event_and_a_kept_one_after_it() -> None:
    kept = mine("I kept my word: I mended your gate.", 900)
    assert noticed(GATE, kept, mill()).text.startswith(f"{BURNED} I kept the promise")
    given, broken = message("I promise to bring you the book.", 600), message("Oh no, I forgot.", 900)
    assert noticed(given, broken, mill()).text.startswith("Maria Lopez broke the promise")


def test_what_one_owes_goes_before_what_one_is_owed() -> None:
    taken, given = message("I promise to bring you the book.", 500), GATE
    assert noticed(taken, given) == ("I still owe Maria Lopez what I promised today: to mend her gate.", (2,))


def test_what_comes_within_a_day_goes_before_what_is_owed_and_what_one_hosts_before_what_one_attends() -> None:
    assert noticed(PARTY, GATE, minute=DAY).text.startswith("I am to attend the party")
    dance = "I am holding a dance at Oak Hill Library {} at 9:00 PM."
    tomorrow, later = (observation(dance.format(day), 600, importance=7) for day in ("tomorrow", "on day 3"))
    assert noticed(PARTY, tomorrow, minute=DAY).text.startswith("I am to host the dance")
    assert noticed(PARTY, later, minute=DAY).text.startswith("I am to attend the party")


def test_company_of_many_days_matters_less_than_what_happened_again_and_again() -> None:
    before = [message("Hm.", day * DAY + 600, importance=1) for day in range(11)]
    last = message("Hm.", 11 * DAY + 600, importance=1)
    assert noticed(last, RATTLES, before=before, repeats={2: 5}, minute=20_000).text.startswith(
        "I noticed it six times"
    )


# -- what is told again, or not at all -----------------------------------------------------------------


def test_a_second_event_that_was_told_in_other_words_is_left_out() -> None:
    told = Entry(type="reflection", text=f"Tea was had. {BURNED}", minute=1)
    ship = observation("A ship sank at sea.", 6, importance=8)
    assert noticed(ship, mill(7), before=[*KNOWN, told]) == ("A ship sank at sea.", (1,))


@pytest.mark.parametrize(("told", "again"), [("wine south", False), ("wine southwards slowly", True)])
def test_three_of_five_words_are_the_same_story(told: str, again: bool) -> None:
    earlier = Entry(type="reflection", text=f"Red ships carried {told}.", minute=1)
    seen = observation("Red ships carried salt north today at dawn.", 5, importance=8)
    assert ("salt" in noticed(seen, before=[*KNOWN, earlier]).text) is again


def test_an_event_of_importance_four_may_be_told() -> None:
    assert noticed(mill(4)).text == BURNED


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The shop closed at 9 pm.", True),
        ("The shop will close at 9 pm.", False),
        ("She sold it.", False),
        ("A party is held at Hobbs Cafe on day 8 at 9:00 AM.", False),
        ("A party is held at Hobbs Cafe on day 8 at 5:00 PM.", True),  # more than a week ahead
    ],
)
def test_what_speaks_of_an_hour_to_come_or_of_others_is_no_event(text: str, told: bool) -> None:
    assert (noticed(observation(text, 600, importance=8)).text == text) is told


@pytest.mark.parametrize("subjects", [(MARIA, KLAUS, ISABELLA), (MARIA, ISABELLA)])
def test_of_a_talk_of_others_nobody_tells_what_was_said_to_you(subjects: tuple[str, ...]) -> None:
    said = message("The baker sold your bicycle.", 5, importance=8, subjects=subjects)
    assert "bicycle" not in noticed(said).text


def test_small_talk_is_not_told() -> None:
    assert noticed(message("It is good to see you, Klaus Mueller.", 5, importance=8)).text == (
        "Today I spent time at cafe. I interacted with Maria Lopez."
    )


def test_lines_and_summaries_that_come_again_are_no_events() -> None:
    summary = Entry(type="summary", text=RATTLES.text, minute=5, importance=2)
    for entry in (message(RATTLES.text, 5, importance=2), summary):
        assert "times" not in noticed(entry, repeats={1: 9}).text


def test_what_one_is_to_attend_is_told_only_where_it_stands_alone() -> None:
    said = message("I will sell her hat tomorrow at 5:00 PM.", 600)
    assert "I am to" not in noticed(said).text
    assert "I am to" not in noticed(message("Come to it tomorrow at 5:00 PM at Hobbs Cafe.", 600)).text


def test_who_invited_one_is_told_with_what_is_coming() -> None:
    invited = met("Maria Lopez invited me to a party at Hobbs Cafe tomorrow at 5:00 PM.", 600)
    assert noticed(invited).text == (
        "I am to attend the party at Hobbs Cafe on day 2 at 5:00 PM, since Maria Lopez invited me."
    )
    assert noticed(mine("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600)).text == (
        "I am to host the party at Hobbs Cafe on day 2 at 5:00 PM, as I told Maria Lopez."
    )


@pytest.mark.parametrize(
    ("invitation", "answer", "coming"),
    [
        (PARTY, mine("I can't come.", 601), False),
        (PARTY, message("I can't wait!", 601), True),  # who invites
        (PARTY, met("Maria Lopez cannot swim.", 601), True),
        (OWN_PARTY, message("I cannot find my hat.", 601), True),
    ],
)
def test_an_invitation_is_declined_by_the_answer_of_whoever_is_invited(
    invitation: Entry, answer: Entry, coming: bool
) -> None:
    assert ("the party at Hobbs Cafe" in noticed(invitation, answer).text) is coming


def test_a_thought_between_an_invitation_and_its_answer_changes_nothing() -> None:
    thought = Entry(type="reflection", text="Spring was quiet.", minute=600, importance=5)
    assert "the party at Hobbs Cafe" not in noticed(PARTY, thought, mine("I can't come.", 601)).text


def test_what_one_told_several_is_told_to_nobody_in_particular() -> None:
    own = message(PARTY.text, 600, importance=7, subjects=(KLAUS, MARIA, ISABELLA))
    assert noticed(own).text == "I am to host the party at Hobbs Cafe on day 2 at 5:00 PM."
    vow = message("I promise: I will mend the gate.", 600, subjects=(KLAUS, MARIA, ISABELLA))
    assert "gate" not in noticed(vow, minute=1_300).text, "nobody in particular is owed it"


@pytest.mark.parametrize(
    ("later", "told"),
    [
        (0, "I still owe Maria Lopez what I promised today: to mend her gate."),
        (2, "I still owe Maria Lopez what I promised on day 4: to mend her gate."),
        (3, "I promised Maria Lopez three days ago to mend her gate, and still have not."),
        (4, "I promised Maria Lopez four days ago to mend her gate, and still have not."),
    ],
)
def test_what_is_owed_for_three_days_is_told_by_its_age(later: int, told: str) -> None:
    vow = mine("I promise: I will mend your gate.", 3 * DAY + 600)
    assert noticed(vow, minute=(3 + later) * DAY + 700).text == told


# -- bonds and people ----------------------------------------------------------------------------------


def test_who_looks_on_while_somebody_is_kind_to_another_comes_no_closer() -> None:
    assert noticed(met("Saw Maria Lopez hugged by Ben.")).text == (
        "Today I spent time at library. I interacted with Maria Lopez."
    )


def test_praise_from_the_other_twice_brings_two_closer() -> None:
    praised = message("Well done, Klaus! The baker sold your bicycle.", 5)
    again = message("Well done! The miller praised the bread.", 6)
    assert noticed(praised).text == "Maria Lopez reported that the baker sold my bicycle."
    told = noticed(praised, again)
    assert told == (
        "I think more of Maria Lopez now: Maria Lopez reported that the miller praised the bread.", (1, 2),
    )  # fmt: skip
    own = [mine(entry.text, entry.minute) for entry in (praised, again)]
    assert "more of" not in noticed(*own).text
    assert "closer" not in noticed(*own).text
    assert "better" not in noticed(*own).text


def test_a_bond_is_shown_by_what_matters_most_of_what_made_it() -> None:
    boat = met("Maria Lopez helped me with the boat.", importance=5)
    cart = met("Maria Lopez helped me with the cart.")
    assert noticed(boat, cart).text == CLOSER
    insulted, shouted = met("Maria Lopez insulted the priest."), met("Maria Lopez shouted at me for hours.")
    told = noticed(met("Maria Lopez helped me with the boat.", importance=9), shouted, insulted).text
    assert told.endswith("worse between Maria Lopez and me: Maria Lopez insulted the priest.")


def test_one_does_not_meet_oneself() -> None:
    seen = observation("Tea.", 1, subjects=(KLAUS, ISABELLA))
    before = [observation("Tea.", 1, subjects=(MARIA,))]
    assert noticed(seen, before=before).text == "I met Isabella Rodriguez for the first time."


def recalled(*recent: Entry, names: dict[str, str]) -> Recalled:
    return Recalled(
        owner=KLAUS, recent=stream_of(*recent).live(), before=KNOWN, names=names, minute=1_200, repeats={},
        places=PLACES,
    )  # fmt: skip


def test_whoever_has_a_name_is_somebody_and_a_place_is_not() -> None:
    seen = observation("Tea.", 1, subjects=(KLAUS, "npc:guard", "npc:nameless", "location:inn"))
    told = find_insight(recalled(seen, names={**WORLD.names, "npc:guard": "The Guard"})).text
    assert told == "I met The Guard for the first time."


def test_words_of_names_are_those_with_a_capital() -> None:
    assert recalled(names={KLAUS: "Klaus van Mueller", MARIA: "MARIA de la Cruz"}).name_words == {
        "Klaus", "Mueller", "MARIA", "Cruz",
    }  # fmt: skip


# -- words and evidence --------------------------------------------------------------------------------


def test_a_plan_that_says_nothing_is_not_told_and_one_of_capitals_keeps_them() -> None:
    assert noticed(plan=[PlanOutcome(description=" .", done=False)]).text == QUIET
    told = noticed(plan=[PlanOutcome(description="TVs are to be mended", done=False)]).text
    assert told == "I had planned to TVs are to be mended, but did not get to it."


def test_evidence_ascends_and_is_at_most_five_of_what_repeats_and_three_of_talk() -> None:
    between = [observation(f"Tea {i}.", i, importance=1) for i in range(6)]
    assert noticed(mill(), *between, observation("A ship sank at sea.", 6, importance=8)).evidence == (1, 8)
    assert noticed(*[RATTLES] * 7).evidence == (1, 2, 3, 4, 5)
    assert noticed(*(message("Hm.", 600 + 70 * i, importance=1) for i in range(4))).evidence == (1, 2, 3)


def test_at_most_three_places_are_named() -> None:
    seen = [observation("Tea.", i, importance=1, location=f"place:{x}", subjects=()) for i, x in enumerate("abcd")]
    assert noticed(*seen).text == "Today I spent time at a, b and c."


def test_a_sentence_that_is_too_long_loses_its_last_word_in_part_and_no_more() -> None:
    long = "The mill and " * 30 + "burned down."
    assert noticed(observation(long, 5, importance=8)).text == long[:240].rpartition(" ")[0] + "…"


def test_an_owed_deed_of_a_day_that_is_over_is_owed_no_more() -> None:
    given = mine("I promise: I will mend your gate tomorrow at 5:00 PM.", 600)
    at = DAY + 17 * 60
    assert "owe" in noticed(given, minute=at - 1).text
    assert "owe" not in noticed(given, minute=at).text
    by_day = replace(recalled(mine("I promise: I will mend your gate tomorrow.", 600), names=dict(WORLD.names)))
    assert "owe" in find_insight(replace(by_day, minute=2 * DAY - 2)).text
    assert "owe" not in find_insight(replace(by_day, minute=2 * DAY - 1)).text


@pytest.mark.parametrize("kind", ["plan", "reflection"])
def test_what_was_only_planned_or_thought_is_not_coming(kind: EntryType) -> None:
    thought = Entry(type=kind, text=OWN_PARTY.text, minute=600, importance=7, valid_until=9_999)
    assert "party" not in noticed(before=[*KNOWN, thought]).text
    assert "party" in noticed(before=[*KNOWN, replace_entry(thought)]).text


def replace_entry(entry: Entry) -> Entry:
    return Entry(type="observation", text=entry.text, minute=entry.minute, importance=entry.importance)


@pytest.mark.parametrize(("minute", "coming"), [(601, True), (600, False)])
def test_what_comes_within_two_days_is_coming(minute: int, coming: bool) -> None:
    party = observation("I am holding a party at Hobbs Cafe on day 3 at 10:00 AM.", 300, importance=3)
    assert ("party" in noticed(party, minute=minute).text) is coming


@pytest.mark.parametrize(
    ("ago", "before", "again"),
    [(4, BURNED, False), (5, BURNED, False), (4, "An old mill burned.", False), (5, "An old mill burned.", True)],
)
def test_nothing_is_told_again_in_its_words_or_reworded_after_the_last_four_reflections(
    ago: int, before: str, again: bool
) -> None:
    others = [
        Entry(type="reflection", text=f"{word} was quiet.", minute=2) for word in ("Spring", "Dawn", "Dusk", "Noon")
    ]
    told = Entry(type="reflection", text=f"Tea was had. {before}", minute=1)
    known = [*KNOWN, told, *others[: ago - 1]]
    assert (BURNED in noticed(mill(7), before=known).text) is again
