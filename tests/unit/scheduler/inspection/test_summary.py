"""A run in figures: as people and screens read them, at its end and while it goes on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.ops.formatting.run import open_line
from cogitate.scheduler.config.facts import SCHEMA, Facts, keep_settings
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.stored_run import Unjournalled, limit_name, unjournalled
from cogitate.scheduler.inspection.summary import (
    RunReader,
    ShortfallLine,
    lines_of_shortfalls,
    summarise_run,
    usage_by_owner,
)
from cogitate.scheduler.inspection.vitals import budget_vitals, cadence_vitals, open_kinds
from cogitate.scheduler.journal.ends import Shortfall
from cogitate.scheduler.journal.lines import Correction, Ended, EndNote, Retried
from cogitate.scheduler.ledger.errors import NewerSchema, RunMissing
from cogitate.scheduler.ledger.presence import this_process
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import write_streams
from cogitate.tasks.job import Cost, JobKey
from tests.unit.scheduler.run_lines_case import (
    ANN,
    BOB,
    CY,
    GONE,
    LATE,
    MORE,
    OPEN,
    SOON,
    USED,
    decided,
    lines,
    opened,
    put,
    store_of,
    trimmed_store,
    with_open_job,
)

LIMITS = {"day.run.calls": 9, "run.run.tokens": 500, "run.kind:*.calls": 4}


def kept(**settings: Any) -> str:
    return keep_settings(PinnedSettings.tuned(**({"limits": LIMITS} | settings)))


def whole(**state: Any) -> RunStore:
    """A run of six ticks that a host has left, with one open job."""
    values = {"settings": kept(), "status": "stopped", "host": "here:7", "digest": "d" * 32, "chain": "c" * 32}
    return with_open_job(store_of(lines(), **(values | state)))


# -- the whole run -----------------------------------------------------------------------------------


def test_a_summary_has_the_figures_of_the_journal_and_of_the_runs_state() -> None:
    found = summarise_run(whole().client, "town")
    assert (found.run, found.status, found.host, found.held, found.state) == (
        "town",
        "stopped",
        "here:7",
        False,
        "stopped",
    )
    assert (found.tick, found.trimmed, found.minute, found.agents) == (6, 0, 6, 3)
    assert (found.digest, found.chain) == ("d" * 32, "c" * 32)
    assert list(found.jobs) == ["muse", "think"], "by name"
    assert found.jobs["think"]["reason"] == {"late": 1, "none": 1}
    assert list(found.jobs["think"]["source"]) == ["heuristic", "llm"]
    assert found.refused == {"run.kind:*.calls": 1}
    assert found.warnings == {}


def test_a_run_whose_host_died_is_not_held() -> None:
    store = whole(status="running")
    assert (summarise_run(store.client, "town").held, summarise_run(store.client, "town").state) == (
        False,
        "running, no host",
    )
    store.client.set(store.key("host"), msgspec.json.encode(this_process()))
    assert summarise_run(store.client, "town").held


def test_only_agents_are_counted_as_such() -> None:
    joined = tuple((owner, Profile(name=owner)) for owner in (ANN, "npc:guard", "world"))
    store = store_of(lines(ticks=[({"joined": joined, "facts": Facts()}, {})]), settings=kept(), digest="d", chain="c")
    assert summarise_run(store.client, "town").agents == 1


def test_a_reader_continues_where_it_stopped() -> None:
    store = whole()
    store.client.ltrim(store.key("journal"), 0, 2)
    store.client.hset(store.key("state"), "tick", 3)
    reader = RunReader(store.client, "town")
    assert reader.read().jobs["think"]["decision"] == {"admitted": 2}
    store.client.rpush(store.key("journal"), *lines()[3:])
    store.client.hset(store.key("state"), "tick", 6)
    assert reader.read() == summarise_run(store.client, "town")
    store.client.delete(store.key("state"))
    with pytest.raises(RunMissing, match="'town' was deleted"):
        reader.read()


def test_a_trimmed_run_has_the_same_figures() -> None:
    trimmed, store = trimmed_store(), whole()
    trimmed.client.hset(trimmed.key("state"), "settings", kept())
    one, other = summarise_run(trimmed.client, "town"), summarise_run(store.client, "town")
    assert (one.trimmed, one.jobs, one.refused, one.agents) == (2, other.jobs, other.refused, 3)
    assert usage_by_owner(trimmed.client, "town") == usage_by_owner(store.client, "town")
    reader = RunReader(store.client, "town")
    reader.read()
    store.client.hset(store.key("state"), "trimmed", 6)
    assert reader.read().jobs == other.jobs, "it has read beyond what was removed meanwhile"


def test_a_run_that_a_newer_version_has_taken_over_is_refused_while_it_is_read() -> None:
    store = whole()
    reader = RunReader(store.client, "town")
    store.client.hset(store.key("state"), "schema", SCHEMA + 1)
    with pytest.raises(NewerSchema):
        reader.read()


def test_spending_is_that_of_the_whole_run() -> None:
    store = whole()
    store.client.sadd(store.key("windows"), "run:0", "day:0")
    for window, tokens in (("run:0", 70), ("day:0", 30)):
        fields = {
            "run|tokens|spent": tokens,
            "run|calls|spent": 3,
            "kind:think|tokens|spent": 5,
            "zone|tokens|spent": 1,
        }
        store.client.hset(store.window_key(window), mapping=fields)  # type: ignore[arg-type]
    assert summarise_run(store.client, "town").spent == Cost(calls=3, tokens=70)


def test_shortfalls_name_the_models_endpoint_earliest_first() -> None:
    def short(first: int, model: str, failure: str) -> Shortfall:
        return Shortfall(
            model=model,
            failure=failure,
            because="",
            first=first,
            first_minute=first,
            last=9,
            last_minute=9,
            kinds={"think": 2, "muse": 1},
        )

    found = {n: short(*one) for n, one in enumerate(((5, "b", "x"), (2, "c", "x"), (2, "a", "y"), (2, "a", "x")))}
    told = lines_of_shortfalls(found, {"a": "ours", "b": "ours"})  # type: ignore[arg-type]
    assert [(line.first, line.endpoint, line.model, line.failure) for line in told] == [
        (2, "", "c", "x"),
        (2, "ours", "a", "x"),
        (2, "ours", "a", "y"),
        (5, "ours", "b", "x"),
    ]
    assert (told[0].jobs, list(told[0].kinds)) == (3, ["muse", "think"])


def test_shortfalls_have_all_their_facts_and_are_ordered_by_class_last() -> None:
    def short(because: str) -> Shortfall:
        return Shortfall(
            model="small",
            failure="breaker_open",
            because=because,
            first=5,
            first_minute=50,
            last=9,
            last_minute=90,
            kinds={"think": 2},
        )

    def told(because: str) -> ShortfallLine:
        return ShortfallLine(
            endpoint="ours",
            model="small",
            failure="breaker_open",
            because=because,
            first=5,
            first_minute=50,
            last=9,
            last_minute=90,
            kinds={"think": 2},
        )

    found = lines_of_shortfalls({because: short(because) for because in ("server", "auth")}, {"small": "ours"})
    assert found == [told("auth"), told("server")]


def test_a_summary_has_limits_memories_and_warnings_and_how_the_run_is_steered() -> None:
    ticks = [
        ({"joined": ((ANN, Profile(name="Ann")),), "facts": Facts()}, {"warnings": {"b": 2, "a": 1}}),
        ({}, {"warnings": {"b": 3}}),
    ]
    store = store_of(lines(ticks=ticks), settings=kept(retry_share=0.25), digest="d", chain="c", status="paused")
    stream = Stream(ANN)
    for text in ("A fire.", "Rain."):
        stream.append(Entry(type="observation", text=text, minute=1), 1)
    stream.archive(1, 2, 0)
    write_streams(store, [stream])
    store.client.hset(store.owner_key("entries", ANN), "3", b'{"type":"dream","number":3,"text":"x","minute":1}')
    store.client.sadd(store.key("windows"), "day:0")
    store.client.hset(store.window_key("day:0"), "run|calls|spent", 3)
    store.client.rpush(store.key("controls"), "{}")
    found = summarise_run(store.client, "town")
    assert (found.memories["observation"], found.memories["plan"]) == (
        {"live": 1, "archived": 1},
        {"live": 0, "archived": 0},
    )
    assert [*found.warnings.items()] == [("a", 1), ("b", 5), ("memory.unreadable", 1)]
    assert {one.name: (one.limit, one.for_retries) for one in found.limits} == {
        "day.run.calls": (9, 2),
        "run.run.tokens": (500, 125),
        "run.kind:*.calls": (4, 1),
        "tick.kind:act.calls": (5, 1),
    }
    assert [(one.window, one.scope, one.unit, one.spent, one.limit) for one in found.budget] == [
        ("day:0", "run", "calls", 3, 9)
    ]
    assert (found.steering.asked, found.status, found.state) == (1, "paused", "paused, no host")
    assert (found.figures, found.shortfalls, found.slow_kinds, found.refused) == ({"late_answers": {}}, [], [], {})


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("day:3 kind:reflect calls", "day.kind:reflect.calls"),
        ("day:3 kind:plan calls", "day.kind:*.calls"),
        ("run:0 run tokens", "run.run.tokens"),
        ("tick:9 run calls", "tick.run.calls"),
        ("too_slow", "too_slow"),
        ("day:3 owner:agent:a b calls", "day.owner:*.calls"),
        ("the ledger is away", "the.ledger is.away"),
    ],
)
def test_a_refusal_is_named_as_its_limit_is_in_the_settings(cell: str, name: str) -> None:
    limits = LimitTable({"day.kind:reflect.calls": 1, "day.kind:*.calls": 2, "day.owner:*.calls": 3})
    assert limit_name(limits, cell) == name


def test_kinds_ends_and_limits_come_in_the_order_of_their_names() -> None:
    keys = [JobKey(1, kind, ANN, 0, 0) for kind in ("think", "muse", "hum")]
    refused = [
        decided(JobKey(1, "rest", ANN, n, 0), "dropped", f"run:0 {scope} calls") for n, scope in enumerate("zya")
    ]
    late = {
        "late": tuple(Ended(key=key, end=end) for key in keys for end in ("stale", "applied")),  # type: ignore[arg-type]
    }
    notes = {"late": tuple(EndNote(key=ended.key, source="llm") for ended in late["late"])}
    ticks = [({"decided": (*map(decided, keys), *refused)}, {"opened": opened(*keys)}), (late, notes)]
    store = store_of(lines(ticks=ticks), settings=kept(), digest="d", chain="c")
    found = summarise_run(store.client, "town")
    assert list(found.figures["late_answers"]) == ["hum", "muse", "think"]
    assert [list(ends) for ends in found.figures["late_answers"].values()] == [["applied", "stale"]] * 3
    assert list(found.refused) == ["run.a.calls", "run.y.calls", "run.z.calls"]


def test_jobs_due_after_the_last_tick_are_counted() -> None:
    summary = summarise_run(whole(status="finished").client, "town")
    assert summary.open == {OPEN.kind: 1}
    assert open_line(summary).startswith("1 job is still open, due after tick 6: 1 think; a host that resumes")
    running = msgspec.structs.replace(summary, status="running", open={"muse": 1, "think": 2})
    assert open_line(running) == "3 jobs are still open, due after tick 6: 1 muse, 2 think."
    assert summarise_run(store_of(lines(ticks=[]), settings=kept(), digest="d", chain="c").client, "town").open == {}


# -- what no tick has journalled ---------------------------------------------------------------------


def learned(store: RunStore) -> RunStore:
    """What became known after the last tick: of two jobs that have their end, and of one that is open."""
    came_to = msgspec.json.encode({"usage": [1, 9, 0], "saved": True, "at": 6})
    store.client.hset(store.key("corrections"), mapping={LATE.text(): came_to, SOON.text(): came_to})
    for token, key in (("t", SOON), ("u", OPEN)):
        store.client.hset(store.key("retries"), token, msgspec.json.encode({"job": key.text(), "used": [1, 4, 0]}))
    return store


@pytest.mark.parametrize("status", ["stopped", "finished", "cancelled"])
def test_corrections_after_the_host_left_are_read_from_the_ledger(status: str) -> None:
    found = unjournalled(learned(whole(status=status)))
    used = Cost(calls=1, tokens=9)
    assert found.corrected == tuple(Correction(key=key, usage=used, saved=True, at=6) for key in (SOON, LATE))
    assert found.retried == (Retried(SOON, Cost(calls=1, tokens=4)),), "an open job's is learned with its end"


@pytest.mark.parametrize("status", ["running", "paused"])
def test_a_run_with_a_host_gets_no_additions(status: str) -> None:
    store = learned(whole(status=status))
    assert unjournalled(store) == Unjournalled()
    assert usage_by_owner(store.client, "town") == {ANN: USED, BOB: Cost(calls=2, tokens=12)}


def test_corrections_are_read_at_one_instant() -> None:
    store, together = learned(whole()), list[Any]()

    class Noting:
        def read_at_once(self, queue: Any) -> Any:
            together.append(queue)
            return store.read_at_once(queue)

        def key(self, name: Any) -> str:
            return store.key(name)

    noting: Any = Noting()
    assert unjournalled(noting) == unjournalled(store) != Unjournalled()
    assert len(together) == 1, "a correction is not missed between two reads"


def test_a_run_that_was_deleted_has_nothing_to_add() -> None:
    store = learned(whole())
    store.client.delete(store.key("state"))
    assert unjournalled(store) == Unjournalled()


def test_owners_are_charged_for_costs_known_after_the_last_tick() -> None:
    store = whole()
    raw = msgspec.json.encode({"job": SOON.text(), "used": [1, 4, 0]})
    store.client.hset(store.key("retries"), "t", raw)
    assert usage_by_owner(store.client, "town") == {ANN: Cost(calls=2, tokens=11), BOB: Cost(calls=2, tokens=12)}
    assert (Cost(calls=1, tokens=7), Cost(calls=1, tokens=5)) == (USED, MORE)


# -- while it goes on --------------------------------------------------------------------------------


def test_vitals_are_of_the_last_tick() -> None:
    store = whole(status="running")
    store.client.sadd(store.key("windows"), "day:0")
    store.client.hset(store.window_key("day:0"), "run|calls|spent", 3)
    budget = budget_vitals(store.client, "town")
    assert (budget.run, budget.status, budget.tick, budget.minute) == ("town", "running", 6, 6)
    (calls,) = [one for one in budget.windows if (one.line.window, one.line.unit) == ("day:0", "calls")]
    assert (calls.line.spent, calls.line.limit) == (3, 9)
    assert calls.forecast is not None
    assert budget.recent.refused == {"run.kind:*.calls": 1}
    cadence = cadence_vitals(store.client, "town")
    assert (cadence.run, cadence.status, cadence.tick, cadence.minute) == ("town", "running", 6, 6)
    assert (cadence.open["think"].running, cadence.steering.mode) == (1, "running")
    assert cadence.recent == budget.recent


def test_a_workers_attempts_and_heartbeats_are_shown_by_its_name() -> None:
    store = whole()
    store.client.hset(store.key("beats"), mapping={"z": 4, "w": 9})
    raw = msgspec.json.encode({"job": GONE.text(), "worker": "w"})
    store.client.hset(store.key("attempts"), "t2", raw)
    workers = cadence_vitals(store.client, "town").workers
    assert [(one.worker, one.beats, one.running) for one in workers] == [("w", 9, 2), ("z", 4, 0)]


@pytest.mark.parametrize("field", ["tick", "settings"])
def test_a_run_that_was_deleted_while_it_was_read_is_missing(field: str) -> None:
    store = whole()
    store.client.hdel(store.key("state"), field)
    for read in (budget_vitals, cadence_vitals):
        with pytest.raises(RunMissing):
            read(store.client, "town")


def test_the_oldest_open_job_is_that_of_the_earliest_tick() -> None:
    store = store_of([])
    for tick in (10, 3, 12):
        put(store, JobKey(tick, "think", CY, 0, 0))
    put(store, JobKey(14, "muse", CY, 0, 0))
    found = open_kinds(store, "town", 14)
    assert [*found] == ["muse", "think"]
    assert (found["think"].oldest, found["think"].age) == ("town/3/think/agent:cy/0/0", 11)
    assert (found["muse"].oldest, found["muse"].age) == ("town/14/muse/agent:cy/0/0", 0)
    assert open_kinds(store, "town", 2)["think"].age == 0, "its tick is not over yet"
    put(store, JobKey(3, "think", CY, 1, 0))
    put(store, JobKey(3, "think", ANN, 2, 0))
    assert open_kinds(store, "town", 14)["think"].oldest == "town/3/think/agent:ann/2/0", "of equals the first by name"
    alone = found["muse"]
    assert (alone.waiting, alone.running, alone.staged, alone.dead, alone.held) == (1, 0, 0, 0, 0)
    put(store, JobKey(1, "rest", CY, 0, 0), state="staged")
    assert open_kinds(store, "town", 14)["rest"].waiting == 0
    assert (open_kinds(store, "town", 14)["rest"].oldest, open_kinds(store, "town", 14)["rest"].age) == ("", 0)
