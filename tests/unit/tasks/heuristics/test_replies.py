"""What a line of talk and the reply to it settle for the day of a plan."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.tasks.heuristics.replies import settled_in_talk
from tests.unit.tasks.kind_cases import KLAUS, MARIA, message, stream_of
from tests.unit.tasks.plan.plan_case import MORNING, made

NAMES = {KLAUS: "Klaus Mueller", MARIA: "Maria Lopez"}


def talk(*lines: str, first: str = MARIA) -> list[Entry]:
    """Two who speak in turn, `first` first, a minute apart."""
    pair = (first, KLAUS if first == MARIA else MARIA)
    return [message(text, 600 + at, speaker=pair[at % 2], hearer=pair[1 - at % 2]) for at, text in enumerate(lines)]


def settled(
    *lines: str, first: str = MARIA, day: int = 1, owner: str = KLAUS
) -> tuple[list[tuple[int, str]], list[str]]:
    """Return what was settled at an hour, in minutes after midnight, and at none."""
    found = settled_in_talk(owner, stream_of(*talk(*lines, first=first)).live(), NAMES, day * DAY + MORNING)
    return [(a.minute - day * DAY, a.what) for a in found.timed], [a.what for a in found.untimed]


@pytest.mark.parametrize(
    ("question", "reply", "what"),
    [
        (
            "Can you bring the roll tomorrow?",
            "I'll bring it before I leave.",
            'Maria Lopez asked: "Can you bring the roll on day 2?" I\'ll bring it before I leave',
        ),
        (
            "¿Me traes mañana el rol?",
            "Te lo llevo antes de salir.",
            "Maria Lopez: «¿Me traes el día 2 el rol?» Te lo llevo antes de salir",
        ),
    ],
)
def test_a_reply_to_a_question_that_names_a_day_is_for_that_day(question: str, reply: str, what: str) -> None:
    assert settled(question, reply) == ([], [what])
    assert settled(question, reply, day=2) == ([], [])
    assert settled(question, reply, owner=MARIA) == ([], []), "who asks has nothing to do"
    assert settled(question, reply, first=KLAUS) == ([], [])


def test_a_reply_that_names_the_day_and_the_hour_is_told_with_its_question() -> None:
    asked = settled("¿Llevas tú el caldo a la familia?", "Sí, lo llevo yo mañana a las doce.")
    assert asked == (
        [(720, "Maria Lopez: «¿Llevas tú el caldo a la familia?» Sí, lo llevo yo el día 2 a las doce")],
        [],
    )
    assert settled("¿Llevas tú el caldo?", "Sí, lo llevo yo mañana a las doce.", owner=MARIA) == ([], []), "his to do"


def test_the_hour_may_stand_in_the_next_sentence_or_line() -> None:
    lines = ("Quiero ir mañana a la isla.", "Iremos. A las siete en el muelle.")
    assert settled(*lines) == (
        [(420, "Maria Lopez: «Quiero ir el día 2 a la isla.» Iremos. A las siete en el muelle")],
        [],
    )
    assert settled(*lines, owner=MARIA) == (
        [(420, "Quiero ir el día 2 a la isla. Klaus Mueller: «Iremos. A las siete en el muelle.»")],
        [],
    )
    alone = settled("明日一緒に暗幕を買いに行かない？十時に駅前で。", first=KLAUS)
    assert alone == ([(600, "2日目一緒に暗幕を買いに行かない？十時に駅前で")], [])


@pytest.mark.parametrize(
    "lines",
    [
        ("¿Me traes mañana el rol?", "No puedo."),
        ("¿Me traes mañana el rol?", "¿Qué rol?"),
        ("Can you bring the roll tomorrow?", "I can't."),
        ("Mañana llueve.", "Gracias."),
        ("明日一緒に行かない？十時に駅前で。", "行けない。"),
    ],
)
def test_what_is_refused_asked_back_or_no_question_settles_nothing(lines: tuple[str, ...]) -> None:
    assert settled(*lines) == ([], [])


def test_a_plan_holds_what_a_talk_settled_until_it_is_called_off() -> None:
    agreed = talk("Quiero ir mañana a la isla.", "Iremos. A las siete en el muelle.")

    def items(*entries: Entry) -> list[str]:
        plan = made(stream_of(*entries), DAY + MORNING, profile=Profile(name="Klaus Mueller"))
        return [item.description for item in plan.items]

    assert items(*agreed) == ["Maria Lopez: «Quiero ir el día 2 a la isla.» Iremos. A las siete en el muelle"]
    off = message("No iremos a la isla, se cancela.", 900)
    assert not any("isla" in item for item in items(*agreed, off))


def test_a_reply_is_planned_once() -> None:
    lines = talk("Could you look in the laundry tomorrow?", "I'll look in the laundry tomorrow.")
    plan = made(stream_of(*lines), DAY + MORNING, profile=Profile(name="Klaus Mueller"))
    assert [item.description for item in plan.items] == [
        'Maria Lopez asked: "Could you look in the laundry on day 2?" I\'ll look in the laundry on day 2'
    ]


def test_a_habit_does_not_give_way_to_an_appointment_that_shares_its_function_words() -> None:
    asked = talk("¿Llevas tú el caldo a la familia de Ramón?", "Sí, lo llevo yo mañana a las doce.")
    profile = Profile(name="Klaus Mueller", routine=("07:00 abrir la lonja", "16:30 subasta de la tarde"))
    plan = made(stream_of(*asked), DAY + MORNING, profile=profile)
    assert [item.minute for item in plan.items] == [DAY + minute for minute in (420, 720, 990)]
