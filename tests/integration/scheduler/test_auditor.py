"""The auditor finds each way in which a guarantee could break: the tests damage a sound run by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.effects import Archive
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Core, Correction, Ended, EndNote, TickNotes, write_line
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import JobKey
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, settle, worker
from tests.integration.scheduler.ledger.written_run import FOLDER, load
from tests.live_redis import empty_redis

Harm = Callable[[Any, str, str], object]  # store, key of an open job
Forge = Callable[[Core, TickNotes], tuple[Core, TickNotes]]

WRITTEN = json.loads((FOLDER / f"run-schema-{SCHEMA}.json").read_text())


@pytest.fixture
def client() -> Redis:
    return empty_redis()


def must_find(client: Redis, run: str, finding: str) -> None:
    found = audit(client, run)
    assert any(finding in line for line in found), found


# -- accounts, jobs and attempts ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("harm", "finding"),
    [
        # reserved + spent <= limit + overrun, and sums of windows are sums of attempts
        (lambda c, p, k: c.hincrby(p + "window:run:0", "run|calls|reserved", 1), "reserved 3, but jobs"),
        (lambda c, p, k: c.hincrby(p + "window:day:0", "run|calls|spent", 1), "latest attempts hold or cost 4"),
        (lambda c, p, k: c.hincrby(p + "window:day:0", "run|calls|spent", 90), "spent 91 > limit 50"),
        (lambda c, p, k: c.hincrby(p + "window:day:0", "run|calls|spent", -2), "negative account"),
        (lambda c, p, k: c.hincrby(p + "open", "1", 1), "open counters"),
        # admission's view is what the journal says
        (lambda c, p, k: c.hincrby(p + "view", "run:0|run|calls", -1), "run:0|run|calls is 2, but 3 by the journal"),
        (lambda c, p, k: c.hdel(p + "view", "day:0|kind:think|calls"), "view of day:0|kind:think|calls is 0"),
        # no reservation without a live job
        (lambda c, p, k: c.delete(f"{p}job:{k}"), "has no record"),
        (lambda c, p, k: c.hset(f"{p}job:{k}", "calls", 9), "reserves [9, 0, 0]"),
        (lambda c, p, k: c.hset(p + "attempts", "t", attempt("1/think/agent:nobody/0/0")), "which never existed"),
        (lambda c, p, k: c.hset(p + "lost", "t", attempt("1/think/agent:nobody/0/0")), "which never existed"),
        (lambda c, p, k: c.delete(p + "attempts"), "is claimed by an attempt that does not exist"),
        # each job is where hosts and workers look for it
        (lambda c, p, k: c.srem(p + "jobs", k), "open jobs differ"),
        (lambda c, p, k: c.sadd(p + "jobs", "1/think/agent:nobody/0/0"), "open jobs differ"),
        (lambda c, p, k: c.srem(p + "unclaimed", k), "unclaimed is False"),
        (lambda c, p, k: c.srem(p + "due:4", k), "lists of due jobs differ from the open jobs: ['4']"),
        (lambda c, p, k: c.delete(p + "staged"), "staged jobs differ"),
        (lambda c, p, k: c.hincrby(p + "waiting", "4", -1), "waiting counters"),
        (lambda c, p, k: c.hset(f"{p}job:{k}", "due", 2), "due at 4"),
        (
            lambda c, p, k: c.hset(f"{p}job:{k}", mapping={"due": 2, "job": moved(RunStore(c, p), k, 2)}),
            "was due at tick 2",
        ),
        (lambda c, p, k: c.hset(f"{p}job:{k}", "state", "lost"), "has the unknown state"),
        (lambda c, p, k: c.hset(staged(RunStore(c, p)), "result", "{"), "staged result cannot be read"),
        # what cannot be read is a finding, not a crash
        (lambda c, p, k: c.hset(p + "window:day:0", "run|calls|spent", "many"), "the ledger cannot be read"),
        (lambda c, p, k: c.hset(p + "attempts", "t", "\xff"), "the ledger cannot be read"),
        (lambda c, p, k: c.hset(f"{p}job:{k}", "job", "[]"), "reservations cannot be read"),
        (lambda c, p, k: c.hset(p + "state", "tick", "two"), "the ledger cannot be read"),
        (lambda c, p, k: (c.delete(p + "view"), c.set(p + "view", "x")), "the ledger cannot be read"),
    ],
)
def test_the_auditor_finds_damage_in_the_ledger(client: Redis, harm: Harm, finding: str) -> None:
    host = Host(client, limits={"day.run.calls": 50})
    jobs = {job.key.kind + job.key.owner: job for job in host.turn(("think", OWNER), ("think", OTHER), ("muse", OWNER))}
    claims = worker(client)
    settle(claims, claimed(claims, jobs["think" + OWNER]))
    claimed(claims, jobs["muse" + OWNER])
    host.turn()
    assert audit(client, "r") == []
    harm(client, host.ledger.store.prefix, jobs["think" + OTHER].key.text())
    must_find(client, "r", finding)


def attempt(job: str) -> bytes:
    record = {"job": job, "worker": "w", "tick": 1, "cells": [], "reserved": [0, 0, 0], "pooled": 0}
    return msgspec.json.encode(record)


def moved(store: RunStore, key: str, due: int) -> bytes:
    kept: Any = store.client.hget(store.job_key(key), "job")
    return msgspec.json.encode(typed_json.decode(kept) | {"due": due})


def staged(store: RunStore) -> str:
    members = store.members("staged")
    (key,) = members
    return store.job_key(key.decode())


# -- memory, hashes and keys -------------------------------------------------------------------------


def first(client: Any, key: str) -> bytes:
    """Return the first field of a hash."""
    field: bytes = min(client.hkeys(key))
    return field


@pytest.mark.parametrize(
    ("harm", "finding"),
    [
        # entries are numbered without gaps and stand as they were written
        (lambda c, p: c.hdel(p + "entries:agent:ada", first(c, p + "entries:agent:ada")), "agent:ada: entries ["),
        (lambda c, p: c.hset(p + "entries:agent:ada", 99, entry(99)), "agent:ada: entries [99] are not"),
        (lambda c, p: c.hset(p + "entries:world", first(c, p + "entries:world"), entry(1)), "world: entries ["),
        (lambda c, p: c.hset(p + "entries:agent:ada", 1, "no entry"), "agent:ada: cannot be read"),
        (lambda c, p: c.delete(p + "marks:agent:ada"), "agent:ada: marks ["),
        (lambda c, p: c.hdel(p + "owners", "npc:cy"), "profiles differ"),
        (lambda c, p: c.delete(p + "facts"), "facts differ"),
        (lambda c, p: c.hset(p + "state", "loop", "{"), "the run's state cannot be read"),
        (lambda c, p: c.hdel(p + "heads", "npc:cy"), "npc:cy: its head is not"),
        # archived entries exist, and so do the entries that replaced them
        (lambda c, p: c.zrem(p + "archived:npc:cy", first(c, p + "archive:npc:cy")), "npc:cy: archived ["),
        (lambda c, p: c.hdel(p + "archive:npc:cy", first(c, p + "archive:npc:cy")), "stored as live or archived"),
        (lambda c, p: c.hset(p + "into:npc:cy", first(c, p + "into:npc:cy"), 500), "npc:cy: archived ["),
        (lambda c, p: c.hset(p + "entries:npc:cy", first(c, p + "archive:npc:cy"), entry(1)), "stored as live or"),
        (lambda c, p: c.hset(p + "into:agent:ada", 9000, 1), "agent:ada: `into` names [9000], which are not"),
        # both hash chains are unbroken up to the run's last tick
        (lambda c, p: c.hset(p + "state", "digest", "0"), "the run's digest 0"),
        (lambda c, p: c.hset(p + "state", "chain", "0"), "and chain 0"),
        (lambda c, p: c.lset(p + "journal", 6, c.lindex(p + "journal", 6) + b" "), "tick 7: the journal was changed"),
        (lambda c, p: c.rpop(p + "journal"), "the journal has no line"),
        (lambda c, p: c.rpush(p + "journal", "more"), "181 lines, but the run is at tick 180"),
        (lambda c, p: c.hincrby(p + "state", "tick", 1), "tick 181: the journal has no line"),
        # every key belongs to something
        (lambda c, p: c.set(p + "noise", 1), "noise' is stray"),
        (lambda c, p: c.hset(p + "entries:agent:nobody", 1, entry(1)), "entries:agent:nobody' is stray"),
        (lambda c, p: c.hset(p + "job:1/plan/agent:ada/0/0", "state", "open"), "job:1/plan/agent:ada/0/0' is stray"),
        (lambda c, p: c.hset(p + "window:day:77", "run|calls|spent", 1), "window:day:77' is stray"),
        (lambda c, p: c.sadd(p + "due:12", "x"), "due:12' is stray"),
        (lambda c, p: c.rpush(p + "ready:12", "1"), "ready:12' is stray"),
        (lambda c, p: c.hset("cogitate:{written}:0123456789abcdef:state", "tick", 1), "cdef:state' is stray"),
    ],
)
def test_the_auditor_finds_damage_in_memories_the_journal_and_keys(
    client: Redis, harm: Callable[[Any, str], object], finding: str
) -> None:
    load(client, WRITTEN)
    harm(client, RunStore.open(client, "written").prefix)
    must_find(client, "written", finding)


def entry(number: int) -> bytes:
    return msgspec.json.encode({"type": "observation", "text": "forged", "minute": 1, "number": number, "tick": 1})


# -- forged journals whose hashes agree --------------------------------------------------------------

KEY = JobKey(1, "think", OWNER, 0, 0)


def forged(client: Redis, run: str, tick: int, forge: Forge) -> None:
    """Rewrite the whole journal with one tick changed and all hashes recomputed, as a skilled forger would."""
    store = RunStore.open(client, run)
    state: Any = client.hmget(store.key("state"), "tick")
    lines = list(read_journal(store, 1, int(state[0])))
    client.delete(store.key("journal"))
    digest = chain = ""
    for line in lines:
        core, notes = forge(line.core, line.notes) if line.core.tick == tick else (line.core, line.notes)
        stored, digest, chain = write_line(core, notes, digest, chain, SCHEMA)
        client.rpush(store.key("journal"), stored)
    client.hset(store.key("state"), mapping={"digest": digest, "chain": chain})


@pytest.mark.parametrize(
    ("tick", "changes", "finding"),
    [
        (4, lambda core: {"ended": core.ended + core.ended[:1]}, "ended twice or was never opened"),
        (12, lambda core: {"ended": (Ended(key=KEY._replace(ordinal=7), end="applied"),)}, "ended twice or was never"),
        (4, lambda core: {"ended": core.ended[1:], "rated": ()}, "open jobs differ from the journal's"),
        (1, lambda core: {"decided": core.decided + core.decided[:1]}, "was decided twice"),
        (1, lambda core: {"decided": [one for one in core.decided if one.key.kind != "muse"]}, "not the announced"),
        (11, lambda core: {"decided": ()}, "no successor 11/muse"),
        (4, lambda core: each(core, lambda one: unmet(one)), "ended applied, but:"),
        (4, lambda core: each(core, lambda one: replace(one, end="stale")), "ended stale, but"),
        (4, lambda core: each(core, lambda one: replace(one, effects=())), "changes what does not exist"),
        (4, lambda core: each(core, lambda one: twice(one)), "are not what the journal says"),
    ],
)
def test_the_auditor_finds_contradictions_in_a_forged_journal(
    client: Redis, tick: int, changes: Callable[[Core], dict[str, Any]], finding: str
) -> None:
    host = Host(client, limits={"day.run.calls": 1})
    host.turn(("think", OWNER), ("muse", OTHER))
    host.until(13)
    assert audit(client, "r") == []
    forged(client, "r", tick, lambda core, notes: with_notes(replace(core, **changes(core)), notes))
    must_find(client, "r", finding)


def test_the_auditor_finds_a_correction_of_a_job_that_did_not_count_in_full(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 1})
    host.turn(("think", OWNER))
    host.until(6)
    assert audit(client, "r") == []
    correction = Correction(key=KEY._replace(ordinal=7), at=4)
    forged(client, "r", 5, lambda core, notes: (core, replace(notes, corrected=(*notes.corrected, correction))))
    must_find(client, "r", "was corrected but did not count in full")


def with_notes(core: Core, notes: TickNotes) -> tuple[Core, TickNotes]:
    """Return a forged line with a note for each of its ends."""
    return core, replace(notes, ended=tuple(EndNote(key=ended.key, source="heuristic") for ended in core.ended))


def each(core: Core, change: Callable[[Ended], Ended]) -> dict[str, Any]:
    return {"ended": tuple(change(one) for one in core.ended)}


def unmet(ended: Ended) -> Ended:
    """Add to an end an effect whose precondition does not hold."""
    return replace(ended, effects=(*ended.effects, Archive(owner=OWNER, numbers=(999,))))


def twice(ended: Ended) -> Ended:
    return replace(ended, effects=(*ended.effects, *ended.effects))
