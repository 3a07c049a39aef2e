"""The query of a retrieval, and its candidates with the values that several measures share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import lt
from typing import Literal

from cogitate.memory.entry import Entry, EntryType
from cogitate.memory.language.meanings.concepts import is_theme
from cogitate.memory.language.meanings.near_words import near_words
from cogitate.memory.language.meanings.word_vectors import cosine, mean_vector, rarity
from cogitate.memory.language.text import extract_keywords, normal, stem, stems
from cogitate.memory.retrieval.scoring import bm25, rating
from cogitate.memory.retrieval.terms import TERMS, THEMED_TERMS, VECTORS

_CAPITALIZED = re.compile(r"\b[A-Z][A-Za-z]*")

Field = Literal["text", "subjects", "keywords", "tags"]


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query. An empty filter lets every entry pass.

    `similarity` is the hook for embeddings: a host that has vectors gives, by entry number, how similar each entry
    is to the query (higher is nearer; any scale). Without it nothing changes.
    """

    minute: int  # now, game time in total minutes
    text: str = ""  # situation or question in words
    terms: tuple[str, ...] = ()  # search words, instead of those of `text`
    limit: int = 10  # how many entries
    types: tuple[EntryType, ...] = ()
    subjects: tuple[str, ...] = ()  # entries that involve any of these
    min_importance: int = 0  # 1 to 10; what is not rated yet counts as `scoring.ORDINARY`
    similarity: Mapping[int, float] = field(default_factory=dict)

    @property
    def filters(self) -> bool:
        """Return whether there is a filter at all."""
        return bool(self.types or self.subjects or self.min_importance > 0)

    def admits(self, entry: Entry) -> bool:
        """Return whether an entry passes the filters."""
        return (
            (not self.types or entry.type in self.types)
            and (not self.subjects or any(subject in self.subjects for subject in entry.subjects))
            and rating(entry) >= self.min_importance
        )


@dataclass(frozen=True, kw_only=True)
class Matching:
    """Rules of matching words.

    Attributes:
        fields: the parts of an entry that are searched.
        themes: the weight of a theme that an entry shares with the query; a shared word weighs 1 (`meanings.concepts`).
        near: how often an entry counts as holding a word of the query when it only has one that is near in meaning
            (`meanings.near_words`).
        rarity: whether a word of the query counts the less, the more frequent it is in English: a memory is too small
            to tell that "thing" or "happen" asks for nothing (`meanings.word_vectors`).
    """

    fields: tuple[Field, ...] = ("text",)
    themes: float = 0.0
    near: float = 0.0
    rarity: bool = False


class Candidates:
    """The entries that pass a query's filters, in order of number."""

    def __init__(self, entries: Sequence[Entry], query: Query, matching: Matching) -> None:
        admitted = [e for e in entries if query.admits(e)] if query.filters else list(entries)
        numbers = [entry.number for entry in admitted]
        in_order = all(map(lt, numbers, numbers[1:]))  # as a stream's entries are: then no keys need be made
        self.entries = admitted if in_order else sorted(admitted, key=order)
        self.query = query
        self.matching = matching

    @cached_property
    def relevance(self) -> list[float]:
        """Return each entry's match with the query's words: its BM25 over that of an entry of mean length with all
        words of the query. About 0 to 1; 0 without a word in common.

        So a query whose best match is weak leaves more to the other measures, unlike scaling by the best match. An
        entry's text counts once in the statistics however often it was observed, or frequent observations would make
        their own words worthless.
        """
        setting = self.matching
        counts_of = (THEMED_TERMS if setting.themes > 0 else TERMS).of
        asked = counts_of(self._asked)
        terms = {term: count * self._weight(term) for term, count in asked.items()}
        near = _near(self._asked, asked) if setting.near > 0 else {}
        different = list(dict.fromkeys(self.documents))
        scores = bm25([counts_of(document) for document in different], terms, near, setting.near)
        by_document = dict(zip(different, scores, strict=True))
        return [by_document[document] for document in self.documents]

    @cached_property
    def relevance_to_best(self) -> list[float]:
        """Return the relevance of each entry, scaled so that the best match is 1."""
        best = max(self.relevance, default=0.0) or 1.0
        return [value / best for value in self.relevance]

    @cached_property
    def cosines(self) -> list[float]:
        """Return the cosine of the vectors of each entry and the query, without names; 0 where it is negative."""
        names = _names(self._asked)
        asked = mean_vector(word for word in stems(self._asked) if word not in names)
        fields = tuple(field for field in self.matching.fields if field != "subjects")
        return [max(0.0, cosine(asked, VECTORS.of(_document(entry, fields)))) for entry in self.entries]

    @cached_property
    def keywords(self) -> list[str]:
        """Return the query's terms, or else the keywords of its text (streams design)."""
        return list(self.query.terms) or extract_keywords(self.query.text)

    @cached_property
    def texts(self) -> list[str]:
        """Return each entry's text as a key for exact repeats."""
        return [normal(entry.text) for entry in self.entries]

    @cached_property
    def documents(self) -> list[str]:
        """Return the text of each entry that is searched."""
        return [_document(entry, self.matching.fields) for entry in self.entries]

    @property
    def _asked(self) -> str:
        return " ".join(self.query.terms) if self.query.terms else self.query.text

    def _weight(self, term: str) -> float:
        if is_theme(term):
            return self.matching.themes
        return rarity(term) if self.matching.rarity else 1.0


def _document(entry: Entry, fields: tuple[Field, ...]) -> str:
    """Return these parts of an entry as one text."""
    if fields == ("text",):
        return entry.text
    parts: dict[Field, tuple[str, ...]] = {
        "text": (entry.text,),
        "subjects": tuple(display_name(subject) for subject in entry.subjects),
        "keywords": entry.keywords,
        "tags": entry.tags,
    }
    return " ".join(part for name in fields for part in parts[name])


def _near(text: str, asked: Mapping[str, int]) -> dict[str, frozenset[str]]:
    """Return the near words of each word of the query, except names and words that the query has already."""
    names = _names(text)
    found = {term: words for term in asked if (words := near_words(term)) and term not in names}
    return {term: words if words.isdisjoint(asked) else words - asked.keys() for term, words in found.items()}


def _names(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that may be names."""
    return frozenset(stem(word.lower()) for word in _CAPITALIZED.findall(text))


def order(entry: Entry) -> tuple[int, int, str]:
    """Return the sort key of an entry: number, then (for entries not appended yet) time and text."""
    return entry.number, entry.minute, entry.text


def display_name(subject: str) -> str:
    """Return the name in a subject: "isabella" of "agent:isabella"."""
    return subject.rpartition(":")[2]
