"""Answers in languages other than English: thoughts are taken, and what says nothing is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogitate.prompts.answers import HELD_PHRASE, ActionAnswer, DailyPlan, ReflectionAnswer, SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.reflect import Reflect
from cogitate.workers.answer_faults.fault import fault_of
from tests.repository import ROOT
from tests.unit.tasks.kind_cases import case_of, observation, stream_of
from tests.unit.workers.answer_faults.case import REFLECT as BAKER
from tests.unit.workers.answer_faults.case import plan, prompt, reflection

REFLECT = Reflect(Templates())
INSIGHTS = {
    "zh": "今天的事让我明白，邻居们的帮助比什么都重要，我以后要更加珍惜他们。",
    "ja": "近所の人たちの助けが何より大切だと、今日あらためて気づいた。",
    "th": "วันนี้ฉันเข้าใจแล้วว่าความช่วยเหลือของเพื่อนบ้านสำคัญที่สุดสำหรับฉัน",
    "ko": "오늘 나는 이웃의 도움이 무엇보다 소중하다는 것을 깨달았다.",
    "ar": "اليوم فهمت أن مساعدة الجيران هي أهم شيء عندي، وسأقدرهم أكثر.",
    "hi": "आज मैंने समझा कि पड़ोसियों की मदद मेरे लिए सबसे ज़रूरी है।",
    "ru": "Сегодня я понял, что помощь соседей важнее всего, и буду больше их ценить.",
    "de": "Heute ist mir klar geworden, dass mir die Hilfe der Nachbarn wichtiger ist als alles andere.",
    "tr": "Bugün komşuların yardımının benim için her şeyden önemli olduğunu anladım.",
    "es": "Hoy entendí que la ayuda de los vecinos me importa más que cualquier otra cosa.",
    "fi": "Tänään ymmärsin, että naapurien apu on minulle tärkeintä kaikesta.",
    "vi": "Hôm nay tôi hiểu rằng sự giúp đỡ của hàng xóm quan trọng hơn tất cả.",
    "he": "היום הבנתי שהעזרה של השכנים חשובה לי יותר מכל דבר אחר.",
}
#: A memory, and an insight drawn from it.
DRAWN = {
    "fr": ("Ben m'a demandé la recette du pain.", "Ben a besoin de moi plus qu'il ne l'admet, et cela me touche."),
    "it": ("Cleo mi ha prestato la scopa.", "Ho capito che posso contare su Cleo anche quando non chiedo nulla."),
    "pt": ("Ben pediu a receita do pão.", "Percebi que Ben confia em mim e quero retribuir essa confiança."),
    "nl": ("Ben vroeg me om het recept.", "Ik merk dat Ben mij vertrouwt, en dat is me meer waard dan geld."),
    "pl": ("Ben poprosił mnie o przepis.", "Rozumiem teraz, że Ben mi ufa, i nie chcę go zawieść."),
    "id": ("Ben meminta resep roti madu.", "Aku sadar bahwa Ben percaya padaku, dan aku ingin membalasnya."),
    "sv": ("Ben bad mig om receptet.", "Jag märker att Ben litar på mig, och det betyder mer än pengar."),
    "uk": ("Бен попросив у мене рецепт хліба.", "Я зрозуміла, що Бен довіряє мені, і хочу віддячити йому."),
    "el": ("Ο Μπεν ζήτησε τη συνταγή.", "Κατάλαβα ότι ο Μπεν με εμπιστεύεται και θέλω να το ανταποδώσω."),
    "sw": ("Ben aliniomba mapishi ya mkate.", "Nimeelewa kwamba Ben ananiamini, nami nataka kumsaidia."),
    "zh": ("本恩向我要了面包的配方。", "我明白了,本恩很信任我,我不想让他失望。"),
    "de": (
        "Ben hat mich nach dem Rezept gefragt.",
        "Ben vertraut mir, ich will ihn in der Not nicht allein lassen.",
    ),
}
PLANS = {
    "zh": ("起床吃早饭", "去面包店上班", "和邻居吃午饭", "继续烤面包", "早点睡觉"),
    "ja": ("起きて朝ごはんを食べる", "パン屋で働く", "昼ごはん", "広場を散歩する", "寝る"),
    "th": ("ตื่นนอนและกินข้าวเช้า", "ไปทำงาน", "กินข้าวกลางวันกับเพื่อนบ้าน", "ทำงานต่อ", "เข้านอน"),
    "ko": ("일어나서 아침을 먹는다", "일하러 간다", "이웃과 점심을 먹는다", "산책한다", "잔다"),
    "ar": ("الاستيقاظ وتناول الفطور", "الذهاب إلى العمل", "تناول الغداء مع الجيران", "متابعة العمل", "النوم"),
    "hi": ("उठकर नाश्ता करना", "काम पर जाना", "पड़ोसियों के साथ दोपहर का खाना", "टहलना", "सो जाना"),
    "ru": ("Встать и позавтракать", "Пойти на работу", "Пообедать с соседями", "Погулять по площади", "Лечь спать"),
    "de": ("Aufstehen und frühstücken", "Zur Arbeit gehen", "Mit den Nachbarn essen", "Spazieren", "Schlafen gehen"),
    "tr": ("Kalkıp kahvaltı yapmak", "Yürüyerek işe gitmek", "Komşularla yemek yemek", "Çalışmak", "Erkenden uyumak"),
    "es": (
        "Levantarse y desayunar tranquilamente",
        "Caminar hasta el trabajo",
        "Almorzar con los vecinos",
        "Pasear por la plaza",
        "Acostarse temprano",
    ),
    "fi": ("Herätä ja syödä aamiaista", "Kävellä töihin", "Syödä lounasta naapurien kanssa", "Leipoa", "Nukkumaan"),
    "vi": ("Thức dậy và ăn sáng", "Đi bộ đến chỗ làm", "Ăn trưa với hàng xóm", "Đi dạo", "Đi ngủ sớm"),
    "he": ("לקום ולאכול ארוחת בוקר", "ללכת לעבודה", "לאכול צהריים עם השכנים", "לטייל בכיכר", "לישון"),
}


#: In each language: whose memories, good answers, and useless ones: a refusal, a slot, another's first person, a copy
#: of a memory, a platitude, and a summary of nothing.
WORLDS = json.loads((ROOT / "tests/fixtures/answers-in-languages.json").read_text(encoding="utf-8"))


def fault_in(world: dict[str, Any], given: dict[str, Any]) -> str | None:
    field, told = next(iter(given.items()))
    shown = {
        "name": world["name"],
        "people": [{"id": f"agent:{n}", "name": name} for n, name in enumerate(world["people"])],
        "memories": [
            {"when": f"day 1, {n + 1}:00 AM", "text": text, "times": 1} for n, text in enumerate(world["memories"])
        ],
    }
    user = Templates().render("reflect", BAKER | shown).user
    if field == "insight":
        return fault_of(reflection(told), prompt(ReflectionAnswer, user))
    if field == "summary":
        return fault_of(SummaryAnswer(summary=told), prompt(SummaryAnswer, user))
    answer = plan(*told) if field == "plan" else ActionAnswer.model_validate(told)
    return fault_of(answer, prompt(type(answer), user))


@pytest.mark.parametrize("language", WORLDS)
def test_useless_answers_are_refused_in_any_language(language: str) -> None:
    world = WORLDS[language]
    assert [fault_in(world, answer) for answer in world["good"]] == [None] * 6
    assert [answer for answer in world["useless"] if fault_in(world, answer) is None] == []


def test_an_insight_of_the_length_of_a_phrase_is_not_cut() -> None:
    text = "Cleo lent me her brush, whereas Ben wants my recipe and has never shown me anything that he bakes at home"
    assert fault_of(reflection(text.ljust(HELD_PHRASE, "s")), prompt(ReflectionAnswer)) is None


@pytest.mark.parametrize("insight", INSIGHTS.values(), ids=INSIGHTS)
def test_a_thought_is_taken_in_any_language(insight: str) -> None:
    answer = reflection(insight)
    assert fault_of(answer, prompt(ReflectionAnswer)) is None
    assert REFLECT.effects(case_of(REFLECT, stream_of(observation("Tea.", 1)), 2), answer, (1,))
    assert fault_of(SummaryAnswer(summary=f"{insight} {insight[: len(insight) // 3]}"), prompt(SummaryAnswer)) is None
    assert fault_of(ActionAnswer(reason=insight, location="", doing="散歩する"), prompt(ActionAnswer)) is None


@pytest.mark.parametrize(("memory", "insight"), DRAWN.values(), ids=DRAWN)
def test_an_insight_is_taken_with_memories_in_its_language_and_in_english(memory: str, insight: str) -> None:
    shown = [{"when": "day 3, 8:00 AM", "text": memory, "times": 1}]
    user = Templates().render("reflect", BAKER | {"memories": shown}).user
    assert fault_of(reflection(insight), prompt(ReflectionAnswer, user)) is None
    assert fault_of(reflection(insight), prompt(ReflectionAnswer)) is None


@pytest.mark.parametrize("deeds", PLANS.values(), ids=PLANS)
def test_a_plan_is_taken_in_any_language(deeds: tuple[str, ...]) -> None:
    assert fault_of(plan(*deeds), prompt(DailyPlan)) is None


@pytest.mark.parametrize("language", INSIGHTS)
def test_endless_repetition_is_refused_in_any_language(language: str) -> None:
    insight = INSIGHTS[language]
    word = insight.split()[1].strip(",") if " " in insight else insight[2:4]
    between = " " if " " in insight else ""
    for text in (between.join([word] * 4), between.join([word] * 40), " ".join([insight] * 2)):
        assert fault_of(reflection(text), prompt(ReflectionAnswer)) == "it says the same words over and over", text


@pytest.mark.parametrize("language", INSIGHTS)
def test_a_copy_of_a_memory_is_not_an_insight_in_any_language(language: str) -> None:
    text = INSIGHTS[language]
    shown = f"<memories>\n- [day 1, 8:00 AM] {text}\n</memories>"
    assert "only repeats a memory" in (fault_of(reflection(text), prompt(ReflectionAnswer, shown)) or "")


@pytest.mark.parametrize("language", INSIGHTS)
def test_a_question_or_a_slot_is_not_an_insight_in_any_language(language: str) -> None:
    said = INSIGHTS[language].rstrip(".。।")
    mark = {"zh": "？", "ja": "？", "ar": "؟"}.get(language, "?")
    assert "only asks" in (fault_of(reflection(said + mark), prompt(ReflectionAnswer)) or "")
    between = " " if " " in said else ""
    slot = f"{{{said.split()[0][:12]}}}"
    assert "placeholder" in (fault_of(reflection(said + between + slot), prompt(ReflectionAnswer)) or "")


@pytest.mark.parametrize(
    "text",
    [
        "作为一个人工智能语言模型，我没有个人经历。",
        "Как языковая модель, я не имею воспоминаний.",
        "Als KI-Sprachmodell habe ich keine Erinnerungen.",
        "En tant que modèle de langage, je n'ai pas de souvenirs.",
        "저는 언어 모델이라 경험이 없습니다.",
    ],
)
def test_a_model_that_declines_is_understood(text: str) -> None:
    assert "not what the character would say" in (fault_of(reflection(text), prompt(ReflectionAnswer)) or "")


@pytest.mark.parametrize("text", ["好。", "はい", "ไม่", "네.", "да", "Ja!", "لا"])
def test_one_or_two_words_are_not_an_insight(text: str) -> None:
    with pytest.raises(ValueError, match="says nothing"):
        REFLECT.effects(case_of(REFLECT, stream_of(observation("Tea.", 1)), 2), reflection(text), (1,))
