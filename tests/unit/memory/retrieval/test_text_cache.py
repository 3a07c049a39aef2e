"""The cache of computed texts: equal to a new computation, bounded, and effective in a long scan."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from cogitate.memory.language.meanings import is_theme
from cogitate.memory.language.text import stems
from cogitate.memory.retrieval.terms import TERMS, THEMED_TERMS
from cogitate.memory.retrieval.text_cache import TextCache


class Splitter:
    """Splits texts into words, and notes which."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> list[str]:
        self.texts.append(text)
        return text.split()


@pytest.fixture
def split() -> Splitter:
    return Splitter()


def test_terms_are_stems_and_their_themes() -> None:
    text = "Ann sings songs, and sang a song to her sick mother."
    plain, themed = TERMS.of(text), THEMED_TERMS.of(text)
    assert plain == Counter(stems(text))
    assert {term: count for term, count in themed.items() if not is_theme(term)} == plain
    assert any(map(is_theme, themed))
    assert (plain.length, themed.length) == (len(stems(text)), sum(themed.values()))
    assert THEMED_TERMS.of("") == {}


def test_a_text_is_computed_once(split: Splitter) -> None:
    kept = TextCache(split, most=100)
    assert kept.of("Ann sings") is kept.of("Ann sings")
    assert split.texts == ["Ann sings"]


def test_the_cache_is_bounded_by_items(split: Splitter) -> None:
    kept = TextCache(split, most=100)
    for number in range(500):
        assert kept.of(f"house {number}") == ["house", str(number)]
        assert kept._items <= 100
        assert sum(len(one) + 1 for one in kept._values.values()) == kept._items
        assert sorted(kept._texts) == sorted(kept._values)
    assert kept.of(" ".join(f"w{number}" for number in range(300)))[299] == "w299", "one that is too long is not kept"
    assert kept._items <= 100
    assert kept.of("") == []


def test_a_scan_of_more_than_is_kept_still_finds_most_of_it(split: Splitter) -> None:
    kept, texts = TextCache(split, most=3 * 800), [f"house {number}" for number in range(1_000)]
    for text in texts:
        kept.of(text)
    for _ in range(5):
        split.texts.clear()
        for text in texts:
            kept.of(text)
        assert len(split.texts) < 600, "the least recently used would be missed each time"


def test_threads_may_share_it(split: Splitter) -> None:
    kept, texts = TextCache(split, most=60), [f"house {number % 40}" for number in range(2_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(kept.of, texts)) == [text.split() for text in texts]
    assert sum(len(one) + 1 for one in kept._values.values()) == kept._items <= 60
