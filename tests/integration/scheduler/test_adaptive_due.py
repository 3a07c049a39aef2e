"""Due ticks that follow the model's latency, on a real server: they are recorded, learned, journalled and resumed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from redis import Redis

from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.ends import ends_of
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.latency.due_ticks import PAUSE, Bounds
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.step_replies import Collected
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, settle, sound, worker
from tests.live_redis import empty_redis

MODEL = "m"
BOUNDS = Bounds(2, 20)
USED = Cost(calls=1, tokens=11)


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def host_of(client: Redis, **options: Any) -> Host:
    options = {"bounds": BOUNDS, "facts": Facts(), **options}  # a tick is a game minute
    return Host(client, model=MODEL, cost=Cost(calls=1, tokens=30), **options)


def answered(host: Host, job: Job, after: int) -> None:
    """Stage a job's answer this many ticks after its admission."""
    claim = claimed(worker(host.client), job)
    host.until(job.key.tick + after)
    settle(worker(host.client), claim)


def thought(host: Host, after: int) -> Job:
    """Run a job to its end, with its answer staged this many ticks after its admission."""
    (job,) = host.turn(("think", OWNER))
    answered(host, job, after)
    host.until(job.due + 1)
    return job


def timed(host: Host) -> list[tuple[int, Timed]]:
    """Return the latencies that the run has learned, with the ticks of their boundaries."""
    lines = read_journal(host.ledger.store, 1, host.loop.tick)
    return [(line.core.tick, fact) for line in lines for fact in line.notes.timed]


def replayed(host: Host) -> bool:
    return replay(host.client, "r", empty_redis()).digest == host.loop.digest


def test_an_answer_is_timed_by_the_boundary_that_may_apply_it(client: Redis) -> None:
    host = host_of(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    host.until(job.key.tick + 5)  # this boundary has collected before the answer is staged
    settle(worker(client), claim)
    assert client.llen(host.ledger.store.key("timed")) == 1
    host.until(job.key.tick + 7)
    assert timed(host) == [(job.key.tick + 6, Timed(job.key, MODEL, 0, 5, Cost(calls=1)))]
    assert client.llen(host.ledger.store.key("timed")) == 0
    assert host.loop.state.latencies.is_answered(job.key)
    host.until(job.due + 1)
    assert host.ended()[job.key] == ("applied", "none")
    sound(client)
    assert replayed(host)


def held(host: Host) -> tuple[int, int]:
    """Return the tokens that admission counts, in the host and in the ledger."""
    kept: Any = host.client.hget(host.ledger.store.key("view"), "run:0|run|tokens")
    return host.loop.state.view.held["run:0|run|tokens"], int(kept)


def held_by_journal(host: Host, tick: int) -> int:
    """Return the tokens that admission counted after a tick, from the journal."""
    totals = RunTotals()
    for line in read_journal(host.ledger.store, 1, tick):
        totals.add(line)
    return totals.view["run:0|run|tokens"]


def test_an_answer_waiting_for_its_due_tick_counts_its_usage(client: Redis) -> None:
    host = host_of(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    host.until(job.key.tick + 5)
    settle(worker(client), claim, used=USED)
    assert held(host) == (30, 30)
    host.until(job.key.tick + 8)
    assert host.loop.tick < job.due - 1
    assert held(host) == (11, 11)
    sound(client)
    host = Host(client, resume=True, model=MODEL, bounds=BOUNDS, cost=Cost(calls=1, tokens=30))
    assert held(host) == (11, 11)
    host.until(job.due + 2)
    assert host.ended()[job.key] == ("applied", "none")
    assert held(host) == (11, 11)
    sound(client)
    assert replayed(host)


def test_actual_spending_frees_room_before_the_result_is_applied(client: Redis) -> None:
    host = host_of(client, limits={"run.run.tokens": 50}, retry_share=0.0)
    (job,) = host.turn(("think", OWNER))
    refused = host.tick.number
    host.turn(("think", OTHER))
    (line,) = read_journal(host.ledger.store, refused, refused)
    assert [one.refused for one in line.core.decided] == ["run:0 run tokens"]
    settle(worker(client), claimed(worker(client), job), used=USED)
    host.turn()
    (admitted,) = host.turn(("think", OTHER))
    assert host.loop.tick < job.due
    assert admitted.reserved.tokens == 30
    sound(client)


@pytest.mark.parametrize("how", ["its owner leaves", "its result is forgotten"])
def test_an_answer_that_is_not_applied_after_all_counts_in_full_again(client: Redis, how: str) -> None:
    host = host_of(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    settle(worker(client), claim, used=USED)
    host.turn()
    host.turn()
    assert held(host)[0] == 11
    if how == "its owner leaves":
        host.loop.calls.leave(OWNER)
    else:  # as if a server were rolled back and no worker settled again
        client.hset(host.ledger.store.job_key(job.key.text()), mapping={"state": "dead", "result": ""})
        client.srem(host.ledger.store.key("staged"), job.key.text())
        host.until(job.due)
    host.turn()
    assert held_by_journal(host, host.loop.tick) == 30, "with its end"
    assert held(host) == (11, 30), "the next boundary has learned the real usage"
    sound(client)


def test_the_next_job_is_due_when_its_answer_will_be_there(client: Redis) -> None:
    host = host_of(client)
    first = thought(host, 3)
    assert first.due == first.key.tick + BOUNDS.most
    (second,) = host.turn(("think", OWNER))
    need = host.loop.state.latencies.need("think", MODEL, 0)
    assert need is not None
    assert second.due == second.key.tick + need < second.key.tick + BOUNDS.most
    sound(client)


def test_jobs_of_one_tick_know_how_many_are_ahead(client: Redis) -> None:
    host = host_of(client)
    jobs = host.turn(("think", OWNER), ("think", OTHER))
    assert sorted(job.ahead for job in jobs) == [0, 1]
    (third,) = host.turn(("think", OWNER))
    assert third.ahead == 2
    for job in jobs:
        settle(worker(client), claimed(worker(client), job))
    host.turn()
    (fourth,) = host.turn(("think", OWNER))
    assert fourth.ahead == 1


def test_a_late_answer_is_timed_and_takes_the_place_of_the_guess(client: Redis) -> None:
    host = host_of(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    host.until(job.due + 3)
    assert host.ended()[job.key] == ("applied", "late")
    assert [(one.ticks, one.awaited) for one in host.loop.state.latencies.samples("think", MODEL)] == [
        (2 * BOUNDS.most, job.key.text())
    ]
    settle(worker(client), claim)
    host.until(job.due + 6)
    ((_, fact),) = timed(host)
    assert BOUNDS.most < fact.ticks <= BOUNDS.most + 4
    assert [(one.ticks, one.awaited) for one in host.loop.state.latencies.samples("think", MODEL)] == [(fact.ticks, "")]
    sound(client)
    assert replayed(host)


def overdue(host: Host) -> list[Overdue]:
    """Return the records of jobs that ended late."""
    lines = read_journal(host.ledger.store, 1, host.loop.tick)
    return [fact for line in lines for fact in line.notes.overdue]


def lose(host: Host, claim: Claim) -> None:
    """Have the host's next collect find an attempt's lease expired."""
    leases = host.loop.collector._leases
    watch = leases.watch

    def expired(collected: Collected, now: float) -> list[str]:
        leases.watch = watch  # type: ignore[method-assign]
        return [*watch(collected, now), claim.token]

    leases.watch = expired  # type: ignore[method-assign]
    host.loop.collector._looked = -1e12  # look at once


def test_a_late_unclaimed_job_does_not_count_as_latency(client: Redis) -> None:
    host = host_of(client)
    (job,) = host.turn(("think", OWNER))
    host.until(job.due + 2)
    assert host.ended()[job.key] == ("applied", "late")
    assert host.loop.state.latencies.samples("think", MODEL) == ()
    assert len(host.turn(("think", OWNER))) == 1, "the model is asked again"
    assert overdue(host) == []
    sound(client)


@pytest.mark.parametrize("how", ["its worker is lost", "its call has failed", "its worker is lost unseen"])
def test_a_provisional_latency_is_withdrawn_when_no_answer_comes(client: Redis, how: str) -> None:
    host = host_of(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    host.until(job.due + 1)
    assert overdue(host) == [Overdue(job.key, BOUNDS.most)]
    if how == "its worker is lost":
        lose(host, claim)
    elif how == "its call has failed":
        settle(worker(client), claim, None)
    else:  # a host expires the lease, and is killed before its commit
        host.ledger.collect(host.tick.number + 1, "due", [claim.token])
        host = host_of(client, resume=True)
    host.loop.collector._looked = -1e12
    host.turn()
    host.turn()
    assert host.loop.state.latencies.samples("think", MODEL) == ()
    assert overdue(host) == [Overdue(job.key, BOUNDS.most), Overdue(job.key, 0)]
    assert len(host.turn(("think", OWNER))) == 1
    sound(client)
    assert replayed(host)


def test_a_job_whose_worker_is_lost_is_timed_from_its_next_claim(client: Redis) -> None:
    host = host_of(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    host.loop.collector._looked = -1e12
    host.until(job.key.tick + 8)
    lose(host, claim)
    host.until(job.key.tick + 10)
    again = claimed(worker(client, "other"), job)
    host.until(job.key.tick + 12)
    settle(worker(client, "other"), again)
    host.until(job.key.tick + 15)
    ((_, fact),) = timed(host)
    assert fact.ticks == 3
    sound(client)
    assert replayed(host)


def slow_model(host: Host) -> Job:
    """Let a run learn that its model is too slow, and return the job that showed it."""
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(host.client), job)
    host.until(job.due + 2)
    settle(worker(host.client), claim)
    host.until(job.due + 4)
    return job


def test_jobs_that_would_be_late_are_not_requested_and_reserve_nothing(client: Redis) -> None:
    host = host_of(client)
    slow_model(host)
    before = host.window("run:0")
    host.loop.calls.request("think", OWNER)
    asked = host.tick.number
    assert host.turn() == []
    (key,) = host.loop.state.open
    assert host.loop.state.open[key].job.due == asked + BOUNDS.least
    assert host.window("run:0") == before
    host.until(asked + BOUNDS.least + 1)
    assert host.ended()[key] == ("applied", "too_slow")
    sound(client)
    assert replayed(host)


def test_on_denied_applies_to_jobs_that_are_too_slow(client: Redis) -> None:
    host = host_of(client)
    slow_model(host)
    for kind in ("doze", "muse"):
        host.turn((kind, OWNER))  # no latency of these kinds is known, so each is tried once
    tick = host.tick.number
    host.turn(("doze", OWNER), ("muse", OWNER))
    (line,) = read_journal(host.ledger.store, tick, tick)
    assert {(one.key.kind, one.decision, one.refused) for one in line.core.decided} == {
        ("doze", "dropped", "too_slow"),
        ("muse", "heuristic", "too_slow"),
    }
    told = [one for one in ends_of(host.ledger.run, line) if one.kind == "doze"]
    assert [(one.end, one.reason) for one in told] == [("dropped", "too_slow")]
    assert "by the due tick" in told[0].why, "the host is given the reason in words"


def test_a_kind_that_is_too_slow_is_tried_again_and_used_once_it_is_fast(client: Redis) -> None:
    host = host_of(client)
    job = slow_model(host)
    host.until(job.key.tick + PAUSE)
    (again,) = host.turn(("think", OWNER))
    assert host.turn(("think", OTHER)) == []  # never two at a time
    answered(host, again, 3)
    host.turn()
    host.turn()
    assert len(host.turn(("think", OTHER))) == 1
    sound(client)


def test_within_sets_the_due_tick_of_a_request(client: Redis) -> None:
    host = host_of(client)
    thought(host, 3)
    (soon,) = host.turn(("think", OWNER), within=5)
    assert soon.due == soon.key.tick + 5
    assert host.turn(("think", OWNER), within=2) == []
    refused = next(item.job for item in host.loop.state.open.values() if not item.admitted)
    assert refused.due == refused.key.tick + 2


def test_within_bounds_fixed_due_ticks_and_no_latency_is_recorded(client: Redis) -> None:
    host = host_of(client, bounds=None)
    (usual,) = host.turn(("think", OWNER))
    (soon,) = host.turn(("think", OWNER), within=2)
    assert (usual.due - usual.key.tick, soon.due - soon.key.tick) == (3, 2)
    settle(worker(client), claimed(worker(client), usual))
    assert not client.exists(host.ledger.store.key("timed"), host.ledger.store.key("latencies"))
    host.until(usual.due + 1)
    assert timed(host) == []


def test_a_deferred_request_keeps_its_remaining_time(client: Redis) -> None:
    host = host_of(client, bounds=None, limits={"tick.run.calls": 0})
    host.turn(("muse", OWNER), within=12)
    (waiting,) = host.loop.state.deferred
    assert waiting.request.within == 2
    host.until(waiting.at + 1)
    (item,) = host.loop.state.open.values()
    assert item.job.due == waiting.at + 2


@pytest.mark.parametrize("when", range(1, 24, 3))
def test_a_resumed_run_decides_like_an_uninterrupted_one(client: Redis, when: int) -> None:
    """Compare two runs with the same facts, one of which a new host takes over at some tick."""

    def live(run: str, resumed: int | None) -> tuple[str, Host]:
        host = host_of(client, run=run)
        claims: dict[JobKey, tuple[Claim, int]] = {}
        for tick in range(1, 30):
            opened = host.turn(*([("think", OWNER), ("doze", OTHER)] if tick % 2 else []))
            if tick == resumed:
                host = host_of(client, run=run, resume=True)
            assert host.tick.number == tick + 1
            claims |= {job.key: (claimed(worker(client), job), tick + 1 + len(claims) % 7) for job in opened}
            for key, (claim, due) in sorted(claims.items()):
                if due == tick:
                    settle(worker(client), claim)
                    del claims[key]
        return host.loop.digest, host

    whole, _ = live("r", None)
    again, host = live("s", when)
    assert again == whole
    assert len(timed(host)) > 5


def test_in_ready_mode_a_result_is_not_applied_before_its_requested_tick(client: Redis) -> None:
    host = host_of(client, apply="ready")
    (job,) = host.turn(("think", OWNER))
    settle(worker(client), claimed(worker(client), job))
    host.turn()
    host.turn()
    assert host.ended()[job.key] == ("applied", "none")
    wanted = host.tick.number + 8
    host.loop.calls.request("think", OWNER)
    asked = host.loop.calls._turn.requests
    asked[-1] = msgspec.structs.replace(asked[-1], at=wanted)
    (later,) = host.turn()
    assert later.due >= wanted
    settle(worker(client), claimed(worker(client), later))
    host.until(wanted)
    assert later.key not in host.ended()
    host.until(wanted + 1)
    assert host.ended()[later.key] == ("applied", "none")


def test_damaged_latency_records_are_ignored(client: Redis) -> None:
    host = host_of(client)
    client.rpush(host.ledger.store.key("timed"), "x", "1 {}", '7 ["a","b",1]')
    thought(host, 3)
    assert len(timed(host)) == 1
    assert client.llen(host.ledger.store.key("timed")) == 0
    again = Latencies()
    again.load(host.ledger.store, host.loop.state.open)
    assert again.samples("think", MODEL) == host.loop.state.latencies.samples("think", MODEL)
