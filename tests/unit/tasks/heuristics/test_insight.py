"""An insight without a model: what it tells, in which words, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from memory.clock import DAY
from memory.entry import Entry
from tasks.heuristics.insight import QUIET, Insight, find_insight
from tasks.heuristics.promises import KEEP
from tasks.heuristics.recalled import LONGEST, PlanOutcome, Recalled
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, PLACES, WORLD, message, observation, stream_of

KNOWN = [observation("Tea.", 1, subjects=(KLAUS, MARIA, ISABELLA))]


def noticed(
    *recent: Entry,
    before: Sequence[Entry] = KNOWN,
    repeats: Mapping[int, int] | None = None,
    minute: int = 1200,
    plan: Sequence[PlanOutcome] = (),
    summary: str = "",
    delay: int = 0,
) -> Insight:
    by_importance = sorted(stream_of(*recent).live(), key=lambda e: (-e.importance, e.number))
    return find_insight(
        Recalled(
            owner=KLAUS, recent=by_importance, before=before, names=WORLD.names, minute=minute, repeats=repeats or {},
            places=PLACES, plan=plan, summary=summary, delay=delay,
        )
    )  # fmt: skip


def mine(text: str, minute: int, **fields: object) -> Entry:
    return message(text, minute, speaker=KLAUS, hearer=MARIA, **fields)


def test_where_nothing_is_notable_it_says_where_and_with_whom() -> None:
    assert noticed() == (QUIET, ())
    assert noticed(observation("Tea.", 1), observation("Cake.", 2, location="cafe", subjects=(KLAUS, MARIA))) == (
        "Today I spent time at library and cafe. I interacted with Maria Lopez.", (1, 2),
    )  # fmt: skip
    assert noticed(observation("Tea.", 1, location="", subjects=(MARIA,))) == ("I interacted with Maria Lopez.", (1,))
    assert noticed(observation("Tea.", 1, location="", subjects=())) == (QUIET, ())


def test_who_is_new_is_met_where_others_were_known() -> None:
    met = observation("Tea.", 1, subjects=(KLAUS, ISABELLA, "agent:zoe", "npc:x"))
    before = [observation("Tea.", 1, subjects=(KLAUS, MARIA))]
    assert noticed(met, before=before) == ("I met Isabella Rodriguez and zoe for the first time.", (1,))
    assert "first time" not in noticed(met, before=()).text, "nobody was known before"
    plan = Entry(type="plan", text="Meet.", minute=1, subjects=(KLAUS, ISABELLA))
    assert "Isabella" in noticed(met, before=[*before, plan]).text, "who is only planned to be met is not known"
    told = noticed(met, before=before, summary="Isabella Rodriguez runs a café.")
    assert told.text == "I met zoe for the first time.", "who stands in the long-term summary is known"


def test_the_most_important_event_is_told_in_the_first_person() -> None:
    mill = observation("The old mill burned down.", 5, importance=7)
    ship = observation("A ship sank today at sea.", 1_000, importance=8)
    assert noticed(mill, ship) == ("A ship sank on day 1 at sea. The old mill burned down.", (1, 2))
    assert noticed(mill).text == "The old mill burned down."
    trivial = observation("The old mill burned down.", 5, importance=3)
    assert "mill" not in noticed(trivial).text
    assert "mill" not in noticed(mill, before=[*KNOWN, mill]).text, "it was known"


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("Klaus Mueller is talking to himself, for want of company", "I was talking to myself, for want of company."),
        ("Klaus Mueller asked the neighbours for help", "I asked the neighbours for help."),
        ("Maria Lopez gave Klaus Mueller her hat", "Maria Lopez gave me her hat."),
        ("Klaus Mueller's lamp went out", "My lamp went out."),
        ("Waited for the ferry in vain", "I waited for the ferry in vain."),
        ("The guests were Klaus Mueller, Maria Lopez", "The guests were Maria Lopez."),
    ],
)
def test_what_was_seen_is_told_as_the_owner_would(seen: str, told: str) -> None:
    assert noticed(observation(seen, 5, importance=8)).text == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I sold the old mill. Where is it?", "Maria Lopez sold the old mill."),
        ("The baker sold your bicycle.", "Maria Lopez reported that the baker sold my bicycle."),
        ("You sing like a bird in spring.", "Maria Lopez said that I sing like a bird in spring."),
        ("I do not think we have talked before. I am Maria Lopez, I work as a baker.", "Maria Lopez works as a baker."),
        ("Keep the key of the garden.", "Maria Lopez told me to keep the key of the garden."),
    ],
)
def test_what_others_say_is_reported(said: str, told: str) -> None:
    assert noticed(message(said, 5, importance=8)) == (told, (1,))


def test_whoever_is_called_by_name_is_the_one_spoken_to() -> None:
    said = message("Nine silver is what you promised me, Oswin Pike.", 5, importance=8)
    assert noticed(said).text == "Maria Lopez remarked that nine silver is what Oswin Pike promised her."


def test_ones_own_words_are_told_with_whom_they_were_said_to() -> None:
    said = mine("My brother and I argued about your money.", 5, importance=8)
    assert noticed(said).text == "I told Maria Lopez that my brother and I argued about her money."


@pytest.mark.parametrize(
    ("remembered", "told"),
    [
        ("Klaus Mueller voted to wait.", "I voted to wait, but the council voted 4 to 1 to mop the floor."),
        ("Klaus Mueller voted to mop the floor.", "I voted to mop the floor, as the council did, 4 to 1."),
        ("Maria Lopez voted to wait.", "The council voted 4 to 1 to mop the floor."),
    ],
)
def test_a_vote_is_told_from_ones_own_side(remembered: str, told: str) -> None:
    decided = observation("The council voted 4 to 1 to mop the floor.", 5, importance=8)
    assert noticed(observation(remembered, 4), decided).text == told


@pytest.mark.parametrize(
    "said", ["Perhaps they will try that.", "I can imagine.", "Is the mill on fire?", "He did it again.", "Hm, well."]
)
def test_what_others_must_explain_is_not_told(said: str) -> None:
    told = noticed(message(said, 5, importance=8)).text
    assert told == "Today I spent time at cafe. I interacted with Maria Lopez."


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("Two classes had to share one room.", "I was at Oak Library when two classes had to share one room."),
        ("Maria Lopez sold the mill.", "I was at Oak Library when Maria Lopez sold the mill."),
        ("The mill was sold, which is sad.", "I was at Oak Library when the mill was sold, which is sad."),
        ("A lamp was stolen from Oak Library.", "A lamp was stolen from Oak Library."),  # names it already
        ("Old Simon Tull vanished.", "Old Simon Tull vanished."),  # may open with a name
        ("The mill will be sold.", "The mill will be sold."),
        ("The mill is sold.", "The mill is sold."),
        ("A stranger asked me to make a key.", "A stranger asked me to make a key."),  # it says where one was
    ],
)
def test_an_event_that_names_no_place_is_told_with_where_one_was(seen: str, told: str) -> None:
    known = {**WORLD.names, "library": "Oak Library", "inn": "The Inn", "office": "Two Towers"}
    event = observation(seen, 5, importance=8, subjects=(KLAUS,))
    source = Recalled(owner=KLAUS, recent=stream_of(event).live(), before=KNOWN, names=known, minute=1200, repeats={})
    assert find_insight(source).text == told
    thought = msgspec.structs.replace(event, source="internal")
    source = Recalled(owner=KLAUS, recent=stream_of(thought).live(), before=KNOWN, names=known, minute=1200, repeats={})
    assert find_insight(source).text == seen


def test_how_one_introduced_oneself_is_no_news() -> None:
    for said in ("I work as a baker at the mill.", "I live in Mill Lane."):
        assert noticed(mine(said, 5, importance=8)).text.startswith("Today I spent time")
    assert noticed(mine("I work hard to save the mill.", 5, importance=8)).text == (
        "I told Maria Lopez that I work hard to save the mill."
    )


def test_a_promise_is_told_with_whom_it_was_made_to_and_when() -> None:
    given = mine("Of course, I promise: I will mend your gate.", 600)
    assert noticed(given) == ("I still owe Maria Lopez what I promised today: to mend her gate.", (1,))
    taken = message("I'll lend you my ladder while you are away.", 600)
    assert noticed(taken).text == (
        "Maria Lopez has not yet kept the promise made to me today: to lend me her ladder while I am away."
    )
    assert "owe" not in noticed(mine("If it rains, I will mend your gate.", 600)).text
    assert "owe" not in noticed(mine("I will be there for you.", 600)).text


def test_a_promise_of_days_ago_is_told_by_its_age() -> None:
    given, taken = mine("I promise: I will mend your gate.", 600), message("I'll lend you my ladder.", 600)
    for days, told in ((2, "I still owe Maria Lopez what I promised on day 1: to mend her gate."),
                       (3, "I promised Maria Lopez three days ago to mend her gate, and still have not."),
                       (4, "I promised Maria Lopez four days ago to mend her gate, and still have not.")):  # fmt: skip
        assert noticed(given, minute=days * DAY + 600).text == told
    assert noticed(taken, minute=3 * DAY + 600).text == (
        "Maria Lopez promised me three days ago to lend me her ladder, and still has not."
    )


def test_a_promise_kept_is_told_once_and_is_owed_no_more() -> None:
    given = mine("I promise: I will mend your gate.", 600)
    kept = mine("And I kept my word: I mended your gate.", 900)
    told = noticed(given, kept)
    assert told == ("I kept the promise that I had given Maria Lopez: to mend her gate.", (1, 2))
    earlier = Entry(type="reflection", text=told[0], minute=1000)
    assert "promise" not in noticed(given, kept, before=[*KNOWN, earlier]).text


def test_a_promise_kept_is_owed_no_more_even_if_something_else_is_told() -> None:
    told = [mine("I promise: I will mend your gate.", 600), mine("I kept my word: I mended your gate.", 900)]
    events = [observation("The old mill burned down.", 5, importance=10), observation("A ship sank.", 6, importance=10)]
    assert "owe" not in noticed(*told, *events).text
    assert "owe" in noticed(told[0], *events).text


def test_a_promise_broken_comes_between_two() -> None:
    given = message("I promise to bring you the book.", 600)
    forgot = message("Oh no, I forgot. I am so sorry!", 900)
    assert noticed(given, forgot) == (
        "Maria Lopez broke the promise to bring me the book, which has come between us.", (1, 2),
    )  # fmt: skip
    own = noticed(mine("I promise to bring you the book.", 600), message("Did you not promise to bring it?", 900))
    assert own.text.startswith("I let Maria Lopez down: I had promised to bring her the book, and did not.")


def test_with_whom_things_got_better_or_worse_is_told_with_what_shows_it() -> None:
    helped = observation("Maria Lopez helped Klaus Mueller with the boat.", 700, subjects=(KLAUS, MARIA), importance=3)
    told = noticed(helped)
    assert told.text.endswith(": Maria Lopez helped me with the boat.")
    assert "Maria Lopez" in told.text.split(":")[0]
    waited = observation("Waited for Maria Lopez at the mill in vain.", 700, subjects=(KLAUS, MARIA), importance=3)
    assert (
        noticed(waited).text
        == "Things are worse between Maria Lopez and me: I waited for Maria Lopez at the mill in vain."
    )
    beside = observation("A guest praised the apple cake.", 700, subjects=(KLAUS, MARIA), importance=3)
    assert noticed(beside).text == "Today I spent time at library. I interacted with Maria Lopez."
    looked = observation("Saw Maria Lopez engaged in an activity: reading.", 700, subjects=(KLAUS, MARIA))
    assert "between" not in noticed(looked).text


def test_what_is_coming_is_told_until_it_is_over() -> None:
    party = message("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600, importance=7)
    at = "on day 2 at 5:00 PM, as Maria Lopez told me."
    assert noticed(party, minute=1200) == (f"I am to attend the party at Hobbs Cafe {at}", (1,))
    assert "party" in noticed(party, minute=DAY + 17 * 60 - 1).text
    assert "party" not in noticed(party, minute=DAY + 17 * 60).text, "it has begun"
    declined = mine("What a pity, I cannot come.", 601)
    assert "party" not in noticed(party, declined).text


def test_who_holds_something_hosts_it() -> None:
    own = observation("I am holding a party at Hobbs Cafe tomorrow at 5:00 PM.", 600, importance=8)
    assert noticed(own).text == "I am to host the party at Hobbs Cafe on day 2 at 5:00 PM."


def test_what_passes_before_the_reflection_is_due_is_not_told_as_coming() -> None:
    own = observation("I am holding a party at Hobbs Cafe today at 8:30 PM.", 600, importance=8)
    assert "party" in noticed(own, minute=1200, delay=29).text
    assert "party" not in noticed(own, minute=1200, delay=30).text


def test_what_came_of_the_plan_is_told() -> None:
    door = "Repaint the front door"
    assert noticed(plan=[PlanOutcome(description=door, done=False)]).text == (
        "I had planned to repaint the front door, but did not get to it."
    )
    assert noticed(plan=[PlanOutcome(description=f"Take up again: {door}", done=True)]).text == (
        "I found the time to repaint the front door, as I had planned."
    )
    assert noticed(plan=[PlanOutcome(description="Spend time learning to sing", done=True)]).text == (
        "I spent time learning to sing, as I had planned."
    )
    for done in (True, False):
        owed = PlanOutcome(description=f"{KEEP}Maria Lopez: mend her gate", done=done)
        assert noticed(plan=[owed]).text == QUIET, "a plan does not show what came of a promise"
    assert noticed(plan=[PlanOutcome(description=door, done=True, usual=True)]).text == QUIET
    assert noticed(plan=[PlanOutcome(description="Continue working", done=False)]).text == QUIET
    for meal in ("Have lunch at Hobbs Cafe", "Take a break for dinner"):
        assert noticed(plan=[PlanOutcome(description=meal, done=True)]).text == QUIET, "everybody eats"
    both = [PlanOutcome(description=door, done=False), PlanOutcome(description="Feed the hens", done=False)]
    assert noticed(plan=both).text.count("did not get to it") == 1


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Maria Lopez and I share the home at 1 Mill Lane.", False),
        ("Maria Lopez, the baker, is an old friend of mine.", False),
        ("I am the mayor.", False),
        ("I am the mayor now.", True),
        ("The lamp is broken.", True),
        ("Maria Lopez has left me, and she is a liar.", True),
    ],
)
def test_what_one_knows_all_along_is_no_event(known: str, told: bool) -> None:
    assert (noticed(observation(known, 5, importance=6, source="internal")).text == known) is told
    assert noticed(observation(known, 5, importance=6)).text == known, "what is perceived is news"


def test_what_is_seen_at_the_place_is_not_told_when_it_is_over() -> None:
    supper = observation("A supper has begun; here are Maria Lopez, Ben.", 5, importance=9)
    mill = observation("The old mill burned down.", 6, importance=8)
    assert noticed(supper, mill).text == "The old mill burned down."


def test_what_happens_again_and_again_is_told_by_its_number() -> None:
    rattles = observation("The centrifuge rattles.", 5, importance=2)
    assert noticed(rattles, repeats={1: 2}) == ("I noticed it three times: the centrifuge rattles.", (1,))
    ducks = observation("Saw Maria feeding ducks.", 5, importance=2)
    assert noticed(ducks, repeats={1: 4}).text == "I often saw Maria feeding ducks."
    sang = observation("Sang in the choir.", 5, importance=2)
    assert noticed(sang, repeats={1: 4}).text == "I sang in the choir, five times."
    assert "times" not in noticed(rattles, repeats={1: 1}).text
    assert "times" not in noticed(observation("The centrifuge rattles.", 5, importance=1), repeats={1: 9}).text


def test_it_is_one_sentence_of_what_changed_and_one_of_what_is_ahead() -> None:
    mill = observation("The old mill burned down.", 5, importance=9)
    door = PlanOutcome(description="Repaint the door", done=False)
    given = mine("I promise: I will mend your gate.", 600)
    assert noticed(mill, given, plan=[door]).text == (
        "The old mill burned down. I still owe Maria Lopez what I promised today: to mend her gate."
    )


def test_an_insight_is_bounded_in_length_and_evidence() -> None:
    assert len(noticed(*[observation("Tea.", n, location="x", importance=1) for n in range(25)]).evidence) == 20
    people = [observation("Tea.", n, subjects=(f"agent:{'x' * 300}{n}",)) for n in range(4)]
    assert len(noticed(*people).text) <= LONGEST + 1
    told = noticed(observation("The mill " * 60, 5, importance=8)).text
    assert len(told) <= LONGEST + 1
    assert told.endswith("…")


def test_only_people_are_talked_with() -> None:
    """A line of dialogue may name the place that it was said at."""
    lines = [message("Hm.", at, subjects=(MARIA, KLAUS, "location:cafe"), importance=1) for at in (600, 700)]
    assert noticed(*lines) == ("Maria Lopez and I talked more than once.", (1, 2))
    alone = [message("Hm.", at, subjects=(KLAUS, "location:cafe"), importance=1) for at in (600, 700)]
    assert "more than once" not in noticed(*alone).text


def test_whoever_only_overhears_a_talk_did_not_talk() -> None:
    overheard = [message("Hm.", at, speaker=MARIA, hearer=ISABELLA, importance=1) for at in (600, 700)]
    assert "talked" not in noticed(*overheard).text
    assert "talked" not in noticed(*overheard, before=overheard).text


def test_on_how_many_days_one_talked_with_somebody_is_told_from_the_third_on() -> None:
    def met(*days: int) -> str:
        before = [message("Hm.", day * 1440 + 600, importance=1) for day in days[:-1]]
        return noticed(message("Hm.", days[-1] * 1440 + 600, importance=1), before=before, minute=20_000).text

    assert "different days" not in met(0, 1)
    assert met(0, 1, 2) == "I have talked with Maria Lopez on three different days by now."
    assert met(*range(10)) == "I have talked with Maria Lopez on ten different days by now."
    assert met(*range(11)) == "I have talked with Maria Lopez on 11 different days by now."
