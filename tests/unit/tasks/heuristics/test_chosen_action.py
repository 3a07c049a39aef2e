"""The choice of the best match among the actions that a host names, word for word."""

from __future__ import annotations

import pytest

from cogitate.tasks.heuristics.chosen_action import choose_action

ACTIONS = ["repair the hull", "tend the algae", "run diagnostics"]


def test_the_action_most_similar_to_a_text_is_chosen_and_none_without_similarity() -> None:
    assert choose_action(ACTIONS, "Repairing the broken hull") == "repair the hull"
    assert choose_action(ACTIONS, "tend the algae") == "tend the algae"
    assert choose_action(["tend", "tend the algae"], "Tend the algae") == "tend the algae"
    assert choose_action(ACTIONS, "Have lunch") == ""
    assert choose_action([], "x") == ""


@pytest.mark.parametrize(
    ("actions", "text", "chosen"),
    [
        (["照料水藻", "修理船体", "休息"], "去B舱修理漏洞", "修理船体"),
        (["藻の世話をする", "船を修理する"], "船の修理", "船を修理する"),
        (["кормить водоросли", "чинить корпус"], "ремонт корпуса", "чинить корпус"),
        (["Schicht übernehmen", "Wache halten"], "Nachtwache auf der Mauer", "Wache halten"),
        (["ruoki kalat", "korjaa runko"], "rungon korjaus", "korjaa runko"),
        (["ดูแลสาหร่าย", "ซ่อมยาน"], "ซ่อมแซมลำตัวยาน", "ซ่อมยาน"),
    ],
)
def test_similarity_works_in_any_script_and_on_parts_of_words(actions: list[str], text: str, chosen: str) -> None:
    assert choose_action(actions, text) == chosen


def test_matching_may_be_limited_to_whole_words() -> None:
    assert choose_action(["look around"], "The roundabout shook.") == "look around"
    assert choose_action(["look around"], "The roundabout shook.", whole_words=True) == ""
    assert choose_action(["修理船体", "休息"], "船体被撞破了。", whole_words=True) == "修理船体"


SHIP = ["revisar el motor", "preparar la comida", "descansar en el camarote", "observar ballenas"]


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        (SHIP, "La radio dijo que viene un temporal del suroeste."),
        (SHIP, "El barómetro bajó a 980 hectopascales."),
        (SHIP, "Al final mañana no puedo en el laboratorio."),
        (["den Motor prüfen", "in der Kajüte ruhen"], "In der Nacht kommt ein Sturm auf den Hafen zu."),
        (["проверить мотор на палубе"], "Шторм идёт на гавань."),
        (["القراءة في المكتبة"], "العاصفة في الميناء"),
        (["look around"], "The ground shook."),
    ],
)
def test_articles_prepositions_and_endings_make_no_similarity(actions: list[str], text: str) -> None:
    assert choose_action(actions, text) == ""
