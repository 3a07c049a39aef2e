"""Closed matters, for plans, reflections and themes alike: settled, moved, called off or past."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.tasks.heuristics.closing import is_closed, is_past
from cogitate.tasks.heuristics.promises import find_promises
from tests.unit.tasks.heuristics.test_insight import noticed
from tests.unit.tasks.kind_cases import KLAUS, MARIA, PLACES, WORLD, message, stream_of

GIVEN = 600  # game minute at which a promise is given


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("I promise to mend the oars tomorrow at 9:00.", DAY + 540),
        ("I promise to mend the oars before four.", 960),
        ("I promise to mend the oars before lunch.", DAY - 1),
        ("I promise to mend the oars by day 3.", 3 * DAY - 1),
    ],
)
def test_a_promise_is_closed_once_its_time_is_over(said: str, last: int) -> None:
    [promise] = find_promises(KLAUS, list(stream_of(message(said, GIVEN)).live()), WORLD.names)
    assert not is_closed(promise, last)
    assert is_closed(promise, last + 1)


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("Ich verspreche dir, ich bringe das Brot noch vor acht.", DAY + 480),
        ("Ich verspreche, die Netze vor dem Abendessen zu flicken.", DAY - 1),
        ("Ich verspreche, die Netze bis Tag 3 zu flicken.", 3 * DAY - 1),
        ("Te prometo traer el pan antes de las ocho.", DAY + 480),
        ("Prometo arreglar las redes antes de la cena.", DAY - 1),
        ("Je promets de réparer les filets avant le dîner.", DAY - 1),
        ("Je promets d'apporter le pain demain avant huit heures.", DAY + 480),
        ("Prometo consertar as redes antes do jantar.", DAY - 1),
        ("Обещаю, принесу хлеб до восьми.", DAY + 480),
        ("Обещаю починить сети до ужина.", DAY - 1),
        ("约定：我保证八点之前把面包送来。", DAY + 480),
        ("我保证天黑之前修好渔网。", DAY - 1),
        ("夕食までに網を直すと約束します。", DAY - 1),
        ("أعدك أن أحضر الخبز قبل الثامنة.", DAY + 480),
        ("أعدك أن أصلح الشباك قبل العشاء.", DAY - 1),
        ("मैं वादा करता हूँ, आठ बजे तक रोटी लाऊँगा।", DAY + 480),
        ("मैं वादा करता हूँ, नाश्ते से पहले जाल ठीक करूँगा।", DAY - 1),
    ],
)
def test_a_promise_in_any_language_is_closed_once_its_time_is_over(said: str, last: int) -> None:
    test_a_promise_is_closed_once_its_time_is_over(said, last)


@pytest.mark.parametrize(
    "said",
    [
        "Ich verspreche, jeden Tag vor acht zu kommen.",
        "Prometo venir cada día antes de las ocho.",
        "Je promets de venir chaque jour avant huit heures.",
        "Обещаю приходить каждый день до восьми.",
        "我保证每天八点之前来。",
        "毎日8時までに来ると約束します。",
        "Ich verspreche, die Netze zu flicken.",
    ],
)
def test_a_promise_without_an_end_stays_open(said: str) -> None:
    [promise] = find_promises(KLAUS, list(stream_of(message(said, GIVEN)).live()), WORLD.names)
    assert not is_closed(promise, 30 * DAY)


def test_a_promise_without_a_time_stays_open_until_its_deed_is_told() -> None:
    given, done = message("I promise to mend the oars.", GIVEN), message("I mended the oars.", GIVEN + 100)
    [promise] = find_promises(KLAUS, list(stream_of(given).live()), WORLD.names)
    assert not is_closed(promise, 30 * DAY)
    [promise] = find_promises(KLAUS, list(stream_of(given, done).live()), WORLD.names)
    assert is_closed(promise, GIVEN + 101)


@pytest.mark.parametrize("later", ["The concert is moved to 19:00.", "The concert tomorrow is cancelled."])
def test_a_moved_or_cancelled_appointment_is_not_told(later: str) -> None:
    first, second = stream_of(message("The concert is tomorrow at 17:00.", GIVEN), message(later, GIVEN + 60)).live()
    assert not is_past(first.text, first, [first], PLACES, GIVEN + 120)
    assert is_past(first.text, first, [first, second], PLACES, GIVEN + 120)
    assert not is_past(second.text, second, [first, second], PLACES, GIVEN + 120)
    assert first.text not in noticed(first, second).text


def test_an_expired_promise_is_no_theme() -> None:
    said = "I promise to mend the oars before four."
    given = [message(said, GIVEN + n, importance=6, speaker=MARIA, hearer=KLAUS) for n in range(3)]
    assert said in noticed(*given, minute=900).text
    assert said not in noticed(*given, minute=1_200).text
