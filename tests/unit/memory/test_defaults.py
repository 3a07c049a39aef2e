"""Defaults are the same in every version: journals and streams omit values equal to their defaults."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    ForgetWaiting,
    Loss,
    MarkAccessed,
    Rate,
    ReplaceSummary,
    SetCharacter,
    losses,
)
from cogitate.memory.entry import MAX_TEXT, Archived, Character, Entry, Head, Marks, PlanItem, as_known, shared
from cogitate.memory.importance import RatedText, RatingState
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies import cells, compaction, window
from cogitate.memory.profile import Location, Profile
from cogitate.memory.seal import Seal, broken_parts
from cogitate.memory.summaries import conversations, parts, units
from cogitate.memory.trigger import ReflectionTrigger

LEFT_OUT: list[tuple[type[Any], dict[str, Any], dict[str, Any]]] = [
    (
        Entry,
        {"type": "plan", "text": "Walk.", "minute": 7},
        {
            "number": 0,
            "tick": 0,
            "location": "",
            "subjects": [],
            "keywords": [],
            "importance": 0,
            "rated": 0,
            "source": "perception",
            "source_id": "",
            "evidence": [],
            "items": [],
            "valid_until": 0,
            "provisional": False,
            "tags": [],
            "quest_id": "",
            "encounter_id": "",
            "since_minute": None,
            "since_number": None,
        },
    ),
    (
        PlanItem,
        {"id": "1-0", "description": "Walk."},
        {"location": None, "minute": None, "priority": 3, "status": "pending"},
    ),
    (Archived, {"tick": 3}, {"into": 0}),
    (Marks, {}, {"accesses": 0, "last_accessed": 0, "repeats": 0, "last_repeat": 0}),
    (Character, {}, {"names": [], "objectives": [], "relationships": {}, "inventory": []}),
    (
        Head,
        {},
        {
            "last_number": 0,
            "summary": "",
            "summary_version": 0,
            "cursors": {},
            "plan_status": {},
            "counters": {},
            "waiting": [],
            "character": {},
        },
    ),
    (RatingState, {}, {"texts": {}, "given": {}, "errors": {}, "recent": [], "considered": 0, "called": 0}),
    (RatedText, {"kind": "seen", "stems": []}, {"ratings": []}),
    (
        Profile,
        {"name": "Ann"},
        {
            "age": None,
            "occupation": "",
            "traits": [],
            "background": "",
            "currently": "",
            "routine": "",
            "group": "",
            "home": "",
            "work": "",
            "language": "",
            "weight": 1.0,
        },
    ),
    (Location, {"id": "a", "name": "A"}, {"type": "", "tags": [], "activities": []}),
    (
        MemoryLimits,
        {},
        {
            "max_observations": 200,
            "max_reflections": 50,
            "max_plans": 7,
            "importance_threshold": 5,
            "reflection_interval": 720,
            "reflection_trigger": "interval",
            "reflection_trigger_max": 150,
            "summary_threshold": 5,
            "retention": 2880,
            "max_archived": None,
            "max_history": 100_000,
            "recount_on_failure": "unchanged",
            "policy": "stream",
            "policies": {},
            "on_failure": "heuristic",
            "cells": 5,
            "token_limit": 4_000,
            "compress_at": 0.8,
            "compress_to": 0.6,
            "retain": 3,
            "passes": 2,
        },
    ),
    (
        Append,
        {"type": "append", "owner": "a", "entry": {"type": "plan", "text": "", "minute": 0}},
        {"replaces": 0, "cut": 0},
    ),
    (
        Archive,
        {"type": "archive", "owner": "a", "numbers": [1]},
        {"into_appended": False, "into_summary": False, "shown": None, "lost": 0},
    ),
    (AdvanceCursor, {"type": "cursor", "owner": "a", "name": "n", "start": 1, "end": 2}, {"shown": None}),
    (ReplaceSummary, {"type": "summary", "owner": "a", "text": "", "version": 1}, {"cut": 0}),
    (ForgetWaiting, {"type": "forget", "owner": "a", "count": 1}, {"start": 0}),
    (SetCharacter, {"type": "character", "owner": "a", "character": {}}, {"cut": 0}),
    (Rate, {"type": "rate", "owner": "a", "numbers": [1], "ratings": [2]}, {"paid": False}),
]


def test_defaults_are_unchanged(subtests: pytest.Subtests) -> None:
    for struct, given, rest in LEFT_OUT:
        with subtests.test(struct=struct.__name__):
            read = typed_json.decode(msgspec.json.encode(given), struct)
            full = {name: typed_json.decode(msgspec.json.encode(getattr(read, name))) for name in rest}
            assert full == rest
            assert {*struct.__struct_fields__} == {*given, *rest} - {"type" if "owner" in given else ""}
            assert typed_json.decode(msgspec.json.encode({**given, **rest}), struct) == read


def test_an_entry_is_known_without_a_rating_that_came_later() -> None:
    entry = Entry(type="observation", text="x", minute=1, importance=7, rated=5)
    assert [as_known(entry, tick).importance for tick in (4, 5, 6)] == [0, 7, 7]
    assert as_known(entry, 4).rated == 0
    assert as_known(msgspec.structs.replace(entry, rated=0), 0).importance == 7


def test_equal_texts_are_held_once() -> None:
    def made() -> Entry:
        word = "".join(["cof", "fee"])
        return shared(
            Entry(
                type="observation",
                text=word + "!",
                minute=1,
                location=word + "1",
                subjects=(word + "2",),
                keywords=(word + "3",),
                source_id=word + "4",
                tags=(word + "5",),
            )
        )

    one, other = made(), made()
    assert one == other
    for name in ("text", "location", "subjects", "keywords", "source_id", "tags"):
        assert getattr(one, name) is getattr(other, name)


def test_fields_that_effects_drop_are_reported() -> None:
    effects = (
        ForgetWaiting(owner="a", count=3),
        ForgetWaiting(owner="a", count=0),
        ReplaceSummary(owner="b", text="", version=1, cut=7),
        ReplaceSummary(owner="b", text="", version=1),
        SetCharacter(owner="c", character=Character(), cut=9),
        SetCharacter(owner="c", character=Character()),
        Archive(owner="e", numbers=(1, 2, 3), lost=2),
        Archive(owner="e", numbers=(4,)),
        MarkAccessed(owner="d", numbers=(1,), minute=1),
    )
    assert list(losses(effects)) == [
        Loss("memory.forgotten", "a", 3),
        Loss("memory.summary_cut", "b", 1),
        Loss("memory.character_cut", "c", 1),
        Loss("memory.history_cut", "e", 2),
    ]


def test_policies_are_an_owners_its_scopes_or_the_runs() -> None:
    limits = MemoryLimits(policy="cells", policies={"npc:smith": "stream", "npc": "tokens", "group": "tokens"})
    found = {owner: limits.policy_of(owner) for owner in ("npc:smith", "npc:ann", "agent:ann", "group:x", "world")}
    assert found == {
        "npc:smith": "stream",
        "npc:ann": "tokens",
        "agent:ann": "cells",
        "group:x": "tokens",
        "world": "stream",
    }


def test_a_trigger_is_150_and_a_fresh_one_is_full() -> None:
    assert ReflectionTrigger() == ReflectionTrigger(150, 150) == ReflectionTrigger.fresh(150)
    assert ReflectionTrigger.fresh(1) == ReflectionTrigger(1, 1)
    for maximum in (0, -1):
        with pytest.raises(ValueError, match=f"not {maximum}"):
            ReflectionTrigger.fresh(maximum)
    assert ReflectionTrigger(10, 4).step([3]) == (ReflectionTrigger(10, 1), False)
    assert ReflectionTrigger(10, 4).step([1, 3]) == (ReflectionTrigger(10, 10), True)
    assert ReflectionTrigger(10, 4).step([9]) == (ReflectionTrigger(10, 10), True)
    assert ReflectionTrigger(10, 4).step([]) == (ReflectionTrigger(10, 4), False)


HEAD = msgspec.json.encode(Head())


def test_a_seal_is_the_same_in_every_version_and_in_any_order() -> None:
    entry = Entry(type="observation", text="Tea.", minute=1, number=1, tick=1)
    other = msgspec.structs.replace(entry, number=2)
    seal, again = Seal(), Seal()
    assert seal.text(HEAD).startswith("0 0 0 ")
    seal.entry(entry, 1)
    seal.entry(other, 1)
    again.entry(other, 1)
    again.entry(entry, 1)
    assert seal.text(HEAD) == again.text(HEAD)
    seal.marks(1, Marks(accesses=1), 1)
    seal.archived(1, Archived(tick=1), 1)
    assert broken_parts(seal.text(HEAD), again.text(HEAD)) == ["archive", "marks"]
    seal.marks(1, Marks(accesses=1), -1)
    seal.archived(1, Archived(tick=1), -1)
    assert seal.text(HEAD) == again.text(HEAD)
    seal.entry(entry, -1)
    assert broken_parts(seal.text(msgspec.json.encode(Head(summary="x"))), again.text(HEAD)) == ["entries", "heads"]
    assert broken_parts(seal.text(HEAD), "not a seal") == ["entries", "archive", "marks", "heads"]
    assert seal.text(HEAD).split()[0] == f"{int(seal.text(HEAD).split()[0], 16):x}"


def test_the_format_of_a_seal_is_unchanged() -> None:
    """Otherwise streams stored by earlier versions could not be read."""
    seal = Seal()
    seal.entry(Entry(type="observation", text="Tea.", minute=1, number=1, tick=1), -1)
    seal.archived(1, Archived(tick=2), -1)
    seal.marks(1, Marks(accesses=1), 1)
    assert seal.text(msgspec.json.encode(Head(summary="x"))) == (
        "3c1d903d9281180951acb29248399839 3d549bcbc19c12dc5a83debe321ee031 451d2ae2eeb08bcbc8e2ba326c972a72 "
        "f8baab5ee57aa37ce419ee373f1a5144"
    )


def test_the_longest_text_is_one_of_4000_characters() -> None:
    assert MAX_TEXT == 4_000


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (
            (compaction.MUNDANE, compaction.WORTHWHILE, compaction.TARGET, compaction.FEWEST, compaction.MOST_SUBJECTS),
            (3, 0.85, 0.75, 3, 12),
        ),
        ((compaction.SETTLED, conversations.GAP), (2_160, 30)),  # game minutes
        ((cells.SUMMARY_TOKENS, window.MOST_SUMMARY), (250, 600)),
        ((parts.LEAST_PART, units.MOST_SENTENCES, units.MAX_SPEAKER), (10, 300, 60)),
    ],
)
def test_memory_is_cut_and_summarised_by_the_figures_that_runs_were_made_with(
    figures: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    """Pin what a boundary removes, and when: it is part of a digest."""
    assert figures == expected
