"""Agreements of two in two lines: what a plan takes from a proposal and its reply."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.tasks.heuristics.plans.agreements import Agreed, find_agreed
from cogitate.tasks.heuristics.reading import TIMED
from tests.unit.tasks.kind_cases import KLAUS, MARIA, message, stream_of
from tests.unit.tasks.plan.plan_case import MORNING, made

NAMES = {"agent:a": "Ada", "agent:b": "Bo"}
EVENING = 18 * 60


def _talk(*lines: tuple[str, str], at: int = EVENING) -> list[Entry]:
    return [
        Entry(
            type="message",
            text=f"{NAMES[f'agent:{who}']}: {text}",
            minute=at + 5 * number,
            number=number + 1,
            subjects=("agent:a", "agent:b"),
        )
        for number, (who, text) in enumerate(lines)
    ]


def _agreed(owner: str, entries: Sequence[Entry], start: int = DAY + 6 * 60) -> Agreed:
    end = start // DAY * DAY + DAY
    told = [entry for entry in TIMED.of(entries, owner, NAMES) if entry is not None]
    appointed = appointments(told, (), start, end)
    return find_agreed(owner, entries, NAMES, (), appointed, told, (start, end))


def _items(owner: str, *lines: tuple[str, str]) -> list[str]:
    found = _agreed(owner, _talk(*lines))
    timed = [f"{item.minute % DAY // 60:02}:{item.minute % 60:02} {item.what}" for item in found.timed]
    return [*timed, *(item.what for item in found.untimed)]


@pytest.mark.parametrize(
    ("asks", "answers", "hers", "his"),
    [
        (
            "I want to take the boat out tomorrow and look for Ramon.",
            "We will. At seven at the pier.",
            "07:00 I want to take the boat out on day 2 and look for Ramon – Bo: At seven at the pier",
            "07:00 Ada: I want to take the boat out on day 2 and look for Ramon – At seven at the pier",
        ),
        (
            "¿Me traes mañana el rol de la tripulación? Me falta el tuyo.",
            "Te lo llevo por la mañana, antes de salir.",
            "",
            "Ada: ¿Me traes el día 2 el rol de la tripulación? – Te lo llevo por la mañana, antes de salir",
        ),
        (
            "明日一緒に暗幕を買いに行かない？十時に駅前で。",
            "いいよ、十時ね。",
            "10:00 2日目一緒に暗幕を買いに行かない？十時に駅前で（Bo）",
            "10:00 Ada：2日目一緒に暗幕を買いに行かない？十時に駅前で",
        ),
        (
            "On se retrouve demain à 10 h pour les graines ?",
            "Plutôt à 11 h, d'accord, les graines.",
            "11:00 On se retrouve le jour 2 à 10 h pour les graines ? – Bo\xa0: Plutôt à 11 h, d'accord, les graines",
            "11:00 Ada\xa0: On se retrouve le jour 2 à 10 h pour les graines ? – Plutôt à 11 h, d'accord, les graines",
        ),
        (
            "Kannst du mir morgen beim Zaun helfen?",
            "Ja, ich komme um zehn Uhr vorbei.",
            "",
            "10:00 Ada: Kannst du mir an Tag 2 beim Zaun helfen? – Ja, ich komme um zehn Uhr vorbei",
        ),
        (
            "Can you bring the roll tomorrow?",
            "I'll bring it before I leave.",
            "",
            "Ada: Can you bring the roll on day 2? – I'll bring it before I leave",
        ),
        (
            "Je t'apporte la soupe demain à 13 h ?",
            "Oui, merci !",
            "13:00 Je t'apporte la soupe le jour 2 à 13 h ? (Bo)",
            "",
        ),
    ],
)
def test_an_agreement_is_planned_with_the_deed_of_the_proposal_by_whose_it_is_to_do(
    asks: str, answers: str, hers: str, his: str
) -> None:
    lines = (("a", asks), ("b", answers))
    assert _items("agent:a", *lines) == [hers][: bool(hers)]
    assert _items("agent:b", *lines) == [his][: bool(his)]


@pytest.mark.parametrize(
    ("asks", "answers"),
    [
        ("Shall we go fishing tomorrow at 7?", "Sorry, I can't, I'm on shift."),
        ("Would you help me with the roof tomorrow at 9 am?", "Let me think about it."),
        ("When does the pharmacy open tomorrow?", "At 9 am, I think."),
        ("¿Me ayudas mañana con el tejado a las nueve?", "Ya veremos, depende de mi padre."),
        ("¿A qué hora abre mañana la farmacia?", "A las nueve, creo."),
        ("On répare le toit ensemble demain à 8 h ?", "Il faut que je réfléchisse."),
        ("Wollen wir morgen um 18 Uhr kochen?", "Leider nicht, ich kann nicht kommen."),
        ("明日の十時に掃除を手伝ってくれる？", "ちょっと考えさせて。"),
        ("明天晚上七点一起吃饭好吗？", "不行，我来不了。"),
        ("Shall we go fishing tomorrow at 7?", "With whom?"),
        ("¿Me traes mañana el rol?", "¿Qué rol?"),
        ("Mañana llueve.", "Gracias."),
    ],
)
def test_a_reply_that_refuses_or_leaves_open_makes_no_agreement(asks: str, answers: str) -> None:
    for owner in NAMES:
        assert _items(owner, ("a", asks), ("b", answers)) == []


def test_a_proposal_that_the_other_refuses_is_no_appointment() -> None:
    asks = ("a", "Morgen um 9 Uhr fahren wir zusammen zum See.")
    assert _items("agent:a", asks) != []
    assert _items("agent:a", asks, ("b", "Leider kann ich nicht.")) == []


def test_an_agreement_is_called_off_by_a_later_line_on_its_deed() -> None:
    lines = [("a", "明日二時に会議の準備をしましょう。"), ("b", "了解です。")]
    assert len(_items("agent:b", *lines)) == 1
    assert _items("agent:b", *lines, ("a", "すみません、会議の準備は中止です。")) == []


def test_an_hour_without_a_day_is_of_the_day_of_the_talk_unless_the_talk_names_another() -> None:
    morning, start = 5 * 60, 6 * 60
    lines = (("a", "Hoy limpio el almacén."), ("b", "Vale. Me paso a las once y te ayudo."))
    found = _agreed("agent:b", _talk(*lines, at=morning), start)
    assert [(item.minute, item.what) for item in found.timed] == [
        (11 * 60, "Ada: El día 1 limpio el almacén – Me paso a las once y te ayudo")
    ]
    party = ("b", "The party is tomorrow.")
    asked = (("a", "Could you bring the balloons?"), ("b", "Sure, I'll be there at 4 pm."))
    assert len(_agreed("agent:b", _talk(*asked, at=morning), start).timed) == 1
    assert not _agreed("agent:b", _talk(party, *asked, at=morning), start).numbers


def test_a_plan_holds_an_agreement_until_it_is_called_off() -> None:
    def items(*lines: tuple[str, str]) -> list[str]:
        who = {"a": (MARIA, KLAUS), "b": (KLAUS, MARIA)}
        said = (
            message(text, 600 + at, speaker=who[one][0], hearer=who[one][1]) for at, (one, text) in enumerate(lines)
        )
        stream = stream_of(*said)
        plan = made(stream, DAY + MORNING, profile=Profile(name="Klaus Mueller"))
        return [item.description for item in plan.items]

    agreed = (("a", "Quiero ir mañana a la isla."), ("b", "Iremos. A las siete en el muelle."))
    assert items(*agreed) == ["Maria Lopez: Quiero ir el día 2 a la isla – A las siete en el muelle"]
    assert not any("isla" in item for item in items(*agreed, ("b", "No iremos a la isla, se cancela.")))


def test_lines_of_two_talks_are_no_exchange() -> None:
    asked, answered = _talk(("a", "Could you bring the ladder tomorrow?"), ("b", "Sure, I will."))
    late = [
        asked,
        Entry(**{f: getattr(answered, f) for f in ("type", "text", "number", "subjects")}, minute=asked.minute + 60),
    ]
    assert _agreed("agent:b", [asked, answered]).untimed
    assert not _agreed("agent:b", late).untimed


def test_an_agreement_replaces_what_its_lines_appoint_alone() -> None:
    lines = (("a", "¿Llevas tú el caldo a la familia de Ramón?"), ("b", "Sí, lo llevo yo mañana al mediodía."))
    assert _items("agent:a", *lines) == []
    assert _items("agent:b", *lines) == [
        "12:00 Ada: ¿Llevas tú el caldo a la familia de Ramón? – Sí, lo llevo yo el día 2 al mediodía"
    ]
