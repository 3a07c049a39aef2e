"""Counts of terms that are kept: the same as when they are counted anew, bounded, and of use to a long scan."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import memory.retrieval.term_counts
from memory.language.concepts import is_theme
from memory.language.text import stems
from memory.retrieval.term_counts import TermCounts


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the texts that are counted anew."""
    found: list[str] = []

    def noted(text: str) -> list[str]:
        found.append(text)
        return stems(text)

    monkeypatch.setattr(memory.retrieval.term_counts, "stems", noted)
    return found


def test_terms_are_stems_and_their_themes() -> None:
    text = "Ann sings songs, and sang a song to her sick mother."
    plain, themed = TermCounts(with_themes=False).of(text), TermCounts(with_themes=True).of(text)
    assert plain == Counter(stems(text))
    assert {term: count for term, count in themed.items() if not is_theme(term)} == plain
    assert any(map(is_theme, themed))
    assert TermCounts(with_themes=True).of("") == {}


def test_a_text_is_counted_once(counted: list[str]) -> None:
    counts = TermCounts(with_themes=False)
    assert counts.of("Ann sings") is counts.of("Ann sings")
    assert counted == ["Ann sings"]


def test_what_is_kept_is_bounded_by_its_terms(counted: list[str]) -> None:
    counts = TermCounts(with_themes=False, most=100)
    for number in range(500):
        assert counts.of(f"house {number}") == {"hous": 1, str(number): 1}
        assert counts._terms <= 100
        assert sum(len(one) + 1 for one in counts._counts.values()) == counts._terms
        assert sorted(counts._texts) == sorted(counts._counts)
    assert counts.of(" ".join(f"w{number}" for number in range(300)))["w299"] == 1, "one that is too long is not kept"
    assert counts._terms <= 100
    assert counts.of("") == {}


def test_a_scan_of_more_than_is_kept_still_finds_most_of_it(counted: list[str]) -> None:
    counts, texts = TermCounts(with_themes=False, most=3 * 800), [f"house {number}" for number in range(1_000)]
    for text in texts:
        counts.of(text)
    for _ in range(5):
        counted.clear()
        for text in texts:
            counts.of(text)
        assert len(counted) < 600, "the least recently used would be missed each time"


def test_threads_may_share_it() -> None:
    counts, texts = TermCounts(with_themes=False, most=60), [f"house {number % 40}" for number in range(2_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(counts.of, texts)) == [Counter(stems(text)) for text in texts]
    assert sum(len(one) + 1 for one in counts._counts.values()) == counts._terms <= 60
