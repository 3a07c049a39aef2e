"""Terms of texts in several languages."""

from __future__ import annotations

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.language.text import stems
from cogitate.memory.retrieval.candidates import Matching
from cogitate.memory.retrieval.measures import relevance
from cogitate.memory.retrieval.retrieval import DEFAULT, Component, Query, RetrievalProfile, retrieve
from cogitate.memory.retrieval.terms import term_counts, themed_counts
from tests.unit.memory.retrieval_case import memory, numbers

WORDS = RetrievalProfile(name="words", components=(Component("relevance", 1.0, relevance),))


def found(query: str, *texts: str, profile: RetrievalProfile = WORDS) -> list[int]:
    """Return the numbers of the texts that match a query, best first."""
    entries: list[Entry] = [memory(number, text) for number, text in enumerate(texts, start=1)]
    return numbers([one for one in retrieve(entries, Query(minute=0, text=query), profile) if one.score > 0])


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("Wann kommen die Rechnungen?", ("Die Frau ist in der Stadt.", "Mit der Rechnung war er nicht zufrieden.")),
        ("¿Dónde están las redes?", ("El barco está en el puerto.", "La red estaba rota.")),
        ("Où sont les juments ?", ("Il est dans la maison.", "La jument est malade.")),
        ("Где новые книги?", ("Она была в саду.", "Новая книга лежала на столе.")),
        ("من أصلح المضخة؟", ("قال إن السوق بعيد", "قال إن مضخّة الماء قديمة")),
    ],
)
def test_forms_of_a_word_match_and_function_words_do_not(query: str, texts: tuple[str, ...]) -> None:
    assert found(query, *texts) == [2]


def test_a_query_in_few_words_has_the_language_of_the_memory() -> None:
    texts = ("Die Frau ist in der Stadt.", "Mit der Rechnung war er nicht zufrieden.")
    assert found("Kubiak Rechnungen", *texts) == [2]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("钟怎么了？", "铜匠修好了大钟。"),
        ("Wem gehört der Garten?", "Das Gartenhaus ist nicht verschlossen."),
        ("학교는 어디에 있습니까?", "학교에서 큰 소리가 났다."),
    ],
)
def test_parts_of_words_match_less_than_words(query: str, text: str) -> None:
    themed = RetrievalProfile(name="themed", components=WORDS.components, matching=Matching(themes=0.25))
    assert found(query, text) == []
    assert found(query, text, profile=themed) == [1]
    assert found(query, text, query, profile=themed) == [2, 1]
    assert found(query, text, query, profile=DEFAULT)[0] == 2


def test_english_and_undetermined_texts_have_stems_and_no_parts() -> None:
    for text in ("She was walking to the lighthouses.", "Ben Cole", ""):
        assert list(term_counts(text)) == list(dict.fromkeys(stems(text)))
    assert not any(term.startswith("#light") for term in themed_counts("She was walking to the lighthouses."))
