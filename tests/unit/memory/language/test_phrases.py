"""What packs say, with every slot filled: no doubled prepositions, articles or marks."""

from __future__ import annotations

import re

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.language.packs import pack_of, packs
from cogitate.memory.language.times import anchor_days, find_times

DOUBLED = re.compile(r"[.,;:，。；：、！؛،।]\s?[.,;:，。；：、！؛،।]|\s{2}|[{}]|\s$")
#: Words before a day, and words that none of these takes: where both stand together, one is too many.
CLASHES = {
    "de": ("von seit bis für ab auf nach vor über gegen", "an am"),
    "nl": ("van sinds voor tot vanaf naar na", "op"),
    "es": ("de a", "el"),
    "fr": ("de à", "le"),
    "it": ("di a da su in", "il la"),
    "pt": ("para até desde de após por", "no na"),
    "ru": ("на до с к от после за про", "в"),
    "uk": ("на до з від після за", "у"),
    "pl": ("na", "dnia"),
    "ar": ("من حتى إلى منذ قبل بعد", "في"),
    "en": ("to through by until from since for of about before after", "on"),
}
ENGLISH_DAYS = ("today", "tomorrow", "yesterday", "tonight", "tomorrow morning", "the day after tomorrow")


@pytest.mark.parametrize("code", packs())
def test_every_phrase_reads_well_with_every_slot_filled(code: str) -> None:
    pack, table = pack_of(code), packs()[code]
    dated = [way.format(round=4, last=10, year=1, month=2, day=3) for way in pack.ways("dates")]
    said = "An7 an8"
    told = [pack.speech.report(said, "Ada", listener, day) for listener in ("", "Bo") for day in ("", pack.day(600))]
    tasks = [pack.to_do(what, said, "X") for what in ("work", "errands", "again", "see_to", "keep")]
    phrases = [pack.phrase("quiet"), *table.get("reasons", {}).values(), pack.day(600), *dated, *told, *tasks]
    days = [anchor_days(f"An7 {word} an8.", 5 * DAY, pack) for word in pack.days.told]
    assert not [text for text in (*phrases, *days) if DOUBLED.search(text) or not text]


@pytest.mark.parametrize("code", CLASHES)
def test_a_numbered_day_never_clashes_with_a_preposition(code: str) -> None:
    pack = pack_of(code)
    before, clashing = (words.split() for words in CLASHES[code])
    days = pack.days.told or ENGLISH_DAYS
    told = [anchor_days(f"An7 {word} {day}.", 5 * DAY, pack) for word in before for day in days]
    assert any("6" in text for text in told)
    clash = re.compile(rf"\b(?:{'|'.join(before)}) (?:{'|'.join(clashing)})\b")
    assert not [text for text in told if clash.search(text)]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Der Termin ist auf morgen um 15 Uhr verschoben.", "Der Termin ist auf Tag 4 um 15 Uhr verschoben."),
        ("Bis morgen früh sind die Netze geflickt.", "Bis Tag 4 morgens sind die Netze geflickt."),
        ("C'est le pain d'hier soir, à demain.", "C'est le pain du soir du jour 2, au jour 4."),
        ("Rimandato a domani sera, il pane di ieri.", "Rimandato alla sera del giorno 4, il pane del giorno 2."),
        ("Перенесли на послезавтра, а не к завтра.", "Перенесли на день 5, а не ко дню 4."),
        ("The concert is moved to tomorrow at 15:00.", "The concert is moved to day 4 at 15:00."),
    ],
)
def test_a_word_and_a_day_merge(said: str, told: str) -> None:
    assert anchor_days(said, 2 * DAY + 600) == told


def test_the_evening_of_a_day_tells_the_half_of_an_hour() -> None:
    [time] = find_times(anchor_days("Wir treffen uns heute Abend um 8 Uhr am Hafen.", 2 * DAY))
    assert time.minute == 20 * 60


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("Ich bringe das Brot noch vor acht.", [8]),
        ("Ich bringe das Brot vor acht zu dir.", [8]),
        ("Vor acht Jahren brannte die Mühle ab.", []),
        ("Ich ernte bis zehn Körbe.", []),
        ("Llevo el pan antes de las ocho.", [8]),
        ("Levo o pão antes das oito.", [8]),
        ("Принесу хлеб до восьми.", [8]),
        ("Он ждал до пяти человек.", []),
        ("सुबह आठ बजे से पहले रोटी लाऊँगा।", [8]),
        ("سأحضر الخبز قبل الثامنة.", [8]),
    ],
)
def test_an_hour_in_words_is_a_limit(text: str, hours: list[int]) -> None:
    assert [time.minute // 60 for time in find_times(text)] == hours


def test_speech_names_who_says_it_to_whom(subtests: pytest.Subtests) -> None:
    cases = {
        "de": "Ada zu Bo: „Nein.“",
        "fr": "Ada à Bo\u00a0: «\u00a0Nein.\u00a0»",
        "ru": "Ada → Bo: «Nein.»",
        "zh": "Ada 对 Bo 说：“Nein.”",
        "ja": "Ada が Bo に：「Nein.」",
        "sv": 'Ada → Bo: "Nein."',
    }
    for code, told in cases.items():
        with subtests.test(code=code):
            speech = pack_of(code).speech
            assert speech.report("Nein.", "Ada", "Bo", "") == told
            assert speech.speaker_of(told) == "Ada"
            assert speech.speaker_of(speech.report("Nein.", "Ada", "", "")) == ""


@pytest.mark.parametrize("code", packs())
def test_consecutive_statements_of_one_speaker_are_reported_together(code: str) -> None:
    speech = pack_of(code).speech
    first, second = speech.report("Ja.", "Ada", "Bo", ""), speech.report("Nein.", "Ada", "Bo", "")
    together = speech.together([first, second])
    assert together.startswith(speech.lead_of(first))
    assert together.endswith(second.removeprefix(speech.lead_of(second)))
    assert together.count("Ada") == together.count("Bo") == together.count("Ja") == 1
    assert "Ja." not in together


def test_a_quotation_within_another_has_other_marks() -> None:
    assert pack_of("de").speech.report("Er rief „Feuer“.", "Ada", "", "") == "Ada: „Er rief ‚Feuer‘.“"
    assert pack_of("sv").speech.report('Han ropade "eld".', "Ada", "", "") == "Ada: \"Han ropade 'eld'.\""
