"""Tokens of a host's own prompt in many languages, against the counts of o200k and cl100k."""

from __future__ import annotations

import pytest

from cogitate.memory.language.word_count import count_tokens


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("Ben promised to repair the roof on Friday.", 9, 12),
        ("Хозяйка кафе украшает зал к празднику и надеется, что соседи придут вовремя.", 20, 42),
        ("咖啡馆的老板娘正在为情人节聚会装饰房间，希望邻居们都能准时到来。", 22, 46),
        ("喫茶店の主人はお祝いのために部屋を飾りつけ、近所の人たちが来ることを願っている。", 25, 50),
        ("카페 주인은 파티를 위해 방을 꾸미고 이웃들이 제시간에 오기를 바란다.", 20, 42),
        ("कैफ़े की मालकिन उत्सव के लिए कमरा सजा रही है और आशा करती है कि सब समय पर आएँगे।", 24, 81),
        ("تزين صاحبة المقهى القاعة للحفل وتأمل أن يصل الجيران في الموعد.", 16, 53),
    ],
)
def test_tokens_of_other_scripts_are_between_those_of_common_vocabularies(text: str, least: int, most: int) -> None:
    assert least <= count_tokens(text) <= most


def test_nothing_takes_no_tokens() -> None:
    assert count_tokens("") == count_tokens(" \n ") == 0
