"""The query of a retrieval, and its candidates with the values that several measures share."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import lt
from typing import Literal

from cogitate.memory.entry import Entry, EntryType, is_dialogue, is_of_event, rating
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED
from cogitate.memory.language.meanings import is_theme, rarity
from cogitate.memory.language.sentences import QUESTIONS
from cogitate.memory.language.text import extract_keywords, normal, normalized, words
from cogitate.memory.retrieval.scoring import bm25
from cogitate.memory.retrieval.terms import TERMS, THEMED_TERMS, Terms, term_counts, themed_counts

BEFORE = (0.5, 0.4)  # shares that a line gains of the relevance of the lines one and two before it
AFTER = (0.35, 0.15)  # … and of the lines one and two after it
ANSWER = 0.5  # further share of the line before, if that asks: its answer often repeats none of its words
_LONGEST_NAME = 60  # characters of a line that may be the name of its speaker

Field = Literal["text", "speaker", "keywords", "tags"]


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query. An empty filter lets every entry pass.

    `similarity` is the hook for embeddings: a host with vectors gives the similarity of each entry to the query by
    entry number (higher is nearer; any scale). An entry without one gets the mean of the others.
    """

    minute: int  # now, game time in total minutes
    text: str = ""  # situation or question in words
    terms: tuple[str, ...] = ()  # search words, instead of those of `text`
    limit: int = 10  # largest number of results
    types: tuple[EntryType, ...] = ()
    subjects: tuple[str, ...] = ()  # entries that involve any of these
    min_importance: int = 0  # 1 to 10; an unrated entry counts as `entry.ORDINARY`
    similarity: Mapping[int, float] = field(default_factory=dict)

    @property
    def filters(self) -> bool:
        """Return whether any filter is set."""
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
    """The rules for matching words.

    Attributes:
        fields: the searched parts of an entry. `speaker` is the speaker's name, for a line that does not begin with it.
        themes: the weight of a theme or of a part of a word that an entry shares with the query; a shared word weighs 1
            (`meanings`, `terms`).
        rarity: whether a word of the query counts less the more frequent it is in English: a memory is too small to
            show that "thing" or "happen" carries little meaning (`meanings`).
    """

    fields: tuple[Field, ...] = ("text",)
    themes: float = 0.0
    rarity: bool = False


class Candidates:
    """The entries that pass a query's filters, in order of number."""

    def __init__(self, entries: Sequence[Entry], query: Query, matching: Matching) -> None:
        admitted = [e for e in entries if query.admits(e)] if query.filters else list(entries)
        numbers = [entry.number for entry in admitted]
        in_order = all(map(lt, numbers, numbers[1:]))  # as in a stream, where no sort is needed
        self.entries = admitted if in_order else sorted(admitted, key=order)
        self.query = query
        self.matching = matching

    @cached_property
    def relevance(self) -> list[float]:
        """Return each entry's match with the query's words: its BM25, scaled so that the best match is 1.

        The statistics count a text once, however often it was observed; otherwise frequent observations would make
        their own words worthless.
        """
        terms = {term: count * self._weight(term) for term, count in self._asked_terms.items()}
        distinct = dict(zip(self.documents, self._terms, strict=True))
        scores = bm25(list(distinct.values()), terms)
        best = max(scores, default=0.0) or 1.0
        if len(distinct) == len(self.documents):
            return [score / best for score in scores]
        by_document = {document: score / best for document, score in zip(distinct, scores, strict=True)}
        return [by_document[document] for document in self.documents]

    @cached_property
    def lengths(self) -> list[int]:
        """Return the number of distinct terms of each entry."""
        return list(map(len, self._terms))

    @cached_property
    def scenes(self) -> Collection[Sequence[int]]:
        """Return the indices of the candidates of each scene, in order of number."""
        scenes: dict[str, list[int]] = {}
        for index, entry in enumerate(self.entries):
            if entry.source_id and not is_of_event(entry):
                scenes.setdefault(entry.source_id, []).append(index)
        return scenes.values()

    @cached_property
    def neighbours(self) -> list[float]:
        """Return the relevance that each line gains from the lines around it in its scene; may exceed 1."""
        values = [0.0] * len(self.entries)
        for lines in self.scenes:
            for at, index in enumerate(lines):
                own = self.relevance[index]
                if not own:
                    continue
                for line, share in zip(lines[at + 1 :], BEFORE, strict=False):
                    values[line] += share * own
                if at + 1 < len(lines) and asks(self.entries[index]):
                    values[lines[at + 1]] += ANSWER * own
                for line, share in zip(reversed(lines[:at]), AFTER, strict=False):
                    values[line] += share * own
        return values

    @cached_property
    def matched(self) -> list[float]:
        """Return how well each entry and the lines around it match the query, from 0 to 1.

        If nothing matches, each value is 1, since relevance then decides nothing; without a query, each is 0.
        """
        if not self.query.text and not self.query.terms:
            return [0.0] * len(self.entries)
        if not any(self.relevance):
            return [1.0] * len(self.entries)
        return [min(1.0, own + gained) for own, gained in zip(self.relevance, self.neighbours, strict=True)]

    @cached_property
    def talk(self) -> list[bool]:
        """Return which entries are lines of talk or events."""
        return [bool(entry.source_id) or is_dialogue(entry) for entry in self.entries]

    @cached_property
    def keywords(self) -> list[str]:
        """Return the query's terms, or else the keywords of its text (streams design)."""
        return list(self.query.terms) or extract_keywords(self.query.text)

    @cached_property
    def texts(self) -> list[str]:
        """Return each entry's text in the normal form that exact repeats share."""
        return [normal(entry.text) for entry in self.entries]

    @cached_property
    def documents(self) -> list[str]:
        """Return the searched text of each entry."""
        return [_document(entry, self.matching.fields) for entry in self.entries]

    @cached_property
    def _terms(self) -> list[Terms]:
        return list(map(self._terms_of, self.documents))

    @cached_property
    def _terms_of(self) -> Callable[[str], Terms]:
        return (THEMED_TERMS if self.matching.themes > 0 else TERMS).of

    @property
    def _asked_terms(self) -> Terms:
        """Return the query's terms, in the language of most entries if its own is undetermined."""
        text = " ".join(self.query.terms) if self.query.terms else self.query.text
        asked = self._terms_of(text)
        if asked.language != UNDETERMINED:
            return asked
        languages = Counter(terms.language for terms in self._terms if terms.language != UNDETERMINED)
        language = languages.most_common(1)[0][0] if languages else ENGLISH
        if language == ENGLISH:
            return asked
        return (themed_counts if self.matching.themes > 0 else term_counts)(text, language)

    def _weight(self, term: str) -> float:
        if is_theme(term):
            return self.matching.themes
        return rarity(term) if self.matching.rarity else 1.0


@lru_cache(maxsize=16_384)
def speaker_of(subjects: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Return the words of the speaker's name: of the subject whose name begins the text, otherwise of the first."""
    names = [plain_words(display_name(subject)) for subject in subjects]
    if len(names) < 2:
        return names[0] if names else ()
    beginning = plain_words(text[:_LONGEST_NAME])
    return next((name for name in names if name and beginning[: len(name)] == name), names[0])


@lru_cache(maxsize=8192)
def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents: an id often lacks the accents of the name."""
    decomposed = normalized(text, "NFKD")
    return tuple(words("".join(char for char in decomposed if not unicodedata.combining(char))))


def _document(entry: Entry, fields: tuple[Field, ...]) -> str:
    """Return these fields of an entry as one text."""
    text = entry.text
    if entry.subjects and (entry.type == "message" or entry.source == "dialogue") and "speaker" in fields:
        text = _with_speaker(text, entry.subjects)
    if entry.keywords and "keywords" in fields:
        text = " ".join((text, *entry.keywords))
    if entry.tags and "tags" in fields:
        text = " ".join((text, *entry.tags))
    return text


@lru_cache(maxsize=16_384)
def _with_speaker(text: str, subjects: tuple[str, ...]) -> str:
    """Return a line with its speaker's name, unless it begins with that."""
    name = speaker_of(subjects, text)
    return text if plain_words(text[:_LONGEST_NAME])[: len(name)] == name else f"{text} {' '.join(name)}"


def asks(entry: Entry) -> bool:
    """Return whether the line ends with a question mark (of any script)."""
    return entry.text.rstrip().endswith(QUESTIONS)


def order(entry: Entry) -> tuple[int, int, str]:
    """Return the sort key of an entry: number, then (for entries not appended yet) time and text."""
    return entry.number, entry.minute, entry.text


def display_name(subject: str) -> str:
    """Return the name in a subject: "isabella" for "agent:isabella"."""
    return subject.rpartition(":")[2]
