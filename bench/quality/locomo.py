"""Retrieval in long conversations (LoCoMo): does it find the lines that answer a question?

A question counts if at least one of its evidence ids exists. All lines of its conversation are ranked. Recall@k is the
share of its evidence lines among the first k, averaged over the questions of categories 1 to 4; category 5
(adversarial: it names the wrong speaker) is reported separately. MRR uses the first evidence line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.quality.recordings import RecordedConversation, Turn, load_conversations
from bench.table import Row, Table
from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.candidates import Matching
from cogitate.memory.retrieval.measures import keyword_overlap, relevance
from cogitate.memory.retrieval.retrieval import DIALOGUE, Component, Query, RetrievalProfile, retrieve

ADVERSARIAL = 5  # category
DEPTHS = (5, 10, 30)

_OVERLAP = RetrievalProfile(name="overlap", components=(Component("relevance", 1.0, keyword_overlap),), distinct=False)
_BM25 = RetrievalProfile(name="bm25", components=(Component("relevance", 1.0, relevance),), distinct=False)
_BM25_FIELDS = RetrievalProfile(
    name="bm25 with fields",
    components=_BM25.components,
    matching=Matching(fields=DIALOGUE.matching.fields),
    distinct=False,
)

#: Label, profile, whether caption and date are given, and what others reach on conversations not published with the
#: code: recall@5, @10, @30 and MRR.
_METHODS: tuple[tuple[str, RetrievalProfile, bool, tuple[float, ...] | None], ...] = (
    ("Jaccard", _OVERLAP, False, (0.239, 0.291, 0.416, 0.196)),
    ("BM25, stop words, stemming", _BM25, False, (0.504, 0.579, 0.674, 0.434)),
    ("… + speaker, caption and date text", _BM25_FIELDS, True, (0.563, 0.630, 0.731, 0.488)),
    ("profile dialogue", DIALOGUE, True, None),
)
_OTHERS = (
    ("published: neighbour smoothing, speaker bonus", (0.650, 0.728, 0.830, 0.561)),
    ("published: … tuned windows, dates, irregular forms", (0.723, 0.793, 0.877, 0.626)),
    ("published: MiniLM embeddings", (0.450, 0.572, 0.743, 0.363)),
    ("published: the last lexical row + MiniLM", (0.742, 0.814, 0.896, 0.637)),
)


@dataclass(frozen=True)
class _Outcome:
    conversation: str
    category: int
    recall: tuple[float, ...]  # at each of DEPTHS
    reciprocal: float


def tables(data: Path) -> list[Table]:
    """Return recall overall and per conversation, with published figures for comparison; empty without LoCoMo."""
    conversations = load_conversations(data)
    if not conversations:
        return []
    names = [c.name for c in conversations]
    rows: list[Row] = []
    for label, profile, described, published in _METHODS:
        outcomes = [o for c in conversations for o in _outcomes(c, profile, described)]
        main = [o for o in outcomes if o.category != ADVERSARIAL]
        adversarial = [o for o in outcomes if o.category == ADVERSARIAL]
        each = [_mean(o.recall[1] for o in main if o.conversation == name) for name in names]
        figures = [_mean(o.recall[i] for o in main) for i in range(len(DEPTHS))]
        rows.append(
            Row(
                label,
                (
                    *figures,
                    _mean(o.reciprocal for o in main),
                    _mean(o.recall[1] for o in adversarial),
                    *each,
                ),
            )
        )
        if published:
            rows.append(_published("published, other conversations", published, len(names)))
    rows += [_published(label, figures, len(names)) for label, figures in _OTHERS]
    questions = sum(len(c.questions) for c in conversations)
    return [
        Table(
            "Retrieval in long conversations (LoCoMo): evidence recall",
            ("r@5", "r@10", "r@30", "MRR", "adversarial r@10", *(f"{name} r@10" for name in names)),
            tuple(rows),
            f"{questions} questions on {len(names)} conversations; no model call.",
        )
    ]


def entries_of(conversation: RecordedConversation, described: bool) -> list[Entry]:
    """Return the lines as messages; `described` adds captions and dates as tags."""
    return [
        Entry(
            type="message",
            text=turn.text,
            minute=_minute(turn),
            number=number,
            subjects=(turn.speaker,),
            source="dialogue",
            source_id=f"session-{turn.session}",
            tags=_described(turn) if described else (),
        )
        for number, turn in enumerate(conversation.turns, start=1)
    ]


def _outcomes(conversation: RecordedConversation, profile: RetrievalProfile, described: bool) -> list[_Outcome]:
    entries = entries_of(conversation, described)
    place = {turn.id: number for number, turn in enumerate(conversation.turns, start=1)}
    found: list[_Outcome] = []
    for question in conversation.questions:
        query = Query(minute=entries[-1].minute, text=question.text, limit=len(entries))
        ranked = {s.entry.number: rank for rank, s in enumerate(retrieve(entries, query, profile))}
        ranks = [ranked[place[turn]] for turn in question.evidence]
        recall = tuple(sum(rank < depth for rank in ranks) / len(ranks) for depth in DEPTHS)
        found.append(_Outcome(conversation.name, question.category, recall, 1 / (1 + min(ranks))))
    return found


def _described(turn: Turn) -> tuple[str, ...]:
    date = f"{turn.when:%B} {turn.when.day} {turn.when.year}" if turn.when else ""
    return tuple(part for part in (turn.caption, date) if part)


def _minute(turn: Turn) -> int:
    return (turn.when.toordinal() * 24 + turn.when.hour) * 60 + turn.when.minute if turn.when else 0


def _published(label: str, figures: tuple[float, ...], conversations: int) -> Row:
    return Row(label, (*figures, None, *[None] * conversations), published=True)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
