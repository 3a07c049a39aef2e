"""Days, hours and promises in languages other than English, and packs that a host brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cogitate.memory.appointments import appointed_in
from cogitate.memory.clock import DAY, Clock
from cogitate.memory.errors import InputError
from cogitate.memory.language.languages import languages_of
from cogitate.memory.language.packs import FILE, pack_of, packs, read_packs, use_packs
from cogitate.memory.language.port import language_of
from cogitate.memory.language.times import anchor_days, find_times
from cogitate.prompts.render import TemplateError, check_templates

ESPERANTO = """
[eo]
name = "Esperanto"
day = "Tago {day}"
see_to = "Prizorgi"
at = "je la"
vows = "mi promesas"
function_words = "ni mi la je kaj estas en vi li ŝi"
[eo.days]
"morgaŭ" = "en tago {tomorrow}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    use_packs(None)


def test_hours_are_found_and_durations_are_not(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[str]]] = [
        ("明天下午三点去修烤箱。", ["15:00"]),
        ("后天晚上8点半开会。", ["20:30"]),
        ("今天有一点累。", []),
        ("明日の午後3時に市場で会いましょう。", ["15:00"]),
        ("三時間待ちました。", []),
        ("내일 오후 세 시에 만나자.", ["15:00"]),
        ("세 시간 기다렸다.", []),
        ("Mañana a las tres y media de la tarde arreglo el horno.", ["15:30"]),
        ("Mañana a las ocho y cuarto o a las diez menos cuarto.", ["8:15", "9:45"]),
        ("Hilfst du mir morgen um zehn, oder ab halb acht, oder um Viertel nach acht?", ["10:00", "7:30", "8:15"]),
        ("Wir sind um ein Haar zu spät gekommen.", []),
        ("明早七点一刻门口见，六点四十那场不去。", ["7:15", "18:40"]),
        ("Demain à huit heures moins le quart.", ["7:45"]),
        ("Domani alle nove e un quarto.", ["9:15"]),
        ("Esperé tres horas en la plaza.", []),
        ("Demain à 15 h 30 ou à 16h30, je répare le four.", ["15:00", "16:30"]),
        ("J'ai attendu deux heures.", []),
        ("Wir treffen uns morgen um 15:00 Uhr und abends um acht Uhr.", ["15:00", "20:00"]),
        ("Amanhã às 10 da manhã conserto o forno.", ["10:00"]),
        ("Завтра в 3 часа дня я починю печь, а в полдень обед.", ["15:00", "12:00"]),
        ("Я ждал 3 часа.", []),
        ("سأصلح الفرن غدا الساعة الثالثة عصرا.", ["15:00"]),
        ("आज शाम 5 बजे सभा है।", ["17:00"]),
    ]
    for text, times in cases:
        with subtests.test(text=text):
            assert [f"{time.minute // 60}:{time.minute % 60:02}" for time in find_times(text)] == times


def test_words_for_days_tell_the_day_by_its_number(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("明天我们去市场。", "第4天我们去市场。"),
        ("这里以后天气会变好。", "这里以后天气会变好。"),
        ("昨夜、橋が焼けた。", "2日目の夜、橋が焼けた。"),
        ("Mañana por la mañana voy al mercado.", "El día 4 por la mañana voy al mercado."),
        ("Guten Morgen, wie geht es dir?", "Guten Morgen, wie geht es dir?"),
        ("Wir treffen uns heute Abend in der Mühle.", "Wir treffen uns an Tag 3 abends in der Mühle."),
        ("Elle a dit «je viens demain» hier.", "Elle a dit «je viens demain» le jour 2."),
        ("Aujourd’hui je suis au marché.", "Le jour 3 je suis au marché."),
        ("التقينا في اليوم 2 في السوق.", "التقينا في اليوم 2 في السوق."),
    ]
    for said, told in cases:
        with subtests.test(said=said):
            assert anchor_days(said, 2 * DAY + 600) == told


def test_words_for_days_before_day_1_stay_unchanged() -> None:
    assert anchor_days("昨天桥烧了。", 600) == "昨天桥烧了。"


def test_an_appointment_needs_a_day_and_an_hour() -> None:
    for text, day in [("明天上午十点有音乐会。", 1), ("上午十点有音乐会。", None), ("明天有音乐会。", None)]:
        found = appointed_in(text, 600)
        assert (found.day if found else None) == day


def test_a_host_brings_a_language(folder: Path) -> None:
    (folder / FILE).write_text(ESPERANTO, encoding="utf-8")
    use_packs(folder)
    assert pack_of("eo").phrase("see_to") == "Prizorgi"
    assert "zh" in packs()
    assert languages_of("Ni kantas morgaŭ je la 15")[0] == "eo"
    found = appointed_in("Ni kantas morgaŭ je la 15", 600)
    assert found is not None
    assert (found.time, found.day, found.what) == (900, 1, "Ni kantas en tago 2 je la 15")
    assert language_of("Mi promesas ripari la fornon.").vow("Mi promesas ripari la fornon.", True) is not None
    use_packs(None)
    assert pack_of("eo").phrase("see_to") == ""
    assert languages_of("Ni kantas morgaŭ je la 15")[0] != "eo"


@pytest.mark.parametrize(
    "text",
    [
        "eo = 1",
        "[eo]\nwrok = 'x'",
        "[eo]\nday = 3",
        "[eo]\nday = 'Tago {number}'",
        "[eo.days]\nx = '{day}'",
        "[eo",
        "[eo]\nletters = 'z-a'",
    ],
)
def test_a_broken_pack_stops_a_run_at_its_start(folder: Path, text: str) -> None:
    (folder / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=FILE):
        read_packs(folder)
    with pytest.raises(TemplateError, match=FILE):
        check_templates(folder)


@pytest.mark.parametrize(
    ("clock", "language", "told"),
    [
        (Clock(names="10 rounds"), "ja", "第4ラウンド（全10）"),
        (Clock(names="rounds"), "de", "Runde 4"),
        (Clock(names="months", seconds_per_tick=86_400), "ar", "السنة 1، الشهر 1، اليوم 4"),
        (Clock(names="months", seconds_per_tick=30 * 86_400), "es", "Año 1, mes 4"),
        (Clock(), "es", "Día 1"),
        (Clock(names="rounds"), "eo", "round 4"),
    ],
)
def test_rounds_and_months_are_told_in_the_language(clock: Clock, language: str, told: str) -> None:
    with clock.in_force():
        assert pack_of(language).day(clock.minute(4)) == told
