"""Retrieval on recorded streams: does it find the evidence of an insight?

A query is a thought with evidence, unless its evidence has a chat or an empty text; the query's text is its
`embedding_key`, and so is the text of every candidate. Candidates are the agent's earlier events and thoughts, without
thoughts of the same instant and without those whose text says "idle"; at least 31 of them. Recall@k is the share of
all evidence texts, pooled, that are among the first k results. Nothing later than the query is used, not even for
statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.recordings import Agent, RecordedMemory, Run, load_runs
from bench.table import Row, Table
from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.measures import keyword_overlap, relevance, scaled_importance, scaled_recency
from cogitate.memory.retrieval.retrieval import DEFAULT, SPEC, Component, Query, RetrievalProfile, retrieve

FEWEST = 31  # candidates
DEEP, SHALLOW = 30, 10

_SPEC_DISTINCT = RetrievalProfile(name="spec without repeats", components=SPEC.components)
_OVERLAP = RetrievalProfile(name="overlap", components=(Component("relevance", 1.0, keyword_overlap),))
_BM25 = RetrievalProfile(
    name="bm25",
    components=(
        Component("relevance", 1.0, relevance),
        Component("importance", 0.5, scaled_importance),
        Component("recency", 0.1, scaled_recency),
    ),
)

#: Label, profile, and published figures for other runs, whose data is not public: recall@30 and @10.
_METHODS: tuple[tuple[str, RetrievalProfile, tuple[float, float] | None], ...] = (
    ("streams as specified (Jaccard, .5/.3/.2)", SPEC, (0.651, 0.421)),
    ("… repeats removed", _SPEC_DISTINCT, (0.691, 0.440)),
    ("Jaccard alone, repeats removed", _OVERLAP, (0.799, 0.602)),
    ("BM25, log-age recency, weights .1/.5/1", _BM25, (0.901, 0.655)),
    ("profile default", DEFAULT, None),
)


@dataclass(frozen=True)
class RecordedInsight:
    """A query with the candidates and the texts it should find."""

    query: Query
    candidates: tuple[Entry, ...]
    evidence: frozenset[str]


@dataclass
class _Tally:
    deep: int = 0
    shallow: int = 0
    wanted: int = 0

    def add(self, found: Sequence[str], evidence: frozenset[str]) -> None:
        self.deep += len(evidence.intersection(found[:DEEP]))
        self.shallow += len(evidence.intersection(found[:SHALLOW]))
        self.wanted += len(evidence)


def tables(data: Path) -> list[Table]:
    """Return recall per run and overall, with published figures for comparison; no table without runs."""
    runs = {run.name: list(insights(run)) for run in load_runs(data)}
    runs = {name: found for name, found in runs.items() if found}
    if not runs:
        return []
    rows: list[Row] = []
    for label, profile, published in _METHODS:
        cells: list[float] = []
        overall = _Tally()
        for found in runs.values():
            tally = _Tally()
            for insight in found:
                texts = [scored.entry.text for scored in retrieve(insight.candidates, insight.query, profile)]
                tally.add(texts, insight.evidence)
                overall.add(texts, insight.evidence)
            cells += [tally.deep / tally.wanted, tally.shallow / tally.wanted]
        rows.append(Row(label, (overall.deep / overall.wanted, overall.shallow / overall.wanted, *cells)))
        if published:
            rows.append(Row("published, other runs", (*published, *[None] * len(cells)), published=True))
    embeddings = (0.921, 0.660, *[None] * (2 * len(runs)))
    rows.append(Row("published, other runs: recorded embeddings, tuned", embeddings, published=True))
    columns = [f"{name} @{k}" for name in ("all", *runs) for k in (DEEP, SHALLOW)]
    count = ", ".join(f"{name} {len(found)}" for name, found in runs.items())
    return [Table("Retrieval on recorded streams: evidence recall", tuple(columns), tuple(rows), f"Insights: {count}.")]


def insights(run: Run) -> Iterator[RecordedInsight]:
    """Return the queries of a run, by agent and in order of creation."""
    for agent in run.agents:
        by_id = {node.id: node for node in agent.nodes}
        for node in agent.nodes:
            evidence = [by_id[i] for i in node.evidence if i in by_id]
            if node.type != "thought" or not evidence or not node.key.strip():
                continue
            if any(e.type == "chat" or not e.key.strip() for e in evidence):
                continue
            candidates = tuple(_entry(n, by_id) for n in _earlier(agent, node))
            if len(candidates) >= FEWEST:
                query = Query(minute=node.minute, text=node.key, limit=DEEP)
                yield RecordedInsight(query, candidates, frozenset(e.key for e in evidence))


def _earlier(agent: Agent, query: RecordedMemory) -> Iterator[RecordedMemory]:
    for node in agent.nodes:
        if node.number >= query.number:
            return
        same_instant = node.type == "thought" and node.created == query.created
        if node.type != "chat" and not node.idle and not same_instant:
            yield node


def _entry(node: RecordedMemory, by_id: dict[str, RecordedMemory]) -> Entry:
    return Entry(
        type="reflection" if node.type == "thought" else "observation",
        text=node.key,
        minute=node.minute,
        number=node.number,
        importance=max(1, min(10, node.poignancy)),
        subjects=(node.subject,),
        evidence=tuple(by_id[i].number for i in node.evidence if i in by_id),
    )
