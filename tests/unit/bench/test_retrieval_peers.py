"""Peers retrieve by the rules that they are measured for."""

from __future__ import annotations

import pytest

from bench.peers.retrieval import GenerativeAgents, GenerativeAgentsVectorised, scaled
from bench.quality.memory import full_stream
from bench.retrieval import fresh_queries


def test_values_are_scaled_over_all_memories() -> None:
    assert scaled({1: 2.0, 2: 4.0, 3: 3.0}) == {1: 0.0, 2: 1.0, 3: 0.5}
    assert scaled({1: 2.0, 2: 2.0}) == {1: 0.5, 2: 0.5}


def test_the_rule_in_columns_is_the_published_one() -> None:
    pytest.importorskip("numpy")
    entries, queries = full_stream(60).live(), fresh_queries()
    plain, columns = GenerativeAgents(entries), GenerativeAgentsVectorised(entries)
    for _ in range(20):
        query = next(queries)
        assert sorted(plain.retrieve(query, 5)) == sorted(columns.retrieve(query, 5))


def test_queries_are_fresh() -> None:
    queries = fresh_queries()
    asked = [next(queries) for _ in range(500)]
    assert len(set(asked)) == len(asked)
