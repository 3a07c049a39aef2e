"""An insight without a model: what it tells, in which words, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from memory.entry import Entry
from tasks.insight import EVIDENCE, LONGEST, QUIET, Insight, find_insight
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA, WORLD, message, observation, stream_of

BEFORE = [observation("Tea.", 1, subjects=(KLAUS, MARIA))]


def noticed(
    *recent: Entry, before: Sequence[Entry] = (), repeats: Mapping[int, int] | None = None, owner: str = KLAUS
) -> Insight:
    by_importance = sorted(stream_of(*recent).live(), key=lambda e: (-e.importance, e.number))
    return find_insight(owner, by_importance, before, WORLD.names, repeats)


def test_where_nothing_is_notable_it_says_where_and_with_whom() -> None:
    assert noticed() == (QUIET, ())
    assert noticed(observation("Tea.", 1), observation("Cake.", 2, location="cafe", subjects=(KLAUS, MARIA))) == (
        "Today I spent time at library and cafe. I interacted with Maria Lopez.", (1, 2),
    )  # fmt: skip
    assert noticed(observation("Tea.", 1, location="", subjects=(MARIA,))) == ("I interacted with Maria Lopez.", (1,))
    assert noticed(observation("Tea.", 1, location="", subjects=())) == (QUIET, ())
    four = [observation(f"x{n} y{n} z{n}.", n, location=f"p{n}", subjects=(f"s:{n}",)) for n in range(4)]
    assert noticed(*four).text == "Today I spent time at p0, p1 and p2. I interacted with 0, 1 and 2."


def test_who_is_new_is_met_where_others_were_known() -> None:
    met = observation("Met.", 1, subjects=(KLAUS, ISABELLA, "agent:zoe", "npc:x"))
    assert noticed(met, before=BEFORE) == ("I met Isabella Rodriguez and zoe for the first time.", (1,))
    assert "first time" not in noticed(met).text, "nobody was known before"
    plan = Entry(type="plan", text="Meet.", minute=1, subjects=(KLAUS, ISABELLA))
    assert noticed(met, before=[*BEFORE, plan]).text == "I met Isabella Rodriguez and zoe for the first time."
    many = [observation(f"x{n} y{n} z{n}.", n, subjects=(f"agent:{n}",)) for n in range(5)]
    assert noticed(*many, before=BEFORE) == ("I met 0, 1, 2 and 3 for the first time.", (1, 2, 3, 4))


def test_who_was_there_three_times_was_much_of_the_time() -> None:
    seen = [observation(f"Tea {n}.", n, subjects=(KLAUS, MARIA)) for n in range(4)]
    assert noticed(*seen, before=BEFORE) == ("I spent much of my time with Maria Lopez.", (1, 2, 3))
    assert "much of my time" not in noticed(*seen[:2], before=BEFORE).text
    summary = Entry(type="summary", text="Tea.", minute=1, subjects=(KLAUS, MARIA), evidence=(1, 2, 3))
    assert noticed(summary, before=BEFORE).text == "I spent much of my time with Maria Lopez."
    assert "much" not in noticed(Entry(type="summary", text="Tea.", minute=1, subjects=(MARIA,)), before=BEFORE).text


def test_the_two_most_important_events_stand_out() -> None:
    mill = observation("The old mill burned down.", 5, importance=7)
    ship = observation("A ship sank at sea today.", 1_445, importance=8)
    king = observation("Third thing of note here.", 7, importance=9)
    assert noticed(mill, ship, king) == (
        "What stays with me: Third thing of note here. And also: A ship sank at sea on day 2.", (2, 3),
    )  # fmt: skip
    assert noticed(mill).text == "What stays with me: The old mill burned down."
    assert "stays" not in noticed(observation("The old mill burned down.", 5, importance=6)).text
    again = observation("The old mill burned down again.", 6, importance=7)
    assert noticed(mill, again).text == "What stays with me: The old mill burned down."


def test_what_others_say_stays_without_their_questions_and_ones_own_words_do_not() -> None:
    sold = message("I sold the old mill. Where?", 5, importance=8)
    own = message("My own words here.", 6, speaker=KLAUS, hearer=MARIA, importance=9)
    assert noticed(sold, own) == ("What Maria Lopez said stays with me: “I sold the old mill.”", (1,))
    other = message("We found gold yesterday!", 1_450, speaker=ISABELLA, importance=7)
    assert noticed(sold, other).text == (
        "What Maria Lopez said stays with me: “I sold the old mill.” "
        "What Isabella Rodriguez said also stays with me: “We found gold on day 1!”"
    )
    assert "stays" not in noticed(message("Where is the mill?", 5, importance=8)).text


def test_promises_are_kept_in_mind_unless_they_are_refused_or_short() -> None:
    tools = observation("Klaus promised Maria to bring the tools.", 5)
    ladder = message("I will bring you the ladder tomorrow.", 5)
    for nothing in (
        "I will never bring you the ladder.",
        "I will bring the ladder.",
        "Will you promise me the old ladder?",
    ):
        assert "mind" not in noticed(message(nothing, 5)).text
    assert noticed(tools, ladder) == (
        "I should keep in mind what Maria Lopez said: “I will bring you the ladder on day 2.” "
        "Nor should I forget: Klaus promised Maria to bring the tools.", (1, 2),
    )  # fmt: skip
    assert noticed(message("I will bring the old ladder.", 5)).text.startswith("I should keep in mind")


def test_what_happens_again_and_again_is_told_once() -> None:
    ducks = [observation(text, n) for n, text in enumerate(("Saw Maria feeding ducks.", "saw  maria feeding ducks."))]
    assert noticed(*ducks, repeats={1: 1}) == ("Again and again (3 times) I saw Maria feeding ducks.", (1, 2))
    assert "Again" not in noticed(*ducks).text
    reading = observation("Klaus Mueller is reading his book.", 5)
    assert noticed(reading, repeats={1: 2}) == ("Again and again (3 times) I was reading my book.", (1,))
    assert "Again" not in noticed(reading, repeats={1: 1}).text
    assert noticed(observation("Tea was cold.", 5, importance=2), repeats={1: 9}).text == (
        "Again and again (10 times): Tea was cold."
    )
    assert "Again" not in noticed(observation("Tea was cold.", 5, importance=1), repeats={1: 9}).text
    assert "Again" not in noticed(message("Tea was cold.", 5), repeats={1: 9}).text


def test_of_what_is_repeated_the_most_important_then_the_most_frequent_is_told() -> None:
    tea, cake = observation("Tea was cold.", 5), observation("Cake got burned.", 6)
    assert "cold" in noticed(tea, cake, repeats={1: 3, 2: 2}).text
    assert "burned" in noticed(tea, cake, repeats={1: 2, 2: 3}).text
    assert "cold" in noticed(tea, cake, repeats={1: 2, 2: 2}).text, "the older"
    dear = observation("Cake got burned.", 6, importance=4)
    assert "burned" in noticed(tea, dear, repeats={1: 9, 2: 2}).text
    six = [observation("Tea was cold.", n) for n in range(6)]
    assert noticed(*six).evidence == (1, 2, 3, 4, 5)


def test_places_out_of_the_routine_are_told_in_the_order_of_the_visits() -> None:
    seen = [observation(f"x{n} y{n} z{n}.", n, location=place)
            for n, place in enumerate(("dorm", "cafe", "library", "p1", "p2", "cafe"))]  # fmt: skip
    assert noticed(*seen, before=BEFORE) == ("It was out of my routine to be at dorm, cafe and p1.", (1, 2, 4))
    assert "routine" not in noticed(*seen).text, "no place was usual"
    assert "routine" not in noticed(seen[2], before=BEFORE).text


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("Klaus Mueller is talking to himself", "I was talking to myself."),
        ("Klaus Mueller was giving him her hat", "I was giving me my hat."),
        ("Klaus Mueller is giving Ann her hat", "I was giving Ann her hat."),
        ("Klaus Mueller is conversing about tea", "I talked about tea."),
        ("Ann is conversing about conversing about tea", "Ann talked about tea."),
        ("Ann engaged in an activity: tea,", "Ann tea."),
        ("What a day…", "What a day…"),
    ],
)
def test_what_was_seen_is_told_as_the_owner_would(seen: str, told: str) -> None:
    assert noticed(observation(seen, 5, importance=8)).text == f"What stays with me: {told}"


def test_a_long_event_is_cut_at_a_word() -> None:
    told = noticed(observation("mill " * 60, 5, importance=8)).text
    assert told == "What stays with me: " + "mill " * 47 + "mill…"
    assert noticed(observation("x" * 240, 5, importance=8)).text == f"What stays with me: {'x' * 240}."


def test_an_insight_is_bounded_in_length_and_evidence() -> None:
    seen = [observation("Tea.", n, location="", subjects=(MARIA,), importance=1) for n in range(1, 26)]
    spent = noticed(*seen[:2])
    assert spent.evidence == (1, 2)
    assert len(noticed(*[observation("Tea.", n, location="x", importance=1) for n in range(25)]).evidence) == EVIDENCE
    assert noticed(*[observation("Tea.", n, location="x", importance=1) for n in range(25)]).evidence[0] == 6
    people = [observation("Tea.", n, subjects=(f"agent:{'x' * 300}{n}",)) for n in range(4)]
    assert len(noticed(*people, before=BEFORE).text) <= LONGEST
