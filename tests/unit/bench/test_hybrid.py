"""Ways to combine words and vectors, on memories with vectors of our own."""

from __future__ import annotations

from bench.carry import carry
from bench.carry.hybrid import WAYS, Searched, as_words, by_rank, recalls, searched
from bench.carry.questions import Asked, Question
from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.retrieval import DEFAULT
from cogitate.memory.retrieval.vectors import packed

NEAR, FAR = packed([1.0, 0.0]), packed([0.0, 1.0])
ASKED = "Where did the ship sink?"


def memory(*texts: str, answer: int) -> Asked:
    lines = [Entry(type="observation", text=text, minute=n, number=n) for n, text in enumerate(texts, 1)]
    return Asked("ann", lines, (Question(ASKED, "one", frozenset({answer})),))


OTHERS = [f"Cart {number} was painted." for number in range(11)]
DROWNED = memory("A vessel went down off the cape.", *OTHERS, answer=1)
VECTORS: dict[str, bytes | None] = {ASKED: NEAR, DROWNED.entries[0].text: NEAR, **dict.fromkeys(OTHERS, FAR)}


def test_vectors_find_an_answer_in_other_words() -> None:
    found = recalls([DROWNED], dict(VECTORS))
    assert found["words"] == [0.0]
    assert found["vectors"] == found["vectors as words"] == found["product: similarity 0.8"] == [1.0]


def test_words_alone_find_what_the_default_profile_finds() -> None:
    for answer in (1, 2, 7, 12):
        asked = memory(*(entry.text for entry in DROWNED.entries), answer=answer)
        assert recalls([asked], dict(VECTORS))["words"] == [s for _, s in carry.recalls([asked], DEFAULT)]


def test_equal_vectors_leave_the_order_of_words() -> None:
    one = searched(DROWNED, ASKED, dict.fromkeys(VECTORS, NEAR))
    order = sorted(range(12), key=one.words.__getitem__)
    for way in ("product: similarity 0.8", "halves, each from 0 to 1", "halves, standardised"):
        scores = WAYS[way](one)
        assert sorted(range(12), key=scores.__getitem__) == order


def test_ranks_count_by_their_reciprocals() -> None:
    one = searched(DROWNED, ASKED, dict(VECTORS))
    given = Searched(one.candidates, [3.0, 1.0, 2.0], [0.1, 0.9, 0.5])
    assert by_rank(given) == [1 / 61 + 1 / 63, 1 / 63 + 1 / 61, 1 / 62 + 1 / 62]


def test_relevance_by_vectors_reaches_the_neighbours_of_a_line() -> None:
    texts = ["Hello there.", "A vessel went down.", "Yes.", "Hm.", "Well.", "Bye."]
    lines = [
        Entry(type="message", text=text, minute=n, number=n, subjects=("Ann",), source="dialogue", source_id="s")
        for n, text in enumerate(texts, 1)
    ]
    asked = Asked("ann", lines, (Question(ASKED, "one", frozenset({3})),))
    vectors: dict[str, bytes | None] = {ASKED: NEAR, **dict.fromkeys(texts, FAR), texts[1]: NEAR}
    one = searched(asked, ASKED, vectors)
    by_way = as_words(one)
    assert one.words[2] < one.words[4], "the later of two lines that say as little"
    assert by_way[2] > by_way[4]
