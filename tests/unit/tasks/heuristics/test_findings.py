"""What changed, finding by finding: how much each is worth, what it says and what shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from memory.clock import DAY
from memory.entry import Entry
from tasks.heuristics.ahead import what_is_ahead
from tasks.heuristics.changed import what_changed
from tasks.heuristics.insight import _Fresh, _opening, find_insight
from tasks.heuristics.promises import Promise, find_promises, is_vow
from tasks.heuristics.recalled import Finding, PlanOutcome, Recalled, after_when, as_told, ended
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, PLACES, WORLD, message, observation, stream_of


def recalled(
    *recent: Entry,
    before: Sequence[Entry] = (),
    repeats: Mapping[int, int] | None = None,
    names: Mapping[str, str] = WORLD.names,
    minute: int = 1_200,
) -> Recalled:
    """Return what Klaus remembers, the latest numbered after what he remembered before."""
    numbered = stream_of(*before, *recent).live()
    return Recalled(
        owner=KLAUS, recent=numbered[len(before) :], before=numbered[: len(before)], names=names, minute=minute,
        repeats=repeats or {}, places=PLACES,
    )  # fmt: skip


def changed(of: Recalled, *promises: Promise) -> list[Finding]:
    return list(what_changed(of, promises))


# -- promises of which something came ------------------------------------------------------------------


def promise(giver: str, taker: str, deed: str, outcome: str, *evidence: int) -> Promise:
    return Promise(giver, taker, deed, 5, evidence, outcome=outcome)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("giver", "taker", "deed", "outcome", "worth", "told"),
    [
        (KLAUS, MARIA, "cook", "kept", 8.5, "I kept the promise that I had given Maria Lopez: to cook."),
        (KLAUS, MARIA, "", "kept", 8.5, "I kept the promise that I had given Maria Lopez."),
        (KLAUS, MARIA, "cook", "broken", 9.5, "I let Maria Lopez down: I had promised to cook, and did not."),
        (KLAUS, MARIA, "", "broken", 9.5, "I let Maria Lopez down and broke a promise."),
        (MARIA, KLAUS, "cook", "kept", 8.5, "Maria Lopez kept the promise to cook."),
        (MARIA, KLAUS, "", "kept", 8.5, "Maria Lopez kept the promise given to me."),
        (MARIA, KLAUS, "cook", "broken", 9.5,
         "Maria Lopez broke the promise to cook, which has come between us."),
        (MARIA, KLAUS, "", "broken", 9.5, "Maria Lopez broke the promise given to me, which has come between us."),
    ],
)  # fmt: skip
def test_what_came_of_a_promise(giver: str, taker: str, deed: str, outcome: str, worth: float, told: str) -> None:
    of = recalled(observation("Tea.", 9, importance=1), before=[observation("Soup.", 5, importance=1)])
    assert changed(of, promise(giver, taker, deed, outcome, 1, 2)) == [Finding(worth, "changed", told, (1, 2))]


@pytest.mark.parametrize(
    ("outcome", "evidence"),
    [("open", (1, 2)), ("kept", (2, 1)), ("kept", (1,)), ("kept", ())],  # what settled it is not among the recent
)
def test_of_a_promise_that_was_settled_before_nothing_is_told(outcome: str, evidence: tuple[int, ...]) -> None:
    of = recalled(observation("Tea.", 9, importance=1), before=[observation("Soup.", 5, importance=1)])
    assert changed(of, promise(KLAUS, MARIA, "cook", outcome, *evidence)) == []


def test_of_a_promise_to_nobody_known_nothing_is_told() -> None:
    of = recalled(observation("Tea.", 9, importance=1))
    assert changed(of, promise(KLAUS, "", "cook", "kept", 1)) == []


# -- bonds ---------------------------------------------------------------------------------------------


def bond(*recent: Entry, names: Mapping[str, str] = WORLD.names) -> Finding | None:
    known = [observation("Tea.", 1, subjects=(KLAUS, MARIA, ISABELLA), importance=1)]
    found = [f for f in changed(recalled(*recent, before=known, names=names)) if f.worth >= 6.5]
    return found[0] if found else None


def seen(text: str, *who: str) -> Entry:
    return observation(text, 9, subjects=(KLAUS, *(who or (MARIA,))), importance=2)


def test_a_bond_is_worth_more_the_more_shows_it_up_to_two_points() -> None:
    one = "Maria Lopez helped me with the boat."
    for count, worth in ((1, 7.0), (2, 7.5), (4, 8.5), (5, 8.5)):
        found = bond(*[seen(one)] * count)
        assert found is not None
        assert (found.worth, found.evidence) == (worth, tuple(range(2, 2 + count)))


def test_a_bond_is_shown_by_the_strongest_of_the_signs_and_of_these_the_latest() -> None:
    found = bond(seen("Maria Lopez helped me with the boat."), seen("Maria Lopez helped me with the cart."))
    assert found is not None
    assert found.text.endswith("Maria Lopez helped me with the cart.")
    mixed = bond(
        seen("Maria Lopez helped me with the boat."), seen("Maria Lopez shouted at me."),
        seen("Maria Lopez insulted me."),
    )  # fmt: skip
    assert mixed is not None
    assert mixed.text.endswith("Maria Lopez insulted me.")


def test_what_evens_out_changes_no_bond_and_a_word_of_praise_alone_is_too_little() -> None:
    assert bond(seen("Maria Lopez helped me with the boat."), seen("Maria Lopez insulted me.")) is None
    assert bond(message("You are so talented.", 9, importance=2)) is None


def test_a_broken_promise_has_told_already_that_things_got_worse_but_not_that_they_got_better() -> None:
    broken = promise(MARIA, KLAUS, "cook", "broken", 1)
    told = changed(recalled(seen("Maria Lopez insulted me.")), broken)
    assert [finding.worth for finding in told] == [9.5], "the same quarrel is not told twice"
    told = changed(recalled(seen("Maria Lopez helped me with the boat.")), broken)
    assert [finding.worth for finding in told] == [9.5, 7.0]


def test_thanks_to_oneself_show_more_of_a_bond_than_a_later_kindness() -> None:
    found = bond(message("Thank you for the boat.", 9, importance=2), seen("Maria Lopez helped me with the cart."))
    assert found is not None
    assert (found.worth, found.evidence) == (7.75, (2, 3)), "three points and two"
    assert found.text.endswith(": Maria Lopez thanked me for the boat.")


def test_what_has_no_name_makes_no_bond_and_takes_none_away() -> None:
    assert bond(seen("Maria Lopez helped me.", MARIA, "location:inn")) is not None
    assert bond(seen("It helped me.", "location:inn")) is None
    assert bond(seen("Both helped me.", MARIA, ISABELLA)) is None


def test_a_summary_makes_no_bond_and_i_am_meant_by_me() -> None:
    summary = Entry(type="summary", text="Maria Lopez helped me.", minute=9, subjects=(KLAUS, MARIA), importance=2)
    assert bond(summary) is None
    assert bond(seen("She helped me with the boat.")) is None, "who is not said"
    found = bond(seen("The captain helped me with the boat."))
    assert found is not None, "it happened to me, where Maria was"
    assert bond(seen("The captain helped Ben with the boat.")) is None


# -- events, people and what repeats -------------------------------------------------------------------


def test_an_event_is_told_with_its_place_unless_it_is_known_or_ones_own() -> None:
    burned = observation("The mill burned.", 9, importance=8, location="library")
    places = {**WORLD.names, "library": "Oak Hill Library"}
    assert changed(recalled(burned, names=places)) == [
        Finding(7.5, "changed", "I was at Oak Hill Library when the mill burned.", (1,))
    ]
    assert changed(recalled(burned))[0].text == "The mill burned.", "the place has no name"
    thought = Entry(type="observation", text=burned.text, minute=9, importance=8, location="library", source="internal")
    assert changed(recalled(thought, names=places))[0].text == "The mill burned."
    said = message("The mill burned.", 9, importance=8, location="library")
    assert changed(recalled(said, names=places))[0] == Finding(
        6.5, "changed", "Maria Lopez reported that the mill burned.", (1,)
    )


@pytest.mark.parametrize("text", ["I saw a mill.", "Arrived at the mill.", "Klaus Mueller is eating bread."])
def test_what_one_looks_on_at_is_no_event(text: str) -> None:
    assert changed(recalled(observation(text, 9, importance=8, subjects=()))) == []


def test_three_new_people_are_named_in_the_order_of_meeting() -> None:
    names = {**WORLD.names, **{f"agent:{x}": x.upper() for x in "wxyz"}}
    met = [observation("Tea.", 20 - n, subjects=(KLAUS, f"agent:{x}"), importance=1) for n, x in enumerate("wxyz")]
    of = recalled(*met, before=[observation("Tea.", 1, subjects=(MARIA,), importance=1)], names=names)
    assert changed(of) == [Finding(5.5, "changed", "I met Z, Y and X for the first time.", (5, 4, 3))]


def rattles(n: int, importance: int = 2, text: str = "The centrifuge rattles.") -> Entry:
    return observation(text, n, importance=importance, subjects=())


def test_what_happened_most_often_is_told_and_of_these_what_matters_most() -> None:
    assert changed(recalled(rattles(1), rattles(2))) == []
    assert changed(recalled(rattles(1), rattles(2), rattles(3))) == [
        Finding(3.0, "changed", "I noticed it three times: the centrifuge rattles.", (1, 2, 3))
    ]
    assert changed(recalled(rattles(1), repeats={1: 1})) == []
    assert changed(recalled(rattles(1), repeats={1: 2}))[0].evidence == (1,)
    often = [rattles(n, text="The door creaks.") for n in range(4)]
    assert "four times: the door creaks" in changed(recalled(*(rattles(9) for _ in range(3)), *often))[0].text
    matters = [rattles(9, importance=3) for _ in range(3)]
    assert "three times: the centrifuge" in changed(recalled(*often, *matters))[0].text


@pytest.mark.parametrize(
    ("minutes", "told"),
    [((600, 659), False), ((600, 660), True), ((659, 660), True), ((600, 600 + DAY), True), ((600,), False)],
)
def test_who_was_talked_with_in_two_hours_was_talked_with_more_than_once(minutes: tuple[int, ...], told: bool) -> None:
    lines = [message("Hm.", minute, importance=1) for minute in minutes]
    found = [f for f in changed(recalled(*lines)) if "more than once" in f.text]
    assert [f.worth for f in found] == ([1.0] if told else [])


@pytest.mark.parametrize(("days", "worth"), [(3, 2.3), (8, 2.8), (9, 2.9), (10, 2.9)])
def test_company_of_more_days_is_worth_more(days: int, worth: float) -> None:
    lines = [message("Hm.", day * DAY + 600, importance=1) for day in range(days)]
    (found,) = changed(recalled(lines[-1], before=lines[:-1]))
    assert (found.worth, found.evidence) == (worth, (days,))
    assert "different days by now" in found.text


def test_lines_that_show_company_are_named_in_order_and_what_is_no_talk_is_not() -> None:
    lines = [message("Hm.", 600 + 70 * n, importance=1) for n in range(4)]
    of = recalled(*lines)
    backwards = Recalled(
        owner=KLAUS, recent=[*reversed(of.recent)], before=(), names=WORLD.names, minute=1_200, repeats={}
    )
    assert changed(backwards)[0].evidence == (1, 2, 3)
    sights = [observation("Tea.", 600 + 70 * n, subjects=(KLAUS, MARIA), importance=1) for n in range(4)]
    assert changed(recalled(*sights)) == []


# -- sentences -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("The mill was sold.", "the mill was sold."), ("The mill was here.", "the mill was here."),
        ("They were sold.", "they were sold."),
        ("The mill burned.", "the mill burned."), ("Burned mills stand.", ""), ("The mill is burned.", ""),
        ("Maria burned it.", "Maria burned it."), ("Bread burned.", ""), ("The mill.", ""), ("", ""),
    ],
)  # fmt: skip
def test_what_follows_when_is_in_the_past_and_opens_small_unless_it_is_a_name(text: str, following: str) -> None:
    assert after_when(text, recalled()) == following


def test_a_sentence_has_a_mark_and_at_most_so_many_characters() -> None:
    whole = "x" * 119 + " " + "y" * 119 + "."
    assert ended(whole) == whole
    assert ended(whole[:-1] + "y.") == "x" * 119 + "…"
    assert ended("Is it, ") == "Is it."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Is it late? The mill burned.", "The mill burned."),
        ("Is it late?", ""),
        ("Ann and Bo talked at the inn on day 3, 5:00 PM. The mill burned.", "The mill burned."),
        ("She left. The mill burned.", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_that_says_something_is_told(text: str, told: str) -> None:
    assert as_told(recalled(), observation(text, 9)) == told


def test_of_a_line_the_sentence_that_says_most_is_told_if_it_says_something() -> None:
    of = recalled()
    long = "The mill of my brother burned down."
    assert as_told(of, message(f"The mill burned. {long} The boats sank.", 9)) == (
        "Maria Lopez reported that the mill of her brother burned down."
    )
    assert as_told(of, message("Tea is hot.", 9)) == "Maria Lopez remarked that tea is hot."


# -- what is chosen ------------------------------------------------------------------------------------


def test_an_insight_tells_one_change_and_what_is_ahead_after_it() -> None:
    party = observation("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600, importance=7)
    mill = observation("The old mill burned down.", 700, importance=10, subjects=())
    ship = observation("A ship sank at sea.", 710, importance=9, subjects=())
    text = find_insight(recalled(party, mill, ship)).text
    assert text.startswith("The old mill burned down. I am to host the party")
    assert "ship" not in text


def test_a_second_change_is_told_if_it_is_worth_it_and_opens_otherwise() -> None:
    mill = observation("The old mill burned down.", 700, importance=10, subjects=())
    for importance, told in ((5, False), (6, True)):
        ship = observation("A ship sank at sea.", 710, importance=importance, subjects=())
        assert ("ship" in find_insight(recalled(mill, ship)).text) is told
    again = observation("The old mill flooded.", 710, importance=9, subjects=())
    assert "flooded" not in find_insight(recalled(mill, again)).text, "the first three words are the same"
    other = observation("The old barn flooded.", 710, importance=9, subjects=())
    assert "flooded" in find_insight(recalled(mill, other)).text
    third = observation("A cart broke in town.", 720, importance=8, subjects=())
    assert "cart" not in find_insight(recalled(mill, other, third)).text, "two are enough"


def test_what_is_ahead_comes_last_though_it_is_worth_more() -> None:
    party = observation("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600, importance=3)
    mill = observation("The old mill burned down.", 700, importance=4, subjects=())
    assert find_insight(recalled(party, mill)).text.startswith("The old mill burned down. I am to host")


def test_what_was_not_got_to_is_just_worth_a_second_sentence() -> None:
    mill = observation("The old mill burned down.", 700, importance=10, subjects=())
    planned = replace(recalled(mill), plan=[PlanOutcome(description="Sell a goat", done=False)])
    assert find_insight(planned).text.endswith("I had planned to sell a goat, but did not get to it.")


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("I saw it: a boat sank.", "I saw it"), ("All is well now: he sang.", "All is well now"),
        ("The old mill burned down.", "The old mill"), ("Tea.", "Tea."), ("At 5:30 we left.", "At 5:30 we"),
    ],
)  # fmt: skip
def test_a_sentence_opens_with_what_precedes_a_colon_or_three_words(text: str, opening: str) -> None:
    assert _opening(text) == opening


def test_what_was_told_in_part_long_ago_may_be_told() -> None:
    ago = [Entry(type="reflection", text="The mill burned.", minute=1)]
    later = [
        Entry(type="reflection", text=f"{word} was quiet.", minute=2) for word in ("Dawn", "Noon", "Dusk", "Night")
    ]
    assert not _Fresh(recalled(before=[*ago, *later]))("The mill burned.")
    assert _Fresh(recalled(before=[*ago, *later]))("The mill burned. A ship sank.")
    assert not _Fresh(recalled())("…"), "it says nothing"
    nothing = Entry(type="reflection", text="…", minute=1)
    assert _Fresh(recalled(before=[nothing]))("The mill burned."), "what says nothing resembles nothing"


# -- promises among memories ---------------------------------------------------------------------------


def found(*entries: Entry) -> list[Promise]:
    return find_promises(KLAUS, stream_of(*entries).live(), WORLD.names)


VOW = "I promise to lend you my ladder."


def test_a_promise_that_a_reflection_settles_was_open_and_made_before_it() -> None:
    def told(minute: int) -> Entry:
        return Entry(type="reflection", text="Maria Lopez kept the promise to lend me her ladder.", minute=minute)

    assert [p.outcome for p in found(message(VOW, 600), told(601))] == ["kept"]
    assert [p.outcome for p in found(message(VOW, 600), told(600))] == ["open"]
    other = Entry(type="reflection", text="Maria Lopez kept the promise to sell the goat.", minute=700)
    assert [p.outcome for p in found(message(VOW, 600), other)] == ["open"]
    broken = message("Oh no, I forgot!", 900)
    assert [(p.outcome, p.settled) for p in found(message(VOW, 600), broken, told(950))] == [("broken", 900)]


def test_the_entries_that_show_a_promise_ascend() -> None:
    kept = message("I kept my word: the ladder stands in your yard.", 900)
    tea = [observation("Tea.", 1, importance=1) for _ in range(40)]
    (one,) = found(kept, *tea, message(VOW, 600))
    assert one.evidence == (1, 42)
    (one,) = found(tea[0], kept, *tea[:6], message(VOW, 600))
    assert one.evidence == (2, 9)


def test_the_latest_promise_is_the_one_that_was_kept() -> None:
    first, second = message(VOW, 600), message("I promise to bake you a cake.", 650)
    assert [p.outcome for p in found(first, second, message("I kept my word.", 900))] == ["open", "kept"]
    assert [p.outcome for p in found(first, message("I kept my word.", 900))] == ["kept"]


@pytest.mark.parametrize("subjects", [(KLAUS,), (KLAUS, MARIA, ISABELLA)])
def test_a_vow_to_nobody_or_to_several_is_no_promise_to_one(subjects: tuple[str, ...]) -> None:
    assert found(message("I promise to mend the gate.", 600, subjects=subjects)) == []


def test_a_vow_that_was_overheard_is_no_promise() -> None:
    assert found(message("I promise to mend the gate.", 600, subjects=(MARIA, ISABELLA))) == []


def test_a_promise_that_was_noted_of_oneself_to_oneself_or_of_strangers_is_none() -> None:
    assert found(observation("I promised me to sing.", 5, subjects=(KLAUS,))) == []
    assert found(observation("Ben promised me to sing.", 5, subjects=(KLAUS, MARIA))) == [], "nobody known"


def test_a_speaker_whom_nobody_knows_promises_nothing() -> None:
    assert found(message("Maria Lopez: I promise to mend the gate.", 600, subjects=(KLAUS,))) == []


def test_an_account_of_a_deed_settles_its_promise_whichever_others_were_made_since() -> None:
    lent = message("I lent you the ladder last night.", 900)
    ladder, cake = message(VOW, 600), message("I promise to bake you a cake.", 650)
    assert [p.outcome for p in found(ladder, cake, lent)] == ["kept", "open"]
    noted = observation("Maria Lopez promised Klaus Mueller to lend a ladder.", 600, subjects=(KLAUS, MARIA))
    assert [p.outcome for p in found(noted, lent)] == ["kept"]


def test_what_is_settled_stays_settled() -> None:
    kept, forgot = message("I kept my word.", 900), message("Oh no, I forgot!", 1_000)
    assert [(p.outcome, p.settled) for p in found(message(VOW, 600), kept, forgot)] == [("kept", 900)]


def test_a_deed_to_nobody_in_particular_is_told_as_it_was_noted() -> None:
    noted = observation("I promised to mend Ben's gate.", 5, subjects=(KLAUS, ISABELLA, MARIA))
    assert [(p.taker, p.deed) for p in found(noted)] == [("", "mend Ben's gate")]


@pytest.mark.parametrize(
    ("text", "vow"),
    [
        ("I promise to sing.", True), ("I will feed your cat.", True), ("I will feed the cat.", False),
        ("I feed your cat.", False), ("I will see you.", False), ("I will lend it, I swear.", True),
    ],
)  # fmt: skip
def test_a_vow_is_known_by_its_words(text: str, vow: bool) -> None:
    assert is_vow(text) is vow


# -- what is ahead -------------------------------------------------------------------------------------


def ahead(*promises: Promise, minute: int = 900) -> list[Finding]:
    return list(what_is_ahead(recalled(observation("Tea.", 5), minute=minute), promises))


def test_only_what_is_still_owed_of_a_deed_to_somebody_is_ahead() -> None:
    assert len(ahead(promise(KLAUS, MARIA, "cook", "open", 1))) == 1
    assert ahead(promise(KLAUS, "", "cook", "open", 1)) == []
    assert ahead(promise(KLAUS, MARIA, "", "open", 1)) == []
    assert ahead(promise(KLAUS, MARIA, "cook", "kept", 1)) == []


@pytest.mark.parametrize(
    ("deed", "minute", "owed"),
    [
        ("sing on day 1 and on day 3", DAY + 900, True),
        ("sing on day 1 and on day 3", 3 * DAY, False),
        ("sing on day 1 at 5:00 PM or at 7:00 PM", 18 * 60, True),
        ("sing on day 1 at 5:00 PM or at 7:00 PM", 19 * 60, False),
    ],
)
def test_a_deed_is_owed_until_the_last_time_that_it_names(deed: str, minute: int, owed: bool) -> None:
    assert bool(ahead(promise(KLAUS, MARIA, deed, "open", 1), minute=minute)) is owed
