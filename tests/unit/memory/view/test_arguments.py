"""Arguments that a view refuses, and the limits of those that it accepts."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.errors import InputError
from cogitate.memory.view import MemoryView
from tests.unit.memory.view.view_case import BEN

# -- what cannot be used -----------------------------------------------------------------------------

WRONG: list[tuple[Any, str]] = [
    (lambda view: view.recall(5), "query is 5: give a string"),
    (lambda view: view.recall("x" * 4_001), "query has 4,001 characters, at most 4,000 fit"),
    (lambda view: view.recall("x", limit=-1), "limit is -1: give an integer from 0"),
    (lambda view: view.recall("x", limit="all"), "limit is 'all'"),
    (lambda view: view.recall("x", profile="best"), "profile: unknown profile 'best'; use one of default, dialogue"),
    (
        lambda view: view.recall("x", profile=5),
        "profile is 5: give 'default', 'dialogue', 'spec' or a table",
    ),
    (lambda view: view.recall("x", profile={"charm": 1}), "components are relevance, importance"),
    (lambda view: view.recall("x", profile={"recency": "much"}), "profile: recency is 'much': give a number from 0"),
    (lambda view: view.recall("x", profile={"recency": -1}), "profile: recency is -1"),
    (lambda view: view.recall("x", profile={"recency": 0}), "give at least one weight above 0"),
    (lambda view: view.recall("x", profile={}), "give at least one weight above 0"),
    (lambda view: view.recall("x", about=5), "about are 5: give a list of strings"),
    (lambda view: view.recall("x", about=[" "]), "one of about is ' '"),
    (lambda view: view.recall("x", types="dream"), "types: unknown type 'dream'; use one of observation, message"),
    (lambda view: view.recall("x", types=["plan", "dream"]), "unknown type 'dream'"),
    (lambda view: view.recall("x", since="noon"), "since is 'noon'"),
    (lambda view: view.recent(None), "limit is None"),
    (lambda view: view.recent(1.5), "limit is 1.5"),
    (lambda view: view.by_type("dream"), "unknown type 'dream'"),
    (lambda view: view.by_type(5), "type is 5"),
    (lambda view: view.about(""), "subject is ''"),
    (lambda view: view.about([BEN]), "subject is ['agent:ben']"),
    (lambda view: view.between(5, 4), "end is 4: give an integer from 5"),
    (lambda view: view.between("noon", 4), "start is 'noon'"),
    (lambda view: view.reflections(limit=-1), "limit is -1"),
    (lambda view: view.conversations(limit=True), "limit is True"),
    (lambda view: view.context(5), "query is 5"),
    (lambda view: view.context(tokens=0), "tokens is 0: give an integer from 1"),
    (lambda view: view.context(profile="best"), "unknown profile 'best'"),
    (lambda view: view.context(about={}), "about are {}"),
]


def test_an_argument_that_cannot_be_used_is_named(view: MemoryView, subtests: pytest.Subtests) -> None:
    for call, says in WRONG:
        with subtests.test(says=says):
            with pytest.raises(InputError) as refused:
                call(view)
            assert says in str(refused.value)


def test_a_view_accepts_times_within_json_and_at_most_a_million_memories(view: MemoryView) -> None:
    assert view.recall("fair", since=2**53 - 1, limit=1_000_000) == ()
    assert view.between(2**53 - 1, 2**53 - 1) == ()
    for ask in (
        lambda: view.recall("fair", since=2**53),
        lambda: view.recall("fair", limit=1_000_001),
        lambda: view.between(2**53, 2**53),
        lambda: view.between(0, 2**53),
        lambda: view.between(5, 4),
        lambda: view.between(-1, 4),
    ):
        with pytest.raises(InputError, match="give an integer from"):
            ask()
