"""An appointment is what somebody asserts as agreed with its owner, and what no later statement ends."""

from __future__ import annotations

import pytest

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.language.times import find_times


def kept(*texts: str) -> list[tuple[int, str]]:
    """Return the minute of the next day and the words of what several entries appoint, told one after another."""
    told = [Entry(type="observation", text=t, minute=600 + n, number=n) for n, t in enumerate(texts, 1)]
    return [(one.minute - DAY, one.what) for one in appointments(told, (), DAY, 2 * DAY)]


def test_an_open_proposal_or_one_between_others_is_no_appointment(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "Ben asked me to meet him at the mill tomorrow at 9:00. I said no.",
        "Ben asked me to meet him at the mill tomorrow at 9:00, but I turned him down.",
        "I did not agree to meet Ben tomorrow at 9:00.",
        "If it stays dry, I will meet Ben tomorrow at 9:00.",
        "I will meet Ben tomorrow at 9:00 unless it rains.",
        "I might meet Ben tomorrow at 9:00.",
        "Will Ben meet me tomorrow at 9:00?",
        "Ben told me a story. The king agreed to meet the witch at 9:00.",
        "I dreamt that I agreed to meet Ben tomorrow at 9:00.",
        "Last year I agreed to meet Ben at 9:00.",
        "Tom promised Mira to meet her tomorrow at 9:00.",
        "Sam said that Tom wants to meet Mira tomorrow at 9:00.",
        "Tom and Mira agreed to meet tomorrow at 9:00.",
    ]
    for text in cases:
        with subtests.test(text=text):
            assert kept(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ben asked me to meet him tomorrow at 9:00, and I agreed.",
        "Tom, Mira and I agreed to meet tomorrow at 9:00.",
        'Mira told me: "Let us meet tomorrow at 9:00."',
        "Don't forget to meet Ben tomorrow at 9:00.",
        "If you like, come to the inn tomorrow at 9:00.",
        "I met no one today. I agreed to meet Ben tomorrow at 9:00.",
        "There is a concert tomorrow at 9:00.",
    ],
)
def test_an_agreement_or_invitation_of_the_owner_is_an_appointment(text: str) -> None:
    assert [minute for minute, _ in kept(text)] == [540]


@pytest.mark.parametrize(
    ("later", "hours"),
    [
        ("Mira told me that tomorrow's meeting at the inn is cancelled.", [780]),
        ("Mira called our meeting off.", [780]),
        ("Mira moved our meeting to tomorrow at 15:00.", [780, 900]),
        ("Mira moved our meeting from 10:00 to 15:00 tomorrow.", [780, 900]),
        ("Ben told me that the concert is cancelled.", [600, 780]),
        ("I agreed to meet Ben at the bridge tomorrow at 16:00.", [600, 780, 960]),
    ],
)
def test_a_later_statement_ends_or_moves_the_appointment_it_is_about(later: str, hours: list[int]) -> None:
    first = "I agreed to meet Mira at the inn tomorrow at 10:00."
    other = "I agreed to help Rosa in the orchard tomorrow at 13:00."
    assert [minute for minute, _ in kept(first, other, later)] == hours
    if hours == [780]:
        assert [minute for minute, _ in kept(later, first, other)] == [600, 780]  # agreed anew


@pytest.mark.parametrize(
    ("first", "later", "moved"),
    [
        (
            "The inspector comes tomorrow at 11:00.",
            "The inspector is held up by the swell and comes at 14:00 instead.",
            [(840, "The inspector is held up by the swell and comes at 14:00 instead")],
        ),
        (
            "The inspector comes tomorrow at 11:00.",
            "The inspector comes at 9:00 instead of 11:00.",
            [(540, "The inspector comes at 9:00 instead of 11:00")],
        ),
        ("I agreed to meet Mira tomorrow at 11:00.", "Mira moved it to 15:00.", [(900, "Mira moved it to 15:00")]),
        ("I agreed to meet Mira tomorrow at 11:00.", "Mira moved it to day 4 at 15:00.", []),
        ("I agreed to meet Mira tomorrow at 11:00.", "The talk with Mira at 11:00 is postponed.", []),
        (
            "Nos vemos mañana a las 10 en el laboratorio.",
            "Lo del laboratorio se aplaza a las 12.",
            [(720, "Lo del laboratorio se aplaza a las 12")],
        ),
        (
            'Mira said "Bring two washers" and "The inspector comes tomorrow at 11:00".',
            "The inspector's visit is delayed until 14:00.",
            [(840, "The inspector's visit is delayed until 14:00")],  # not in words that name the old hour
        ),
    ],
)
def test_a_moved_appointment_is_kept_once_at_its_new_hour(first: str, later: str, moved: list[tuple[int, str]]) -> None:
    assert kept(first, later) == moved


def test_a_deadline_without_a_day_is_no_appointment_on_another_day() -> None:
    assert kept("I promise to bring the grease before 4 pm.") == []
    assert [minute for minute, _ in kept("I promise to bring the grease before 4 pm tomorrow.")] == [960]


def test_english_hours_in_words_are_read(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, int | None]] = [
        ("half past seven in the evening", 1170),
        ("tomorrow evening at half past seven", 1170),
        ("quarter to nine", 525),
        ("a quarter past three", 915),
        ("ten at night", 1320),
        ("eight o'clock in the morning", 480),
        ("five to twelve at night", 1435),
        ("hold my rope at eight tomorrow", 480),
        ("bring it before four.", 960),
        ("before four people came", None),
        ("seven in a row", None),
    ]
    for text, minute in cases:
        with subtests.test(text=text):
            assert [time.minute for time in find_times(text)] == ([] if minute is None else [minute])


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("Ich habe mit Rosa vereinbart, sie morgen um 9 Uhr zu treffen.", True),
        ("Paul hat mich gebeten, morgen um 9 Uhr zu kommen. Ich habe abgelehnt.", False),
        ("Wenn es nicht regnet, treffe ich Paul morgen um 9 Uhr.", False),
        ("Rosa a promis à Paul de le voir demain à 9 heures.", False),
        ("Rosa m'a promis de venir demain à 9 heures.", True),
        ("Rosa prometió a Pablo verlo mañana a las 9.", False),
        ("小红答应小明明天九点见面。", False),
        ("小红答应我明天九点见面。", True),
        ("Если не будет дождя, завтра в 9:00 встречаюсь с Томом.", False),
    ],
)
def test_language_packs_distinguish_settled_appointments(text: str, *, is_kept: bool) -> None:
    assert [minute for minute, _ in kept(text)] == [540] * is_kept


def test_appointments_are_called_off_in_other_languages(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, tuple[str, ...]]] = [
        (
            "Nos vemos mañana a las 10 en el laboratorio.",
            ("Cancelo la reunión de mañana en el laboratorio.", "Al final mañana no puedo ir al laboratorio."),
        ),
        ("Rendez-vous demain à 10 heures au laboratoire.", ("J'annule notre rendez-vous de demain au laboratoire.",)),
        (
            "Wir treffen uns morgen um 10 Uhr im Labor.",
            ("Ich kann morgen doch nicht ins Labor.", "Ich sage das Labor ab."),
        ),
        ("Ci vediamo domani alle 10 in laboratorio.", ("Domani non posso più venire in laboratorio.",)),
        ("Vemo-nos amanhã às 10 no laboratório.", ("Não vou poder ir ao laboratório amanhã.",)),
        ("Встречаемся завтра в 10 часов в лаборатории.", ("Я завтра не смогу прийти в лабораторию.",)),
        (
            "明日の午前10時に研究室で会いましょう。",
            ("すみません、明日は研究室に行けません。", "研究室の約束は延期します。"),
        ),
        ("明天上午10点在实验室见面。", ("对不起，我明天去不了实验室。",)),
    ]
    for first, offs in cases:
        with subtests.test(first=first):
            assert [minute for minute, _ in kept(first)] == [600]
            for off in offs:
                assert kept(first, off) == [], off


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        ("Il colloquio è spostato da giovedì a domani alle 15:30.", DAY + 930),
        ("La réunion est déplacée à demain à 15 h.", DAY + 900),
        ("Das Treffen wird von morgen um 15 Uhr auf übermorgen um 17 Uhr verschoben.", 2 * DAY + 1_020),
        ("会议改到明天下午三点。", DAY + 900),
        ("会議は明日の午後3時から明日の午後5時に変更します。", DAY + 1_020),
        ("회의를 내일 오후 3시에서 내일 오후 5시로 미뤘습니다.", DAY + 1_020),
        ("Wykład jutro o 9:00 przełożono na jutro o 11:30.", DAY + 690),
        ("La riunione di domani alle 15:00 è rinviata.", None),
        ("La réunion de demain à 15 h est reportée.", None),
        ("Das Treffen morgen um 15 Uhr ist verschoben.", None),
        ("Forse la riunione è spostata a domani alle 15:00.", None),
    ],
)
def test_a_moved_appointment_in_any_language_is_kept_at_its_new_time(text: str, minute: int | None) -> None:
    told = Entry(number=1, type="message", text=text, minute=600)
    assert [a.minute for a in appointments([told], (), 0, 5 * DAY)] == ([] if minute is None else [minute])
