"""What a record leaves out means the same in every version: ledger and journal hold no values by default."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.scheduler.budget.admission import DecidedLine, Grant
from cogitate.scheduler.budget.rules import Rules, rules_of
from cogitate.scheduler.config.controls import ControlAnswer, SetCadence
from cogitate.scheduler.config.endpoints import KindOfModel, Model
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.engine.corrections import Charged
from cogitate.scheduler.engine.late_answers import Awaited
from cogitate.scheduler.engine.triggers import ScopeTrigger
from cogitate.scheduler.journal.ends import Shortfall
from cogitate.scheduler.journal.lines import (
    Core,
    Correction,
    Ended,
    EndNote,
    Stepped,
    TickNotes,
)
from cogitate.scheduler.journal.outline import CoreOutline, DecisionOutline, EndOutline, NotesOutline
from cogitate.scheduler.journal.run_totals import JobBeginning, RunTotals
from cogitate.scheduler.latency.latencies import Known, LatencyPrior
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import JobKey
from cogitate.tasks.registry import kinds

KEY = [7, "plan", "agent:a", 0, 0]
NOTHING: dict[str, int] = {}

LEFT_OUT: list[tuple[type[Any], dict[str, Any], dict[str, Any]]] = [
    (
        DecidedLine,
        {"key": KEY, "decision": "admitted"},
        {"model": "", "due": 0, "refused": "", "successor": None, "instead": None},
    ),
    (Grant, {"key": KEY, "reserved": {"calls": 1}, "cells": [["day:0", "run"]]}, {}),
    (Ended, {"key": KEY, "end": "applied"}, {"reason": "none", "effects": []}),
    (
        Stepped,
        {"kind": "reflect", "before": 1000, "factor": 500},
        {"ended": 0, "late": 0, "failed": 0, "oldest": 0, "burn": 0},
    ),
    (
        Core,
        {"tick": 7, "minute": 7},
        {
            "unread": [],
            "joined": [],
            "left": [],
            "profiled": [],
            "facts": None,
            "ended": [],
            "late": [],
            "world_effects": [],
            "observed": [],
            "waiting": [],
            "repeated": [],
            "rated": [],
            "cuts": [],
            "deleted": [],
            "controls": [],
            "stepped": None,
            "postponed": [],
            "decided": [],
        },
    ),
    (
        EndNote,
        {"key": KEY, "source": "llm"},
        {
            "usage": NOTHING,
            "retried": NOTHING,
            "attempts": 0,
            "arrival": 0,
            "model": "",
            "prompt": "",
            "failure": "",
            "because": "",
            "empty": "",
            "refusal": "",
            "count": None,
            "unreported": False,
            "saved": False,
            "reasoning": 0,
            "packed": 0,
            "hybrid": False,
            "inputs": "",
            "embedded": 0,
            "service_tier": "",
            "discount": 0,
            "worker": "",
            "tries": [],
            "appended": [],
        },
    ),
    (Correction, {"key": KEY, "at": 9}, {"usage": NOTHING, "saved": False, "kept": False, "inputs": ""}),
    (
        TickNotes,
        {"epoch": 1},
        {
            "origin": None,
            "ended": [],
            "late": [],
            "corrected": [],
            "retried": [],
            "opened": [],
            "answers": [],
            "timed": [],
            "overdue": [],
            "warnings": {},
            "view": [],
            "posted": "",
        },
    ),
    (EndOutline, {"key": KEY, "end": "applied"}, {"reason": "none"}),
    (DecisionOutline, {"key": KEY, "decision": "admitted"}, {"refused": ""}),
    (CoreOutline, {"tick": 7, "minute": 7}, {"ended": [], "decided": []}),
    (NotesOutline, {}, {"ended": [], "corrected": [], "retried": []}),
    (JobBeginning, {"decided": {"key": KEY, "decision": "admitted"}, "note": None}, {"answered": None}),
    (
        RunTotals,
        {},
        {
            "tick": 0,
            "minute": 0,
            "profiles": {},
            "facts": {},
            "jobs": {},
            "refused": {},
            "late_answers": {},
            "warnings": {},
            "usage": {},
            "service_tiers": {},
            "discount": 0,
            "shortfalls": {},
            "open": {},
            "promised": {},
            "view": {},
            "known": {},
            "unknown": {},
            "charged": {},
        },
    ),
    (
        Shortfall,
        {"model": "m", "failure": "timeout", "first": 1, "first_minute": 2, "last": 3, "last_minute": 4},
        {"because": "", "kinds": {}},
    ),
    (
        Result,
        {"effects": [], "source": "llm"},
        {
            "reason": "none",
            "usage": NOTHING,
            "model": "",
            "prompt": "",
            "failure": "",
            "because": "",
            "refusal": "",
            "count": None,
            "unreported": False,
            "late": 0,
            "saved": False,
            "reasoning": 0,
            "packed": 0,
            "hybrid": False,
            "inputs": "",
            "embedded": 0,
            "service_tier": "",
            "discount": 0,
            "worker": "",
            "tries": [],
        },
    ),
    (
        Charged,
        {"ended": 3, "due": 2, "reserved": {"calls": 1}, "cells": [["day:0", "run"]]},
        {"model": "", "kept": False},
    ),
    (Awaited, {"minute": 3, "made": [["agent:a", 7]]}, {"message_sent": False}),
    (
        ScopeTrigger,
        {"scope": "world", "minute": 3},
        {
            "upto": 0,
            "location": "",
            "events": [],
            "tags": [],
            "subjects": [],
            "quest_id": "",
            "encounter_id": "",
            "asked": [],
        },
    ),
    (SetCadence, {"type": "throttle", "kind": "reflect"}, {"factor": None, "pinned": None}),
    (
        ControlAnswer,
        {"id": "1", "tick": 2, "control": {"type": "mode", "mode": "paused"}},
        {"refused": "", "job": "", "cancelled": 0, "held": 0, "by": "", "reason": ""},
    ),
    (
        Model,
        {"name": "small", "model": "qwen"},
        {
            "endpoint": "default",
            "input_price": 0,
            "cached_input_price": 0,
            "output_price": 0,
            "context": 0,
            "seed": None,
            "parameters": "",
            "headroom": 0,
            "reasons": True,
            "pack": "off",
            "batch": "off",
            "service_tier": "standard",
            "kinds": {},
            "percent": 100,
            "priced": True,
            "service_tiers": {},
        },
    ),
    (KindOfModel, {}, {"headroom": None, "parameters": ""}),
    (
        Facts,
        {},
        {
            "locations": [],
            "routines": {},
            "languages": {},
            "spoken": None,
            "embeddings": None,
            "minutes_per_tick": 1,
            "seconds": 0,
            "day_seconds": None,
            "clock_names": None,
            "start_minute": 0,
            "morning": 360,
            "act_interval": 0,
            "names": {},
            "retrieval": None,
            "models": [],
            "ladders": {},
            "scope_names": {},
            "spread": 0,
            "response_cache": False,
            "templates": {},
        },
    ),
    (Known, {}, {"samples": [], "asked": 0}),
    (LatencyPrior, {}, {"usual": {}, "queue": {}, "slots": 1, "assumed": [], "tick_rate": None}),
]
NAMED_OTHERWISE = {"world_effects": "asked", "message_sent": "told"}  # in the record
BY_MEMORY = {"limits"}  # whose own defaults its tests have


def test_defaults_are_unchanged(subtests: pytest.Subtests) -> None:
    for struct, given, rest in LEFT_OUT:
        with subtests.test(struct=struct.__name__):
            read = typed_json.decode(msgspec.json.encode(given), struct)
            assert {name: typed_json.decode(msgspec.json.encode(getattr(read, name))) for name in rest} == rest
            assert {*struct.__struct_fields__} - BY_MEMORY == {*given, *rest} - ({"type"} if "type" in given else set())
            written = {NAMED_OTHERWISE.get(name, name): value for name, value in rest.items()}
            assert typed_json.decode(msgspec.json.encode({**given, **written}), struct) == read


def test_a_key_in_a_record_is_that_of_the_job() -> None:
    line = typed_json.decode(msgspec.json.encode({"key": KEY, "decision": "deferred"}), DecidedLine)
    assert line.key == JobKey(7, "plan", "agent:a", 0, 0)


def test_rules_match_unchanged_settings() -> None:
    usual = rules_of(PinnedSettings(), kinds(), lambda owner: {})
    alone = Rules(kinds=usual.kinds, offers_of=usual.offers_of, latency_of=usual.latency_of, brief=usual.brief)
    for name in ("disabled", "rate_share", "repair_from", "throttle", "coalesce", "max_text", "waits"):
        assert getattr(alone, name) == getattr(usual, name), name
    assert [alone.bounds_of(kind) for kind in alone.kinds] == [usual.bounds_of(kind) for kind in usual.kinds]
