"""The names of Redis keys. All keys of a run share one hash tag, so one script may touch them all.

Keys that belong to no run have other slots in a cluster; no step touches them together with those of a run.
"""

from __future__ import annotations

import os
import random
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from redis import Redis
from redis.commands.core import Script

RUNS = "cogitate:runs"  # set of run names
DELETED_BATCHES = "cogitate:deleted_batches"  # hash: tag -> JSON of a batch whose run was deleted

#: Keys that a run has once, under its prefix. It has several keys of `job:`, `window:`, `due:`, `ready:` and
#: `answered:`.
RunKey = Literal[
    "state",
    "jobs",
    "unclaimed",
    "staged",
    "waiting",
    "open",
    "attempts",
    "lost",
    "beats",
    "arrivals",
    "windows",
    "view",
    "owners",
    "retired",
    "heads",
    "facts",
    "journal",
    "journal_checkpoints",
    "origin_journal",
    "origin_outcomes",
    "origin_answers",
    "checkpoint",
    "controls",
    "answers",
    "knock",
    "ratings",
    "alone",
    "awaited",
    "offered",
    "charged",
    "unsettled",
    "corrections",
    "retries",
    "recorded",
    "recorded_at",
    "recorded_bytes",
    "readiness",
    "host",
    "latencies",
    "timed",
    "seals",
    "history",
    "vectors",
    "vectors_at",
    "vectors_wanted",
    "batched",
    "batch_lines",
    "batches",
    "batch_desk",
    "served",
]
OF_RUN: frozenset[str] = frozenset(get_args(RunKey))

#: Keys of each owner, followed by ":" and its name: see `cogitate.scheduler.ledger.streams`.
OwnerKey = Literal["entries", "archive", "archived", "into", "marks"]
OF_OWNERS: frozenset[str] = frozenset(get_args(OwnerKey))

#: Answers that runs store for later ones (`cogitate.workers.jobs.stored_texts`): they belong to no run and outlive
#: every run. Their tag lets one script touch all three; no key of a run has their prefix.
RESPONSES = ("cogitate:{responses}", "cogitate:{responses}_at", "cogitate:{responses}_bytes")

ENDPOINTS = "cogitate:endpoints"  # set of the names of called endpoints
WORKERS = "cogitate:workers"  # hash of the heartbeats of worker processes: `cogitate.scheduler.ledger.worker_signs`


#: Seeded by the system, anew in each process. Asking the system for each nonce would cost a switch of threads.
_nonces = random.Random()
os.register_at_fork(after_in_child=_nonces.seed)


def new_nonce() -> str:
    """Return a random nonce, so a value that a power failure lost is never taken for a new one."""
    return f"{_nonces.getrandbits(64):016x}"


def run_base(run: str) -> str:
    """Return the prefix of every key of a run's name."""
    return f"cogitate:{{{run}}}:"


def incarnation_key(run: str) -> str:
    """Return the key that holds the nonce of the run's present incarnation."""
    return run_base(run) + "incarnation"


def moving_key(run: str) -> str:
    """Return the key that marks a run as leaving a ledger, or as gone from it: see `lua/whole.lua`."""
    return run_base(run) + "moving"


def run_prefix(run: str, incarnation: str) -> str:
    """Return the prefix of every key of one incarnation of a run."""
    return f"{run_base(run)}{incarnation}:"


def real_day_key(date: str) -> str:
    """Return the key of all runs' spending on a real day, such as "2026-03-01"; it outlives every run."""
    return f"cogitate:real_day:{date}"


@cache  # endpoints are few, and each call needs these names
def endpoint_keys(endpoint: str) -> tuple[str, ...]:
    """Return the keys of an endpoint: gate, slots, counters, times, changes, calls and callers.

    They belong to no run and outlive every run.
    """
    parts = ("gate", "slots", "counters", "times", "changes", "calls", "callers")
    return tuple(f"cogitate:endpoint:{{{endpoint}}}:{part}" for part in parts)


def batch_times_key(endpoint: str) -> str:
    """Return the key of the durations of an endpoint's latest batches; it belongs to no run."""
    return f"cogitate:endpoint:{{{endpoint}}}:batches"


#: The Lua preludes of the engine's parts, in the order of their values in replies.
_PARTS = ("parts", "late", "corrections", "retries")

_PRELUDES: dict[str, tuple[str, ...]] = {
    "acquire": (),
    "claim": ("accounts", "parts", "retries"),
    "settle": ("accounts", *_PARTS),
    "beat": (),
    "park": (),
    "batches": ("accounts",),
    "ask_ready": ("fence",),
    "carry_out": (),
    "ready": (),
    "collect": ("fence", "accounts", "rows", *_PARTS),
    "advance": ("fence", "accounts", "rows", *_PARTS),
    "present": (),
    "checkpoint": ("fence",),
    "trim": ("fence",),
    "finish": ("fence",),
    "control": (),
    "delete": (),
    "vectors": (),
    "real_day": (),
}


Reply = list[Any]  # of a script: texts as bytes, integers, and lists of them


@cache
def source(name: str) -> str:
    """Return the text of a script, preludes first."""
    folder = resources.files(__package__) / "lua"
    parts = ("real_day",) if name == "real_day" else ("whole", *_PRELUDES[name], name)  # a day is one key
    return "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in parts)


def script(client: Redis, name: str) -> Script:
    """Return a script bound to a client. Calls name its digest; an unknown script is loaded first."""
    return client.register_script(source(name))
