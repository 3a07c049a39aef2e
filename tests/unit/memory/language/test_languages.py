"""The language of a text, and events that change a life in many of them."""

from __future__ import annotations

import pytest

from cogitate.memory.language.languages import OTHER, UNDETERMINED, is_english, languages_of
from cogitate.memory.language.port import changes_a_life


def test_a_text_shows_its_language_by_script_or_function_words(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("The oven of the bakery broke this morning.", "en"),
        ("Was it Ben who was born in a war?", "en"),
        ("Maria gave Klaus her hat.", "en"),
        ("Der Ofen der Bäckerei ist kaputt.", "de"),
        ("will das Wasserrad reparieren", "de"),
        ("muy ocupada antes de la fiesta", "es"),
        ("Minha mãe morreu ontem à noite.", "pt"),
        ("Ma mère est morte hier soir.", "fr"),
        ("bayram öncesi çok meşgul", "tr"),
        ("Mẹ tôi mất đêm qua.", "vi"),
        ("面包店的烤箱坏了。", "zh"),
        ("パン屋のオーブンが壊れた。", "ja"),
        ("오븐이 고장났다.", "ko"),
        ("Печь сломалась.", "ru"),
        ("Піч зламалася, її полагодять.", "uk"),
        ("تعطل الفرن هذا الصباح.", "ar"),
        ("ओवन आज सुबह ख़राब हो गया।", "hi"),
        ("เตาอบเสียเมื่อเช้านี้", "th"),
        ("התנור התקלקל הבוקר.", "he"),
        ("李伟 gave me a knife at the mill and left.", "en"),
        ("Ben repaired Ada's roof.", UNDETERMINED),
        ("brew ale", UNDETERMINED),
        ("innkeeper till fields, feed hens", UNDETERMINED),
        ("tylko ale", "pl"),
        ("ale już po", "pl"),
        ("tar hand om får till kvällen", "sv"),
        ("Kalkıp kahvaltı yapmak", "tr"),
        ("Fale zerwały pomost przy przystani.", "pl"),
        ("Łódź ze statystami przypłynęła do przystani, łódź stoi.", "pl"),
        ("Żaneta and Łukasz: Adas Haus.", "en"),
        ("Lietus šiąnakt nuplovė tiltą.", OTHER),
        ("", UNDETERMINED),
    ]
    for text, language in cases:
        with subtests.test(text=text):
            assert languages_of(text)[0] == language
            assert is_english(text) is (language in ("en", UNDETERMINED))


GRAVE = {
    "zh": "我母亲昨天夜里去世了。 李伟和妻子离婚了。 我今天结婚了。 我的房子烧光了。 警察把他逮捕了。 爷爷得了癌症。",
    "ja": "母が昨夜亡くなった。 鈴木さんは妻と離婚した。 今日結婚した。 家が全焼した。 会社をクビになった。",
    "ko": "할머니가 어젯밤 돌아가셨다. | 철수가 이혼했다. | 오늘 결혼했다. | 집이 불에 탔다. | 동생이 시험에 합격했다.",
    "ru": "Моя мать умерла этой ночью. | Борис развёлся с женой. | У сестры родилась дочь. | Меня уволили с работы.",
    "de": "Meine Mutter ist letzte Nacht gestorben. | Bernd hat sich scheiden lassen. | Mein Haus ist abgebrannt.",
    "es": "Mi madre murió anoche. | Hoy me he casado. | Mi casa se quemó. | Me han despedido del trabajo.",
    "fr": "Ma mère est morte hier soir. | Jean a divorcé. | J'ai perdu mon emploi. | Mon frère a été arrêté.",
    "pt": "Minha mãe morreu ontem à noite. | Casei-me hoje. | A minha casa pegou fogo. | Fui demitido.",
    "it": "Mia madre è morta ieri notte. | Marco ha divorziato. | La mia casa è bruciata. | Ho perso il lavoro.",
    "ar": "توفيت أمي الليلة الماضية. | طلق أحمد زوجته. | احترق بيتي. | فقدت وظيفتي. | اعتقلت الشرطة أخي.",
    "hi": "मेरी माँ कल रात मर गई। | आज मेरी शादी हुई। | मेरा घर जल गया। | मेरी नौकरी चली गई।",
    "tr": "Annem dün gece öldü. | Ali karısından boşandı. | Evim yandı. | İşimi kaybettim. | Kardeşim tutuklandı.",
    "others": "Äitini kuoli viime yönä. | Mẹ tôi mất đêm qua. | אמא שלי נפטרה אתמול בלילה. | แม่เสียชีวิตเมื่อคืนนี้",
}
ORDINARY = (
    "路边有一只麻雀。 | 今天天气很好，我喝了一杯茶。 | 市場で野菜を買った。 | 오늘 빵을 샀다. | "
    "На дороге сидит воробей. | "
    "Сегодня я купил хлеб. | Ich habe heute Brot gekauft. | Hoy compré pan y leche. | J'ai acheté du pain. | "
    "Comprei pão hoje. | Oggi ho comprato il pane. | اشتريت الخبز اليوم. | मैंने आज दूध खरीदा। | Bugün ekmek aldım."
)


@pytest.mark.parametrize("language", GRAVE)
def test_life_events_are_recognized_in_many_languages(language: str) -> None:
    between = " | " if "|" in GRAVE[language] else " "
    assert [text for text in GRAVE[language].split(between) if not changes_a_life(text)] == []


def test_ordinary_events_are_not_life_events_in_any_language() -> None:
    assert [text for text in ORDINARY.split(" | ") if changes_a_life(text)] == []
