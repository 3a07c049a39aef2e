"""Estimates against real counts, and prompts fitted to their caps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from cogitate.scheduler.config.endpoints import Model, call_cost, upper_bound
from cogitate.tasks.job import Correction, Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.requests import tokens
from cogitate.workers.llm.requests.dialect import schema_instruction
from cogitate.workers.llm.requests.schema import full_schema
from cogitate.workers.llm.requests.tokens import (
    corrected_tokens,
    estimate_tokens,
    estimated_parts,
    prompt_parts,
    prompt_tokens,
)

# The last column is the largest of the counts that four tokenizers gave: cl100k, o200k, and the published ones of
# Anthropic and DeepSeek.
COUNTED = [
    (
        "English",
        "Isabella is decorating Hobbs Cafe for the Valentine's Day party; Klaus, who studies "
        "gentrification, promised to come at 5:30 PM.",
        33,
    ),
    (
        "German",
        "Die Wirtin schmückt das Kaffeehaus für das Frühlingsfest und hofft, dass die "
        "Nachbarschaft vollzählig erscheint.",
        38,
    ),
    (
        "Polish",
        "Właścicielka kawiarni przygotowuje przyjęcie i ma nadzieję, że wszyscy sąsiedzi przyjdą punktualnie.",
        52,
    ),
    ("Finnish", "Kahvilanpitäjä koristelee juhlahuonetta ja toivoo, että naapurit tulevat ajoissa paikalle.", 39),
    ("Swahili", "Mwenye mkahawa anapamba chumba kwa ajili ya sherehe na anatumaini majirani watafika mapema.", 36),
    ("Welsh", "Mae perchennog y caffi yn addurno'r ystafell ar gyfer y parti ac yn gobeithio y daw pawb.", 38),
    ("Vietnamese", "Chủ quán cà phê đang trang trí phòng cho bữa tiệc và hy vọng mọi người sẽ đến đúng giờ.", 56),
    ("Russian", "Хозяйка кафе украшает зал к празднику и надеется, что соседи придут вовремя.", 42),
    ("Kazakh", "Кафе иесі мерекеге залды безендіріп жатыр және көршілер уақытында келеді деп үміттенеді.", 67),
    ("Greek", "Η ιδιοκτήτρια του καφέ στολίζει την αίθουσα για τη γιορτή και ελπίζει να έρθουν όλοι.", 93),
    ("Armenian", "Սրճարանի տիրուհին զարդարում է սրահը տոնի համար։", 88),
    ("Hebrew", "בעלת בית הקפה מקשטת את האולם לקראת החגיגה ומקווה שכולם יגיעו בזמן.", 70),
    ("Arabic", "تزين صاحبة المقهى القاعة للحفل وتأمل أن يصل الجيران في الموعد.", 53),
    ("Hindi", "कैफ़े की मालकिन उत्सव के लिए कमरा सजा रही है और आशा करती है कि सब समय पर आएँगे।", 81),
    ("Tamil", "உணவக உரிமையாளர் விழாவுக்காக அறையை அலங்கரிக்கிறார்.", 95),
    ("Thai", "เจ้าของร้านกาแฟกำลังตกแต่งห้องสำหรับงานเลี้ยง", 77),
    ("Chinese", "咖啡馆的老板娘正在为情人节聚会装饰房间，希望邻居们都能准时到来。", 46),
    ("Japanese", "喫茶店の主人はお祝いのために部屋を飾りつけ、近所の人たちが時間どおりに来ることを願っている。", 50),
    ("Korean", "카페 주인은 파티를 위해 방을 꾸미고 이웃들이 제시간에 오기를 바란다.", 42),
    ("Georgian", "კაფეს მფლობელი დღესასწაულისთვის დარბაზს რთავს.", 87),
    ("emoji", "Great party 🎉🥳 see you 👩‍🔬 tomorrow ❤️", 22),
    (
        "JSON",
        '{"activities": [{"time": "7:00 AM", "description": "wake up and open the cafe", '
        '"location": "hobbs_cafe", "priority": 3}]}',
        42,
    ),
    ("numbers", "3.14159 26535 8979 2024-02-13 17:30:00 +49 171 1234567", 31),
    ("code", "for index, value in enumerate(values):\n    if value is None:\n        continue\n", 18),
]


class Note(BaseModel):
    text: str


def test_estimate_is_on_the_safe_side_in_every_script(subtests: pytest.Subtests) -> None:
    for script, text, counted in COUNTED:
        with subtests.test(script=script, text=text, counted=counted):
            assert counted <= estimate_tokens(text) + 2, "what a prompt says in English makes up for it"
            assert estimate_tokens(text) <= 2 * counted + 3


def test_estimate_of_english_wastes_less_than_its_half() -> None:
    text = " ".join(text for script, text, _ in COUNTED if script == "English")
    assert estimate_tokens(text) < 2 * 33


@given(st.text(max_size=400))
def test_estimate_is_zero_for_nothing_and_bounded_by_bytes(text: str) -> None:
    assert (estimate_tokens(text) == 0) == (text == "")
    assert estimate_tokens(text) <= len(text.encode("utf-8", "surrogatepass")) + 4


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_is_never_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one + "\n" + other) >= max(estimate_tokens(one), estimate_tokens(other))


def spoken(text: str) -> Prompt:
    return Prompt(system="Say.", user=text, answer=Note, version="v")


@pytest.mark.parametrize(
    ("word", "tokens"), [("library", 1), ("Library", 1), ("LIBRARY", 3), ("lIBRARY", 3), ("lbrary", 3)]
)
def test_a_common_word_is_one_token_in_either_case_of_its_first_letter(word: str, tokens: int) -> None:
    assert estimate_tokens(word) == estimate_tokens("") + 3 + tokens


def test_a_script_ends_before_the_next_starts(subtests: pytest.Subtests) -> None:
    cases: list[tuple[int, int, int]] = [
        (0x250, 0x36F, 200),
        (0x370, 0x3FF, 125),
        (0x400, 0x40F, 200),
        (0x410, 0x44F, 60),
        (0x451, 0x451, 60),
        (0x452, 0x52F, 200),
        (0x530, 0x58F, 210),
        (0x590, 0x5FF, 120),
        (0x600, 0x66D, 115),
        (0x66E, 0x77F, 180),
        (0x900, 0x97F, 155),
        (0xE00, 0xE7F, 175),
        (0x10A0, 0x10FF, 210),
        (0x3000, 0x30FF, 125),
        (0x3100, 0x9FFF, 150),
        (0xAC00, 0xD7AF, 140),
        (0xE000, 0xFEFF, 300),
        (0xFF00, 0xFFFF, 150),
        (0x10000, 0x10FFFF, 400),
    ]
    for first, last, hundredths in cases:
        with subtests.test(first=first):
            for char in (chr(first), chr(last)):
                assert estimated_parts("a" + char * 100) == (3 + 1, hundredths)


def test_a_space_before_a_word_of_another_script_is_part_of_it() -> None:
    assert estimated_parts("дом дом") == (3, estimated_parts("домдом").others)
    assert estimated_parts("дом  дом").plain == 3 + 2


def test_small_words_of_an_english_line_are_one_token() -> None:
    assert estimate_tokens("the orchard of a sparrow") == 3 + 5
    assert estimate_tokens("orchard sparrow") == 3 + 3 + 3, "of any language"
    assert estimate_tokens("the Orchard of a sparrow") == 3 + 3 + 4, "a name"


def test_both_parts_of_an_estimate_are_corrected_apart() -> None:
    prompt = spoken("the house " * 20 + "дом" * 100)
    plain, others = prompt_parts(prompt)
    assert prompt_tokens(prompt) == plain + others == corrected_tokens(prompt, Correction())
    assert corrected_tokens(prompt, Correction(700, 1_000)) == -(-plain * 7 // 10) + others
    assert corrected_tokens(prompt, Correction(1_000, 300)) == plain + -(-others * 3 // 10)


def test_schema_counts_towards_the_prompt() -> None:
    class Wide(BaseModel):
        a_rather_long_field_name: int
        another_rather_long_field_name: int

    prompt = spoken("")
    assert prompt_tokens(replace(prompt, answer=Wide)) > prompt_tokens(prompt)


def test_a_prompt_costs_its_two_messages_their_wrapping_and_the_schema() -> None:
    prompt = Prompt(system="", user="", answer=Note, version="v")
    bare = prompt_tokens(prompt)
    assert bare == 16 + estimate_tokens(schema_instruction(full_schema(Note)))
    assert prompt_tokens(replace(prompt, system="abcde")) == bare + estimate_tokens("abcde")
    assert prompt_tokens(replace(prompt, user="abcde fghij")) == bare + estimate_tokens("abcde fghij")


def test_prices_round_up_and_bounds_add_both_caps() -> None:
    model = Model(name="m", model="m", input_price=150_000, cached_input_price=15_000, output_price=600_000)
    assert call_cost(model, 1, 0).usd_micros == 1
    assert call_cost(model, 1_000_000, 1_000_000).usd_micros == 750_000
    assert call_cost(model, 1_000_000, 1_000_000, cached=500_000).usd_micros == 682_500
    assert upper_bound(model, 2_000, 500) == Cost(calls=1, tokens=2_500, usd_micros=600)
    assert call_cost(model, 10, 0, calls=2) == Cost(calls=2, tokens=10, usd_micros=2)
    dear = Model(name="m", model="m", input_price=100_000, cached_input_price=200_000)
    assert upper_bound(dear, 1_000, 500).usd_micros == 200


def test_too_many_words_are_forgotten_and_counted_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MOST_WORDS", 3)
    words = tokens._WordExcess(english=False)
    before = [words[word] for word in ("zyxwv", "bcd", "qqqqqqqq")]
    assert len(words) == 3
    assert words["vvv"] == -1
    assert list(words) == ["vvv"]
    assert [words[word] for word in ("zyxwv", "bcd", "qqqqqqqq")] == before == [-3, -1, -4]
