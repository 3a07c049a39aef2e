"""`python -m bench carry`: the contribution of each part of the default profile on each domain.

A domain is a distinct type of memory: recorded conversations, meetings and games of many speakers, informal chats,
friends who catch up in full sentences, a simulated town, a story. A part is kept only if it also helps on domains other
than the one for which it was chosen. `python -m bench quality` measures recorded streams, which contain no talk.

The talks in `talks/` were written for this measurement by language models that knew nothing of the product. One half
was used while the profile was tuned; the other half is held out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import stdev

from bench.carry import story_questions, town_questions
from bench.carry.questions import Asked, Question, games, meetings
from bench.quality.locomo import ADVERSARIAL, entries_of
from bench.quality.recordings import RecordedConversation, load_conversations, read_conversations
from bench.table import Row, Table
from cogitate.memory.language.text import normal
from cogitate.memory.retrieval.candidates import Matching
from cogitate.memory.retrieval.measures import relevance
from cogitate.memory.retrieval.retrieval import DEFAULT, Component, Query, RetrievalProfile, retrieve

DEPTH = 10
TOWN_SEEDS, TOWN_AGENTS, TOWN_DAYS = (11, 12), 12, 6
STORY_SEEDS, STORY_DAYS = (11,), 8
TALKS = Path(__file__).parent / "talks"
BM25 = RetrievalProfile(name="bm25", components=(Component("relevance", 1.0, relevance),), distinct=False)


@dataclass(frozen=True)
class Variant:
    """A retrieval profile and the label of its row."""

    label: str
    profile: RetrievalProfile


def variants() -> list[Variant]:
    """Return plain BM25, the default profile, and the profile without each of its parts."""
    parts = [part for part in DEFAULT.components if part.name != "similarity"]
    return [
        Variant("BM25", BM25),
        Variant("BM25, fields", replace(BM25, matching=Matching(fields=DEFAULT.matching.fields))),
        Variant("profile default", DEFAULT),
        *(Variant(f"… without {part.name}", _without(part.name)) for part in parts),
        Variant("… without themes", replace(DEFAULT, matching=replace(DEFAULT.matching, themes=0.0))),
        Variant("… without rarity", replace(DEFAULT, matching=replace(DEFAULT.matching, rarity=False))),
    ]


def domains(data: Path | None) -> Iterator[tuple[str, list[Asked]]]:
    """Yield each domain with its memories; recorded ones only if available."""
    if data is not None:
        yield from (
            (name, found)
            for name, found in (
                ("conversations", asked_of(load_conversations(data))),
                ("meetings", meetings(data)),
                ("games", games(data)),
            )
            if found
        )
    for name in ("chats", "catch-ups"):
        folder = TALKS / name.replace("-", "_")
        yield name, asked_of(read_conversations(folder / "development"))
        yield f"held-out {name}", asked_of(read_conversations(folder / "held_out"))
    yield "town", [one for seed in TOWN_SEEDS for one in town_questions.memories(TOWN_AGENTS, TOWN_DAYS, seed)]
    yield "story", [one for seed in STORY_SEEDS for one in story_questions.memories(STORY_DAYS, seed)]


def tables(data: Path | None = None) -> Iterator[Table]:
    """Yield tables of recall: by domain, by domain for questions with several facts, and by kind of question."""
    asked = dict(domains(data))
    found = {
        variant.label: [recalls(memories, variant.profile) for memories in asked.values()] for variant in variants()
    }
    rows = [Row(label, tuple(mean(share for _, share in one) for one in by)) for label, by in found.items()]
    several = [
        Row(label, tuple(mean(s for q, s in one if len(q.evidence) > 1) for one in by)) for label, by in found.items()
    ]
    yield Table(f"Evidence among the first {DEPTH}, by domain", tuple(asked), tuple(rows), _counts(asked))
    yield Table("… of questions with several pieces of evidence", tuple(asked), tuple(several), "")
    plain, fields, ours, *_ = found.values()
    for label, other in (("BM25", plain), ("BM25, fields", fields)):
        gains = [
            [share - before for (_, share), (_, before) in zip(one, two, strict=True)]
            for one, two in zip(ours, other, strict=True)
        ]
        figures = (Row("gain", tuple(map(mean, gains))), Row("its standard error", tuple(map(standard_error, gains))))
        yield Table(f"What the default profile gains on {label}", tuple(asked), figures)
    for name, memories in asked.items():
        yield _by_kind(name, memories)


def recalls(memories: Iterable[Asked], profile: RetrievalProfile) -> list[tuple[Question, float]]:
    """Return each question with the share of its evidence among the first results, by number or by text."""
    found: list[tuple[Question, float]] = []
    for memory in memories:
        text_of = {entry.number: normal(entry.text) for entry in memory.entries}
        for question in memory.questions:
            query = Query(minute=memory.now, text=question.text, limit=DEPTH)
            texts = {text_of[one.entry.number] for one in retrieve(memory.entries, query, profile)}
            shown = sum(text_of[number] in texts for number in question.evidence)
            found.append((question, shown / len(question.evidence)))
    return found


def _by_kind(name: str, memories: Sequence[Asked]) -> Table:
    plain, ours = recalls(memories, BM25), recalls(memories, DEFAULT)
    kinds = dict.fromkeys(question.kind for question, _ in ours)
    rows = [
        Row(
            kind,
            (
                sum(question.kind == kind for question, _ in ours),
                mean(share for question, share in plain if question.kind == kind),
                mean(share for question, share in ours if question.kind == kind),
            ),
        )
        for kind in kinds
    ]
    return Table(f"By kind of question: {name}", ("questions", "BM25", "profile default"), tuple(rows))


def _without(name: str) -> RetrievalProfile:
    return replace(DEFAULT, components=tuple(part for part in DEFAULT.components if part.name != name))


def asked_of(conversations: Iterable[RecordedConversation], *, adversarial: bool = False) -> list[Asked]:
    """Return the memories of conversations with their adversarial questions, or with all others."""
    kinds = {1: "several facts", 2: "time", 3: "inference", 4: "one fact"}
    found: list[Asked] = []
    for conversation in conversations:
        number = {turn.id: place for place, turn in enumerate(conversation.turns, start=1)}
        questions = tuple(
            Question(asked.text, kinds.get(asked.category, "other"), frozenset(number[turn] for turn in asked.evidence))
            for asked in conversation.questions
            if (asked.category == ADVERSARIAL) is adversarial
        )
        found.append(Asked(conversation.name, entries_of(conversation, described=True), questions))
    return found


def _counts(asked: dict[str, list[Asked]]) -> str:
    counts = {name: sum(len(one.questions) for one in memories) for name, memories in asked.items()}
    return "Questions: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + "."


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def mean(values: Iterable[float]) -> float:
    """Return the mean; 0 of nothing."""
    found = list(values)
    return sum(found) / len(found) if found else 0.0
