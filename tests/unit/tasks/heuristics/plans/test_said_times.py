"""Appointments made in conversation, and which of them a plan takes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from cogitate.memory.clock import DAY, Clock
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.tasks.heuristics.plans.said_times import SaidTimes, find_said, said_for_rounds
from cogitate.tasks.heuristics.reading import TIMED
from tests.unit.tasks.kind_cases import KLAUS, MARIA, message, stream_of
from tests.unit.tasks.plan.plan_case import MORNING, made

NAMES = {"agent:a": "Ada", "agent:b": "Bo", "agent:c": "Cy", "agent:d": "Dee"}
EVENING = 18 * 60


def _talk(*lines: tuple[str, str], at: int = EVENING, people: str = "ab") -> list[Entry]:
    return [
        Entry(
            type="message",
            text=f"{NAMES[f'agent:{who}']}: {text}",
            minute=at + 5 * number,
            number=number + 1,
            subjects=tuple(f"agent:{one}" for one in people),
        )
        for number, (who, text) in enumerate(lines)
    ]


def _found(owner: str, entries: Sequence[Entry], start: int = DAY + 6 * 60) -> SaidTimes:
    told = [entry for entry in TIMED.of(entries, f"agent:{owner}", NAMES) if entry is not None]
    return find_said(f"agent:{owner}", entries, NAMES, (), told, (start, start // DAY * DAY + DAY))


def _items(owner: str, *lines: tuple[str, str], people: str = "ab") -> list[str]:
    found = _found(owner, _talk(*lines, people=people))
    timed = [f"{item.minute % DAY // 60:02}:{item.minute % 60:02} {item.what}" for item in found.timed]
    due = [f"before {item.minute % DAY // 60:02}:{item.minute % 60:02} {item.what}" for item in found.due]
    return [*timed, *due, *(item.what for item in found.untimed)]


@pytest.mark.parametrize(
    ("first", "second", "hers", "his"),
    [
        (
            "I want to take the boat out tomorrow and look for Ramon.",
            "We will. At seven at the pier.",
            "07:00 I want to take the boat out today and look for Ramon – Bo: At seven at the pier",
            "07:00 Ada: I want to take the boat out today and look for Ramon – At seven at the pier",
        ),
        (
            "¿Me traes mañana el rol de la tripulación? Me falta el tuyo.",
            "Te lo llevo por la mañana, antes de salir.",
            "",
            "Ada: ¿Me traes hoy el rol de la tripulación? – Te lo llevo por la mañana, antes de salir",
        ),
        (
            "明日一緒に暗幕を買いに行かない？十時に駅前で。",
            "いいよ、十時ね。",
            "10:00 今日一緒に暗幕を買いに行かない？十時に駅前で（Boと）",
            "10:00 Ada：今日一緒に暗幕を買いに行かない？十時に駅前で",
        ),
        (
            "On se retrouve demain à 10 h pour les graines ?",
            "Plutôt à 11 h, d'accord, les graines.",
            "11:00 On se retrouve aujourd'hui à 10 h pour les graines ? – Bo\xa0: Plutôt à 11 h, d'accord, les graines",
            "11:00 Ada\xa0: On se retrouve aujourd'hui à 10 h pour les graines ?"
            " – Plutôt à 11 h, d'accord, les graines",
        ),
        (
            "Kannst du mir morgen beim Zaun helfen?",
            "Ja, ich komme um zehn Uhr vorbei.",
            "",
            "10:00 Ada: Kannst du mir heute beim Zaun helfen? – Ja, ich komme um zehn Uhr vorbei",
        ),
        (
            "¿Llevas tú el caldo a la familia de Ramón?",
            "Sí, lo llevo yo mañana al mediodía.",
            "",
            "12:00 Ada: ¿Llevas tú el caldo a la familia de Ramón? – Sí, lo llevo yo hoy al mediodía",
        ),
        (
            "Rehearsal tomorrow at 6 pm?",
            "Fine by me, I'll bring the lamps.",
            "18:00 Rehearsal today at 6 pm? – Bo: Fine by me, I'll bring the lamps",
            "18:00 Ada: Rehearsal today at 6 pm? – Fine by me, I'll bring the lamps",
        ),
        (
            "Where is the survey?",
            "You'll have it tomorrow at 8.",
            "08:00 Where is the survey? – Bo: You'll have it today at 8",
            "08:00 Ada: Where is the survey? – You'll have it today at 8",
        ),
        (
            "Let's meet at the gate tomorrow at 9:00.",
            "Make that 11:00 at the gate.",
            "11:00 Let's meet at the gate today at 9:00 – Bo: Make that 11:00 at the gate",
            "11:00 Ada: Let's meet at the gate today at 9:00 – Make that 11:00 at the gate",
        ),
        (
            "So, nets tomorrow at 9:00 on the quay.",
            "Make that 11:00, the tide is late.",
            "11:00 So, nets today at 9:00 on the quay – Bo: Make that 11:00, the tide is late",
            "11:00 Ada: So, nets today at 9:00 on the quay – Make that 11:00, the tide is late",
        ),
        (
            "明天晚上七点在仓库开会。",
            "改到八点吧，我要先吃饭。",
            "20:00 今天晚上七点在仓库开会——Bo：改到八点吧，我要先吃饭",
            "20:00 Ada：今天晚上七点在仓库开会——改到八点吧，我要先吃饭",
        ),
        (
            "The inspector is coming tomorrow at 10:00.",
            "Then we sweep the boiler room.",
            "10:00 The inspector is coming today at 10:00 (with Bo)",
            "10:00 Ada: The inspector is coming today at 10:00",
        ),
        (
            "明天晚上七点我们一起吃饭。",
            "改到八点吧，吃饭的地方七点没位子。",
            "20:00 今天晚上七点我们一起吃饭——Bo：改到八点吧，吃饭的地方七点没位子",
            "20:00 Ada：今天晚上七点我们一起吃饭——改到八点吧，吃饭的地方七点没位子",
        ),
        (
            "Wir proben morgen um 18 Uhr.",
            "Wir müssen die Probe auf 20 Uhr verschieben.",
            "20:00 Wir proben heute um 18 Uhr – Bo: Wir müssen die Probe auf 20 Uhr verschieben",
            "20:00 Ada: Wir proben heute um 18 Uhr – Wir müssen die Probe auf 20 Uhr verschieben",
        ),
        (
            "Il me faut les affiches demain avant midi.",
            "Vous les aurez.",
            "before 12:00 Il me faut les affiches aujourd'hui avant midi (avec Bo)",
            "before 12:00 Ada\xa0: Il me faut les affiches aujourd'hui avant midi",
        ),
        (
            "Packst du morgen um vier mit mir den Wagen?",
            "Um vier sitz ich auf der Presse. Um sieben?",
            "19:00 Packst du heute um vier mit mir den Wagen? – Bo: Um vier sitz ich auf der Presse. Um sieben?",
            "19:00 Ada: Packst du heute um vier mit mir den Wagen? – Um vier sitz ich auf der Presse. Um sieben?",
        ),
        (
            "Mañana a las ocho riego yo los tomates, y tú a las diez llevas las cajas.",
            "Hecho.",
            "08:00 Hoy a las ocho riego yo los tomates",
            "10:00 Ada: y tú a las diez llevas las cajas",
        ),
        (
            "Shall we go fishing tomorrow at 7?",
            "With whom?",
            "07:00 Shall we go fishing today at 7? (with Bo)",
            "07:00 Ada: Shall we go fishing today at 7?",
        ),
    ],
)
def test_an_item_quotes_the_exchange_that_names_its_time(first: str, second: str, hers: str, his: str) -> None:
    lines = (("a", first), ("b", second))
    assert _items("a", *lines) == [hers][: bool(hers)]
    assert _items("b", *lines) == [his][: bool(his)]


@pytest.mark.parametrize(
    ("asks", "answers"),
    [
        ("Shall we go fishing tomorrow at 7?", "Sorry, I can't, I'm on shift."),
        ("Would you help me with the roof tomorrow at 9 am?", "Let me think about it."),
        ("¿Me ayudas mañana con el tejado a las nueve?", "Ya veremos, depende de mi padre."),
        ("On répare le toit ensemble demain à 8 h ?", "Il faut que je réfléchisse."),
        ("Wollen wir morgen um 18 Uhr kochen?", "Leider nicht, ich kann nicht kommen."),
        ("Morgen um 9 Uhr fahren wir zusammen zum See.", "Leider kann ich nicht."),
        ("明日の十時に掃除を手伝ってくれる？", "ちょっと考えさせて。"),
        ("明天晚上七点一起吃饭好吗？", "不行，我来不了。"),
        ("Can you look at the pump with me tomorrow at 9?", "Could we do it another day? I'm buried in invoices."),
        ("Mi aiuti domani alle dieci con il trasloco?", "No, non posso."),
        ("Hilfst du mir morgen um zehn?", "Morgen wird das nichts, ich hab Spätschicht."),
        ("Il treno di domani alle nove però è in ritardo, dice Marco.", "Peccato."),
        ("Marco leaves tomorrow at six, poor man.", "He never liked the early ferry."),
        ("Tomorrow's bread is ready.", "On Friday at 9 we bake again."),
        ("Mañana llueve.", "Gracias."),
        ("I got up at 5 today.", "The baker opened at 6 yesterday."),
    ],
)
def test_refused_past_and_unrelated_statements_are_not_planned(asks: str, answers: str) -> None:
    for owner in "ab":
        assert _items(owner, ("a", asks), ("b", answers)) == []


@pytest.mark.parametrize(
    ("lines", "hers"),
    [
        (
            (("b", "The leg will have to come off."), ("a", "When?"), ("b", "At seven tomorrow.")),
            "07:00 Bo: The leg will have to come off – When? – Bo: At seven today",
        ),
        (
            (("a", "Help me lift the cover?"), ("b", "No. The boom."), ("a", "Tomorrow at 08:00?"), ("b", "Fine.")),
            "08:00 Help me lift the cover? Today at 08:00? (with Bo)",
        ),
        (
            (("b", "あしたの朝、足場を外しに来る。八時でいいかい。"), ("a", "八時ね。")),
            "08:00 Bo：今日の朝、足場を外しに来る。八時でいいかい",
        ),
        (
            (("b", "それと、あした18番の鍵に油をさしてちょうだい。"), ("a", "私があしたやるよ。")),
            "Bo：それと、今日18番の鍵に油をさしてちょうだい——私が今日やるよ",
        ),
    ],
)
def test_a_sentence_without_content_is_quoted_with_the_line_that_names_its_matter(
    lines: tuple[tuple[str, str], ...], hers: str
) -> None:
    assert _items("a", *lines) == [hers]


def test_an_answer_is_for_the_one_who_asked_and_an_order_for_the_one_it_names() -> None:
    answer = (("b", "Not even to my aunt's?"), ("a", "Tomorrow at nine, and you're back by noon."))
    assert _items("b", *answer, people="abc")
    assert not _items("c", *answer, people="abc")
    order = ("a", "Then Bo writes it, and I have it from you tomorrow by noon.")
    assert _items("b", order, people="abc")
    assert not _items("c", order, people="abc")


def test_a_later_refusal_of_an_hour_ends_the_item_planned_for_it() -> None:
    asked = _talk(("a", "你明早七点来弄吧。"), ("b", "好，七点。"))
    ended = _talk(("b", "孩子发烧了，明早七点我到不了。"), ("a", "那你八点到就行。"), at=EVENING + 120)
    later = [replace(entry, number=number) for number, entry in enumerate([*asked, *ended], 1)]
    assert [item.minute % DAY for item in _found("b", asked).timed] == [7 * 60]
    assert [item.minute % DAY for item in _found("b", later).timed] == [8 * 60]


@pytest.mark.parametrize(
    "alone",
    [
        "I'll be at the dentist tomorrow at 4.",
        "Ich bin morgen um 16 Uhr beim Zahnarzt.",
        "Mañana a las cuatro estaré en el dentista.",
        "Amanhã às quatro vou ao dentista.",
        "Domani alle quattro porto il violino dal liutaio.",
    ],
)
def test_an_activity_of_one_speaker_alone_is_only_in_that_speakers_plan(alone: str) -> None:
    assert len(_items("a", ("a", alone))) == 1
    assert _items("b", ("a", alone)) == []


def test_an_order_to_several_binds_each_and_one_by_name_only_the_person_named() -> None:
    both = ("a", "Tomorrow I need both of you on Norden from 7:00.")
    assert _items("b", both, people="abc") == ["07:00 Ada: Today I need both of you on Norden from 7:00"]
    assert _items("c", both, people="abc") == _items("b", both, people="abc")
    one = ("a", "Bo, you take the watch tomorrow at 22:00.")
    assert _items("b", one, people="abc") == ["22:00 Ada: Bo, you take the watch today at 22:00"]
    assert _items("c", one, people="abc") == []


def test_a_refusal_among_several_frees_only_the_speaker() -> None:
    lines = (("a", "We sing tomorrow at 20:00."), ("b", "I can't."))
    assert _items("b", *lines, people="abc") == []
    assert _items("c", *lines, people="abc") == ["20:00 Ada: We sing today at 20:00"]


def test_an_activity_of_an_absent_person_is_not_planned() -> None:
    assert _items("b", ("a", "Cy is holding a supper at the plaza tomorrow at 18:00.")) == []
    assert len(_items("b", ("a", "Supper at the plaza tomorrow at 18:00."))) == 1


@pytest.mark.parametrize("name", [" Eve", " ", ""])
def test_any_stored_name_can_be_absent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMES, "agent:e", name)
    assert len(_items("b", ("a", "Supper with us at the plaza tomorrow at 18:00."))) == 1


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("I want the fuel report on my desk by 5 tomorrow.", "before 17:00"),
        ("You can keep the cart until noon tomorrow.", "before 12:00"),
        ("Necesito tus cuentas mañana antes de las 14:00.", "before 14:00"),
        ("明日の9時までに書類を出してください。", "before 09:00"),
    ],
)
def test_a_deadline_is_before_its_hour(line: str, due: str) -> None:
    (item,) = _items("b", ("a", line))
    assert item.startswith(due)


@pytest.mark.parametrize(
    ("said", "off"),
    [
        ("明日二時に会議の準備をしましょう。", "すみません、会議の準備は中止です。"),
        ("Wir spielen morgen um 20 Uhr Skat.", "Der Skat fällt aus, ich bin krank."),
        ("We inspect the mill tomorrow at 10:00.", "The inspection of the mill has been moved to day 4."),
    ],
)
def test_an_item_that_is_called_off_later_is_not_planned(said: str, off: str) -> None:
    first, second = _talk(("a", said), ("a", off))
    late = Entry(type="message", text=second.text, minute=second.minute + 60, number=2, subjects=second.subjects)
    for owner in "ab":
        assert len(_found(owner, [first]).timed) == 1
        assert not _found(owner, [first, second]).timed
        assert not _found(owner, [first, late]).timed


def test_an_hour_without_a_day_is_of_the_day_of_the_talk_unless_the_talk_names_another() -> None:
    morning, start = 5 * 60, 6 * 60
    lines = (("a", "Hoy limpio el almacén."), ("b", "Vale. Me paso a las once y te ayudo."))
    (item,) = _found("b", _talk(*lines, at=morning), start).timed
    assert (item.minute, item.what) == (11 * 60, "Ada: Hoy limpio el almacén – Me paso a las once y te ayudo")
    asked = (("a", "Could you bring the balloons tomorrow?"), ("b", "Sure, I'll be there at 4 pm."))
    assert not _found("b", _talk(*asked, at=morning), start).timed
    assert len(_found("b", _talk(*asked, at=morning)).timed) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I'll look in the laundry tomorrow.", "I'll look in the laundry today"),
        ("J'essaierai au ministère demain.", "J'essaierai au ministère aujourd'hui"),
        ("Domani mi serve il latte.", "Oggi mi serve il latte"),
    ],
)
def test_an_owners_statement_for_a_day_is_planned_on_that_day_only(text: str, said: str) -> None:
    assert _items("a", ("a", text)) == [said]
    assert _items("b", ("a", text)) == []
    assert not _found("a", _talk(("a", text)), 2 * DAY + 360).untimed


@pytest.mark.parametrize(
    "text", ["It will rain tomorrow.", "I can't look tomorrow.", "Maybe I'll look tomorrow.", "I'll look soon."]
)
def test_weather_refusals_and_doubts_are_not_planned(text: str) -> None:
    assert _items("a", ("a", text)) == []


def test_a_plan_holds_the_last_two_statements_for_the_day() -> None:
    texts = ("I'll mend the gate tomorrow.", "I'll feed the goat tomorrow.", "I'll paint the door tomorrow.")
    own = (message(text, 600 + 60 * at, speaker=KLAUS, hearer=MARIA) for at, text in enumerate(texts))
    plan = made(stream_of(*own), DAY + MORNING, profile=Profile(name="Klaus Mueller"))
    assert [i.description for i in plan.items] == ["I'll feed the goat today", "I'll paint the door today"]


def test_a_plan_holds_at_most_two_impersonal_statements() -> None:
    trains = (message(f"A train leaves tomorrow at {hour}:00.", 600 + 60 * hour) for hour in range(7, 13))
    plan = made(stream_of(*trains), DAY + MORNING, profile=Profile(name="Klaus Mueller"))
    assert [item.minute for item in plan.items] == [DAY + 660, DAY + 720]


def test_a_statement_about_a_coming_round_is_told_until_that_round() -> None:
    def said_at(number: int, *entries: Entry) -> list[str]:
        with Clock(names="40 rounds").in_force():
            names = {KLAUS: "Klaus Mueller", MARIA: "Maria Lopez"}
            return said_for_rounds("Klaus Mueller", stream_of(*entries).live(), names, number)

    meets = message("The council meets in round 14.", 8, speaker=MARIA, hearer=KLAUS)
    moved = message("The meeting is moved from round 14 to round 17.", 12, speaker=MARIA, hearer=KLAUS)
    soon = message("I will count the votes in the next round.", 12, speaker=KLAUS, hearer=MARIA)
    assert said_at(10, meets) == said_at(14, meets) == ["Maria Lopez: The council meets in round 14"]
    assert said_at(15, meets) == []
    assert said_at(13, meets, moved) == ["Maria Lopez: The meeting is moved from round 14 to round 17"]
    assert said_at(13, soon) == ["I will count the votes in the next round"]
    assert said_at(14, soon) == said_at(10, message("Who meets in round 14?", 8, speaker=MARIA, hearer=KLAUS)) == []
    spanish = message("El consejo vota en la ronda 14.", 8, speaker=MARIA, hearer=KLAUS)
    assert said_at(10, spanish) == ["Maria Lopez: El consejo vota en la ronda 14"]
    assert said_at(15, spanish) == []
    french = message("Je m'en occupe au tour 14.", 8, speaker=MARIA, hearer=KLAUS)
    mine = message("I will count the votes in round 14.", 8, speaker=MARIA, hearer=KLAUS)
    assert said_at(10, french) == said_at(10, mine) == [], "theirs to do"
    ours = message("We count the votes in round 14.", 8, speaker=MARIA, hearer=KLAUS)
    assert said_at(10, ours) == ["Maria Lopez: We count the votes in round 14"]


@pytest.mark.parametrize(
    ("before", "hour", "at"),
    [
        ("Tomorrow evening we eat in the yard. Are you coming?", "At eight.", "20:00"),
        ("We load the vans first thing tomorrow.", "At six.", "06:00"),
        ("Morgen Abend grillen wir im Hof.", "Um acht.", "20:00"),
        ("Tu viens dîner demain soir ?", "À huit heures.", "20:00"),
        ("明天晚上一起看电影吧？", "八点。", "20:00"),
    ],
)
def test_the_part_of_the_day_named_before_decides_an_hour(before: str, hour: str, at: str) -> None:
    assert [item[:5] for item in _items("a", ("a", before), ("b", hour))] == [at]


def test_another_of_three_who_tells_when_he_comes_moves_nothing() -> None:
    lines = ("a", "The doors open tomorrow at ten. I need a hand."), ("b", "I'll be in by nine.")
    assert [item[:5] for item in _items("a", *lines, people="abc")] == ["10:00"]
