"""Pressing matters: important, recent, in no plan, and settled by no later entry."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.effects import MarkAccessed
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.language.languages import languages_of
from cogitate.memory.profile import Location, Profile
from cogitate.tasks.heuristics.pressing import find_pressing, quote
from cogitate.tasks.kind import WorldFacts
from tests.unit.tasks.kind_cases import KLAUS, MARIA, WORLD, case_of, message, observation, stream_of
from tests.unit.tasks.plan.plan_case import KIND, MORNING, made

BUSY = Profile(name="R7", routine="9:00 polish the hull")
OXYGEN = "Oxygen in module B fell below 18 percent."
NOW = DAY + MORNING


def seen_to(*entries: Entry, **given: Any) -> list[str]:
    """What an agent of which nothing else is known sees to."""
    given = {"profile": Profile(name="R7"), "world": WorldFacts()} | given
    items = made(stream_of(*entries), NOW, **given).items
    found = [item.description.partition(mark) for item in items for mark in (": ", "：") if mark in item.description]
    return [what for opening, _, what in found if opening in ("Needs attention", "待处理")]


def seen(text: str, minute: int = NOW - 60, importance: int = 8, **fields: Any) -> Entry:
    return observation(text, minute, importance=importance, location="", **fields)


def test_the_most_important_observations_of_the_last_day_are_quoted() -> None:
    assert seen_to(seen(OXYGEN)) == [OXYGEN.rstrip(".")]
    assert seen_to(seen("A mouse ran by.", importance=6), profile=BUSY) == []
    assert seen_to(seen(OXYGEN, minute=NOW - DAY)) == []
    assert seen_to(seen("The hull leaks.", importance=7), seen("Fire on deck 2!", importance=9), seen(OXYGEN)) == [
        "Fire on deck 2",
        OXYGEN.rstrip("."),
    ]
    long = seen_to(seen("The pump of the second loop " + "rattles and " * 20))
    assert len(long[0]) <= 100


def test_a_plan_marks_what_it_quotes_as_used() -> None:
    effects = KIND.heuristic(case_of(KIND, stream_of(seen(OXYGEN)), NOW, profile=Profile(name="R7")))
    assert [effect.numbers for effect in effects if isinstance(effect, MarkAccessed)] == [(1,)]


@pytest.mark.parametrize(
    "later",
    [
        seen("Oxygen in module B is back at 21 percent.", NOW - 30, importance=3),
        seen("The oxygen of module B rose to 20 percent again.", NOW - 30, importance=3),
    ],
)
def test_a_later_observation_settles_a_matter(later: Entry) -> None:
    assert seen_to(seen(OXYGEN), later) == []


@pytest.mark.parametrize(
    ("later", "presses"),
    [
        ("Repaired the radio mast with Tam.", False),
        ("The radio mast is repaired.", False),
        ("Repaired the roof of the boat house with Tam.", True),
    ],
)
def test_a_repair_settles_only_the_matter_that_names_the_repaired_thing(later: str, presses: bool) -> None:
    mast = "Radio mast: no signal since 07:40."
    assert (mast.rstrip(".") in seen_to(seen(mast), seen(later, NOW - 30, 6))) is presses


def test_the_later_of_two_observations_of_one_matter_presses() -> None:
    assert seen_to(seen(OXYGEN), seen("Oxygen in module B fell below 12 percent.", NOW - 30, importance=9)) == [
        "Oxygen in module B fell below 12 percent"
    ]
    assert seen_to(seen("B舱氧气低于18%。"), seen("B舱氧气低于12%。", NOW - 30)) == ["B舱氧气低于12%"]


def test_a_matter_in_the_last_plan_does_not_press_again() -> None:
    item = PlanItem(id="1-0", description=f"Needs attention: {OXYGEN.rstrip('.')}", minute=NOW - 50)
    plan = Entry(type="plan", text="Plan.", minute=NOW - 55, valid_until=NOW, items=(item,))
    assert seen_to(seen(OXYGEN), plan) == []
    assert seen_to(seen(OXYGEN), plan, params={"unfinished": [{"description": item.description}]}) == []


def test_talk_thoughts_appointments_and_promises_do_not_press() -> None:
    assert seen_to(message(OXYGEN, NOW - 60, importance=9), profile=BUSY) == []
    assert (
        seen_to(seen("Is the oxygen low?", source="dialogue"), seen("I fear for the oxygen.", source="internal")) == []
    )
    assert seen_to(seen('Maria Lopez said to me: "The oxygen is low."', subjects=(MARIA,))) == []
    invited = seen("Maria Lopez invited me to a party at Hobbs Cafe on day 2 at 5:00 PM.", subjects=(MARIA,))
    assert seen_to(invited, world=WORLD) == []
    promised = seen("I promised Maria Lopez to mend the gate.", subjects=(KLAUS, MARIA))
    assert seen_to(promised, world=WORLD) == []


@pytest.mark.parametrize(
    ("text", "seen_as"),
    [
        ("R7 sealed the oxygen line.", []),
        ("R7 found a crack in the hull.", ["R7 found a crack in the hull"]),
        ("Unit 7 cracked the oxygen line.", ["Unit 7 cracked the oxygen line"]),
    ],
)
def test_a_deed_of_the_owner_does_not_press_but_its_finding_does(text: str, seen_as: list[str]) -> None:
    assert seen_to(seen(text)) == seen_as


@pytest.mark.parametrize(
    "text",
    [
        "The station won the prize for safety.",
        "R7 was named robot of the year.",
        "The ship came home to port.",
        "Nobody was hurt when the ship docked.",
        "The fever is over: nobody new has fallen ill.",
        "There is no leak.",
        "Il Comune ha approvato i soldi per il tetto nuovo.",
        "Le barrage est de nouveau plein.",
        "Wnuk zdał maturę.",
        "길드가 서버 순위 3위에 올랐다.",
        "成绩公布了，她得了第一名。",
        "Mr Achebe took a clot out of Mrs Hale's leg.",
        "The lab rang: the potassium is down to 4.8.",
        "Dario recita la scena senza un errore.",
        "Die Probe lief ohne Fehler.",
        "La escena salió sin fallos.",
    ],
)
def test_news_that_needs_nothing_from_anybody_does_not_press(text: str) -> None:
    assert seen_to(seen(text, importance=9)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Two pens of insulin are missing.",
        "The insulin has not come.",
        "We have no linen left.",
        "Il forno non si accende.",
        "Ho perso le chiavi della sezione.",
        "Une fuite d'eau a inondé les archives.",
        "Ogrzewanie w wagonie piątym nie działa.",
        "약초가 다 떨어졌다.",
        "仓库里的面粉只剩三袋。",
    ],
)
def test_a_defect_or_a_shortage_presses_in_any_language(text: str) -> None:
    assert [e.text for e in find_pressing("R7", [seen(text, importance=4)], {}, (), NOW)] == [text]
    assert find_pressing("R7", [seen(text, importance=3)], {}, (), NOW) == []


@pytest.mark.parametrize(
    ("trouble", "sequel"),
    [
        (
            "The launch Petrel took a rope round her broken propeller.",
            "A diver freed the broken propeller of the Petrel.",
        ),
        ("Volk vier hat seine Königin verloren.", "Ein Nachbar fand die verlorene Königin von Volk vier."),
        ("Un niño se perdió en el patio.", "Encontraron al niño perdido."),
        ("Il semaforo tre è guasto.", "Il tecnico ha dato un'occhiata ai semafori guasti."),
        ("The pump leaks.", "Ada Moss screwed the leaking pump tight."),
    ],
)
def test_a_later_report_of_help_settles_a_matter(trouble: str, sequel: str) -> None:
    def pressing(*entries: Entry) -> list[str]:
        return [
            e.text
            for e in find_pressing("R7", stream_of(*entries).live(), {}, (), NOW, language=languages_of(sequel)[0])
        ]

    assert pressing(seen(trouble)) == [trouble]
    assert pressing(seen(trouble), seen(sequel, NOW - 30)) == []


def test_only_a_shared_topic_word_settles_a_matter_not_a_place_or_another_word() -> None:
    cafe = WorldFacts(locations=(Location(id="cafe", name="Hobbs Cafe", type="cafe"),))
    burst = "A pipe burst behind the kitchen wall of Hobbs Cafe."
    for later, presses in (
        ("The plumber closed the pipe.", False),
        ("Maria Lopez sang in Hobbs Cafe.", True),
        ("The balloon is about to burst into song.", True),
    ):
        assert (seen_to(seen(burst, NOW - 90), seen(later, NOW - 30, 5), world=cafe) == [burst[:-1]]) is presses, later
        assert seen_to(seen(burst, NOW - 90), seen(later, NOW - 30, 3), world=cafe) != [], "what hardly matters"


def test_a_misfortune_of_another_presses_and_a_find_does_not() -> None:
    for text in ("Sam Reed broke his leg.", "Sam Reed has lost the key.", "Jonas Ahl hat den Schlüssel verloren."):
        assert [e.text for e in find_pressing("R7", [seen(text)], {}, (), NOW)] == [text]
    assert find_pressing("R7", [seen("Sam Reed found the missing key.")], {}, (), NOW) == []


def test_news_of_the_same_subject_without_trouble_settles_a_matter() -> None:
    assert seen_to(seen("The hull of the ship is full of worm."), seen("The hull was scraped.", NOW - 30, 5)) == []
    assert seen_to(seen("The hull of the ship is full of worm."), seen("The hull leaks.", NOW - 30, 3)) != []
    alarm, plugged = (
        "The pump of bed 9 gave an alarm: battery at 8 percent.",
        "Peter Lind plugged the pump of bed 9 into the mains.",
    )
    assert seen_to(seen(alarm), seen(plugged, NOW - 30, 4), profile=Profile(name="Peter Lind")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Fire on deck 2! The pump is repaired.",
        "The pump is repaired. Fire on deck 2!",
        "The pump was repaired badly and burst.",
        "Nadie ha reparado la bomba.",
        "Niemand hat die Pumpe repariert.",
    ],
)
def test_an_incomplete_or_denied_repair_is_planned(text: str) -> None:
    plan = made(stream_of(seen(text, importance=9)), NOW, profile=Profile(name="R7"), world=WorldFacts())
    assert any(text[:-1] in item.description for item in plan.items)


@pytest.mark.parametrize(
    ("broke", "mended", "not_yet"),
    [
        ("The wheel of the big cart broke.", "The wheel of the big cart is repaired.", "The wheel must be repaired."),
        ("Se rompió la rueda del carro.", "Reparé la rueda del carro.", "La rueda del carro no está reparada."),
        ("Das Rad des Karrens ist gebrochen.", "Ich habe das Rad repariert.", "Das Rad muss repariert werden."),
        ("La roue est cassée.", "La roue est réparée.", "La roue n'est pas réparée."),
        ("Колесо сломалось.", "Я починил колесо.", "Колесо ещё не починили."),
        ("انكسرت عجلة العربة الكبيرة.", "أصلحت عجلة العربة الكبيرة.", "لم يتم إصلاح العجلة."),
        ("荷車の車輪が壊れた。", "私は荷車の車輪を直した。", "荷車の車輪はまだ直っていない。"),
        ("车轮坏了。", "我把车轮修好了。", "车轮还没修好。"),
    ],
)
def test_a_report_of_a_completed_repair_does_not_press(broke: str, mended: str, not_yet: str) -> None:
    def pressing(*entries: Entry) -> list[str]:
        return [e.text for e in find_pressing("R7", stream_of(*entries).live(), {}, (), NOW)]

    assert pressing(seen(broke)) == [broke]
    assert pressing(seen(mended)) == []
    assert pressing(seen(not_yet)) == [not_yet]


def test_another_is_quoted_in_the_language_of_the_plan() -> None:
    said = message("Quedan 12 kilos.", NOW - 60, importance=6)
    assert quote(said, {MARIA: "Ada"}, "es") == "Ada: «Quedan 12 kilos.»"


def test_an_owner_may_be_called_by_its_first_name_but_not_by_an_article() -> None:
    assert seen_to(seen("Rosa put the fire out."), profile=Profile(name="Rosa Marsh")) == []
    assert seen_to(seen("The pump put the fire out."), profile=Profile(name="The guard")) == [
        "The pump put the fire out"
    ]


WALL = "A crack of two metres opened in the north wall of the dam."


@pytest.mark.parametrize(
    ("later", "presses"),
    [
        (message("The north wall is tight. It cost us a night.", NOW - 20), False),
        (message("The north wall is tight?", NOW - 20), True),
        (message("I need eighty sandbags at the north wall.", NOW - 20), False),
        (message("The north wall is watched.", NOW - 90), False),
        (message("The north gate is painted green.", NOW - 20), True),
    ],
)
def test_a_statement_in_talk_about_a_matter_settles_it(later: Entry, presses: bool) -> None:
    assert (seen_to(seen(WALL, NOW - 100), later) == [WALL.rstrip(".")]) is presses


def test_a_deed_of_the_owner_settles_a_matter_by_one_shared_word() -> None:
    def left(deed: str) -> bool:
        return bool(seen_to(seen(WALL, NOW - 100), seen(deed, NOW - 50, 4), profile=Profile(name="Wall Ward")))

    assert not left("I closed the crack with forty bags.")
    assert left("Tam closed the door with forty bags.")
    assert left("Wall Ward had soup."), "its name is no word of the matter"


def test_a_second_matter_must_be_grave() -> None:
    fire = seen("Fire on deck 2!", importance=9)
    assert len(seen_to(fire, seen(OXYGEN, importance=6))) == 1
    assert len(seen_to(fire, seen(OXYGEN, importance=7))) == 2


def test_without_words_for_trouble_only_a_grave_matter_without_a_sequel_presses() -> None:
    def pressing(*entries: Entry) -> list[str]:
        return [e.text for e in find_pressing("R7", stream_of(*entries).live(), {}, (), NOW, language="sv")]

    cold = "Pannan slocknade under natten och det var elva grader i sovsalen."
    tea = "Alla satt i köket och drack te."
    assert pressing(seen(cold), seen(tea, importance=6)) == [cold]
    assert pressing(seen(cold, NOW - 90), seen("Pannan är varm igen.", NOW - 30, 4)) == []
    assert pressing(seen(cold, NOW - 90), seen("I sovsalen var det tjugo grader.", NOW - 30, 4)) == []
