"""The actual cost of ended jobs, on a real server: the boundary that learns it corrects admission's view once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

import cogitate.scheduler.engine.corrections
import cogitate.scheduler.journal.run_totals
from cogitate.ops.report.run_figures import run_figures
from cogitate.scheduler.budget.budget_lines import BudgetLine
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.recent import recent_ticks
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run, usage_by_owner
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Correction
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import Cost, Job
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, settle, thought, worker
from tests.live_redis import empty_redis

WHOLE, SPENT = Cost(calls=1, tokens=30), Cost(calls=1, tokens=11)


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def begun(client: Redis, **options: Any) -> tuple[Host, Job]:
    """Return a host and its admitted job."""
    host = Host(client, cost=WHOLE, **options)
    (job,) = host.turn(("think", OWNER))
    return host, job


def corrected(host: Host) -> list[tuple[int, Correction]]:
    """Return the corrections in the journal, with their ticks."""
    lines = read_journal(host.ledger.store, 1, host.loop.tick)
    return [(line.core.tick, one) for line in lines for one in line.notes.corrected]


def shown(host: Host) -> BudgetLine:
    """Return the budget line of the run's tokens, as commands show it."""
    return next(
        line
        for line in summarise_run(host.client, "r").budget
        if (line.window, line.scope, line.unit) == ("run:0", "run", "tokens")
    )


def held(host: Host, window: str = "run:0") -> int:
    """Return the tokens that count as held in admission's view."""
    return host.loop.state.view.held.get(f"{window}|run|tokens", 0)


def left(host: Host) -> list[int]:
    """Return the numbers of jobs that count in full, that await an attempt's usage, and whose usage is known."""
    return [host.client.hlen(host.ledger.store.key(name)) for name in ("charged", "unsettled", "corrections")]  # type: ignore[misc]


def sound(host: Host) -> None:
    assert audit(host.client, "r") == []
    assert replay(host.client, "r", empty_redis()).digest == host.loop.digest


def test_a_late_jobs_actual_cost_counts_once_known(client: Redis) -> None:
    host, job = begun(client)
    claim = claimed(worker(client), job)
    host.until(job.due + 2)
    assert (held(host), left(host)) == (30, [1, 1, 0])
    sound(host)
    known = host.loop.tick
    settle(worker(client), claim, used=SPENT)
    assert left(host) == [1, 0, 1]
    sound(host)
    host.turn()
    assert held(host) == 11
    host.turn()
    assert corrected(host) == [(known + 2, Correction(key=job.key, usage=SPENT, at=known))]
    assert left(host) == [0, 0, 0]
    sound(host)


def test_an_unclaimed_job_costs_nothing(client: Redis) -> None:
    host, job = begun(client)
    host.until(job.due)
    assert held(host) == 30
    host.turn()
    assert held(host) == 0, "the commit of its end corrects the view"
    host.turn()
    assert corrected(host) == [(job.due + 1, Correction(key=job.key, at=job.due))]
    sound(host)


def test_a_refunded_reservation_can_be_spent_again(client: Redis) -> None:
    host, job = begun(client, limits={"run.run.tokens": 40}, retry_share=0.0)
    assert host.turn(("think", OTHER)) == []
    host.until(job.due + 1)
    assert len(host.turn(("think", OTHER))) == 1
    sound(host)


@pytest.mark.parametrize("used", [SPENT, Cost(calls=1, tokens=45)], ids=["less", "more"])
def test_a_result_staged_after_the_host_collected_is_counted_at_once(client: Redis, used: Cost) -> None:
    host, job = begun(client)
    claim = claimed(worker(client), job)
    host.until(job.due)
    assert settle(worker(client), claim, used=used) == "staged"
    host.turn()
    assert held(host) == used.tokens
    sound(host)


@pytest.mark.parametrize("staged", [False, True])
def test_a_shared_call_counts_as_a_call(client: Redis, staged: bool) -> None:
    host, job = begun(client)
    claim = claimed(worker(client), job)
    host.until(job.due + (not staged))
    effects = (thought(job, "an answer"),)
    shared = Result(effects=effects, source="cached", usage=SPENT, saved=True)
    assert worker(client).settle(claim, shared, Cost()) == ("staged" if staged else "accounted")
    host.until(job.due + 3)
    assert held(host) == 11
    assert [(one.usage, one.spent) for _, one in corrected(host)] == [(SPENT, Cost())]
    assert host.window("run:0", unit="tokens") == {}
    sound(host)


def test_the_newest_of_several_attempts_counts(client: Redis) -> None:
    """Earlier attempts are charged to the retry pool, whenever they settle."""
    host, job = begun(client, retry_share=0.9, limits={"run.run.tokens": 400})
    first = claimed(worker(client), job)
    host.ledger.collect(host.tick.number, "due", [first.token])
    second = claimed(worker(client), job)
    host.until(job.due + 2)
    settle(worker(client), first, used=Cost(calls=1, tokens=7))
    host.turn()
    assert (held(host), left(host)) == (30, [1, 1, 0])
    settle(worker(client), second, used=SPENT)
    host.turn()
    assert held(host) == 11
    assert host.window("run:0", unit="tokens") == {"spent": 18, "pool": 7}
    host.turn()
    sound(host)


def test_a_lost_attempt_may_still_report_its_usage(client: Redis) -> None:
    host, job = begun(client)
    claim = claimed(worker(client), job)
    host.until(job.due + 1)
    host.ledger.collect(host.tick.number, "due", [claim.token])
    host.turn()
    assert (held(host), left(host)) == (30, [1, 1, 0])
    settle(worker(client), claim, used=SPENT)
    host.turn()
    assert held(host) == 11
    sound(host)


def test_an_unknown_cost_stays_charged_in_full(client: Redis) -> None:
    host, job = begun(client)
    claimed(worker(client), job)
    host.until(job.due + 24 * 9)  # in hours: by then the windows of its tick and its day have been deleted
    assert (held(host), held(host, "day:0"), left(host)) == (30, 0, [1, 1, 0])
    sound(host)


def test_a_dead_job_counts_as_its_last_attempt(client: Redis) -> None:
    host, job = begun(client, claim_cap=2, retry_share=0.5, limits={"run.run.tokens": 400})
    for tokens in (5, 6):
        settle(worker(client), claimed(worker(client), job), None, Cost(calls=1, tokens=tokens))
    host.until(job.due + 2)
    assert host.ended() == {job.key: ("applied", "dead")}
    assert held(host) == 6
    assert host.window("run:0", unit="tokens") == {"spent": 11, "pool": 5}
    sound(host)


def test_every_reader_shows_the_usage_of_a_late_job(client: Redis, tmp_path: Path) -> None:
    host, job = begun(client)
    claim = claimed(worker(client), job)
    host.until(job.due + 2)
    found = JobHistory(client, "r").find(job.key)
    assert (found.reason, found.settled, found.spent) == ("late", False, Cost())
    settle(worker(client), claim, used=SPENT)
    host.until(job.due + 4)
    for found in (JobHistory(client, "r").find(job.key), *JobHistory(client, "r").newest(1)):
        assert (found.usage, found.settled, found.spent) == (SPENT, True, SPENT)
    assert usage_by_owner(client, "r")[OWNER] == SPENT
    recent = recent_ticks(host.ledger.store, "r", LimitTable({}), 100)
    assert (recent.kinds["think"].spent, recent.owners) == (SPENT, {OWNER: SPENT})
    figures = run_figures(client, "r", tmp_path)
    assert (figures.spent, figures.owners) == ({0: {"think": SPENT}}, {OWNER: SPENT}), "on the day of the request"


def test_a_cost_known_after_the_last_tick_is_charged(client: Redis, tmp_path: Path) -> None:
    host, job = begun(client, retry_share=0.9, limits={"run.run.tokens": 400})
    first = claimed(worker(client), job)
    host.ledger.collect(host.tick.number, "due", [first.token])
    second = claimed(worker(client), job)
    host.until(job.due + 2)
    host.ledger.finish("stopped")
    settle(worker(client), second, used=SPENT)
    settle(worker(client), first, None, Cost(calls=1, tokens=7))
    assert left(host)[2] == client.hlen(host.ledger.store.key("retries")) == 1, "no tick has collected them yet"
    both = Cost(calls=2, tokens=18)
    assert usage_by_owner(client, "r")[OWNER] == both
    for found in (JobHistory(client, "r").find(job.key), *JobHistory(client, "r").newest(1)):
        assert (found.usage, found.retried, found.spent, found.settled) == (SPENT, Cost(calls=1, tokens=7), both, True)
    figures = run_figures(client, "r", tmp_path)
    assert (figures.spent, figures.owners) == ({0: {"think": both}}, {OWNER: both})

    host = Host(client, resume=True, cost=WHOLE, retry_share=0.9, limits={"run.run.tokens": 400})
    host.turn()
    host.turn()
    assert client.hlen(host.ledger.store.key("retries")) == 0
    assert usage_by_owner(client, "r")[OWNER] == both, "charged once"
    assert JobHistory(client, "r").find(job.key).spent == both
    sound(host)


def test_in_flight_held_and_spent_are_shown_separately(client: Redis) -> None:
    host, job = begun(client, limits={"run.run.tokens": 100}, retry_share=0.4)
    first = claimed(worker(client), job)
    settle(worker(client), first, None, Cost(calls=1, tokens=7))
    claim = claimed(worker(client), job)
    host.until(job.due + 2)
    line = shown(host)
    assert (line.limit, line.for_retries, line.room) == (100, 40, 60)
    assert (line.reserved, line.spent, line.retried, line.held) == (30, 7, 7, 0), "the second attempt is in flight"
    settle(worker(client), claim, used=SPENT)
    line = shown(host)
    assert (line.reserved, line.spent, line.retried, line.held) == (0, 18, 7, 19), "no boundary has learned it yet"
    assert line.counted == held(host) == 30
    host.until(job.due + 4)
    line = shown(host)
    assert (line.reserved, line.spent, line.retried, line.held) == (0, 18, 7, 0)
    assert line.counted == held(host) == 11


@pytest.mark.parametrize("known", ["before the end", "after the end"])
def test_earlier_attempts_are_charged_to_the_job(client: Redis, known: str) -> None:
    host, job = begun(client, retry_share=0.9, limits={"run.run.tokens": 400})
    first = claimed(worker(client), job)
    if known == "before the end":
        settle(worker(client), first, None, Cost(calls=1, tokens=7))
    else:
        host.ledger.collect(host.tick.number, "due", [first.token])
    settle(worker(client), claimed(worker(client), job), used=SPENT)
    host.until(job.due + 2)
    if known == "after the end":
        settle(worker(client), first, None, Cost(calls=1, tokens=7))
    host.until(job.due + 4)
    for found in (JobHistory(client, "r").find(job.key), *JobHistory(client, "r").newest(1)):
        assert (found.reason, found.usage, found.retried) == ("none", SPENT, Cost(calls=1, tokens=7))
    assert usage_by_owner(client, "r")[OWNER] == Cost(calls=2, tokens=18)
    assert host.window("run:0", unit="tokens")["spent"] == 18
    assert client.hlen(host.ledger.store.key("retries")) == 0
    sound(host)


@pytest.mark.parametrize("waits", [False, True])
def test_a_cancelled_job_is_corrected_where_boundaries_do_not_wait(client: Redis, waits: bool) -> None:
    """Where boundaries wait, a worker's progress must not matter: the cost is reported, and the view stays."""
    host, job = begun(client, waits=waits)
    claim = claimed(worker(client), job)
    host.loop.calls.leave(OWNER)
    host.turn()
    assert held(host) == 30
    settle(worker(client), claim, used=SPENT)
    host.turn()
    assert held(host) == (30 if waits else 11)
    host.turn()
    assert [(one.usage, one.kept) for _, one in corrected(host)] == [(SPENT, waits)]
    assert left(host) == [0, 0, 0]
    sound(host)


@pytest.mark.parametrize("resumed", ["never", "before it was known", "when it was known", "when it was taken"])
def test_a_resumed_run_corrects_the_view_once(client: Redis, resumed: str) -> None:
    host, job = begun(client)
    claim = claimed(worker(client), job)
    host.until(job.due + 2)
    if resumed == "before it was known":
        host = Host(client, cost=WHOLE, resume=True)
    settle(worker(client), claim, used=SPENT)
    if resumed == "when it was known":
        host = Host(client, cost=WHOLE, resume=True)
    host.until(job.due + 3)
    if resumed == "when it was taken":  # but not yet committed
        host = Host(client, cost=WHOLE, resume=True)
    host.until(job.due + 6)
    assert [one.usage for _, one in corrected(host)] == [SPENT]
    assert held(host) == 11
    sound(host)


def test_only_the_newest_of_too_many_late_jobs_are_corrected(client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cogitate.scheduler.engine.corrections, cogitate.scheduler.journal.run_totals):
        monkeypatch.setattr(module, "MOST", 2)
    host = Host(client, cost=WHOLE)
    claims = [claimed(worker(client), job) for _ in range(3) for job in host.turn(("think", OWNER))]
    host.until(claims[-1].job.due + 2)
    assert (held(host), left(host)) == (90, [2, 2, 0])
    sound(host)
    for claim in claims:
        settle(worker(client), claim, used=SPENT)
    host.turn()
    assert held(host) == 30 + 22, "the oldest is forgotten, and counts in full for ever"
    host.turn()
    assert left(host) == [0, 0, 0]
    sound(host)


@pytest.mark.parametrize(
    ("key", "field", "value", "finding"),
    [
        ("charged", None, None, "differ from the journal's"),
        ("charged", "job", b'{"ended":9,"due":4,"reserved":{},"cells":[]}', "by the journal"),
        ("unsettled", None, None, "no attempt or correction will report its usage"),
        ("unsettled", "job", "00", "which is not one of its unsettled attempts"),
        ("unsettled", "1/think/agent:nobody/0/0", "00", "does not count in full"),
        ("corrections", "job", "{", "its correction cannot be read"),
        ("corrections", "job", '{"usage":[0,0,0],"saved":false,"at":999}', "has a correction before its end"),
    ],
)
def test_the_auditor_finds_damaged_corrections(
    client: Redis, key: str, field: str | None, value: Any, finding: str
) -> None:
    host, job = begun(client)
    claimed(worker(client), job)
    host.until(job.due + 1)
    assert audit(client, "r") == []
    if field is None:
        client.delete(host.ledger.store.key(key))
    else:
        client.hset(host.ledger.store.key(key), job.key.text() if field == "job" else field, value)
    assert any(finding in line for line in audit(client, "r")), audit(client, "r")


PRICED = Cost(calls=2, tokens=30, usd_micros=9)


@pytest.mark.parametrize(
    "used", [Cost(), Cost(calls=1), Cost(tokens=25), Cost(usd_micros=7), Cost(calls=2, tokens=25, usd_micros=7)]
)
def test_the_cost_of_a_late_job_is_known_in_every_unit(client: Redis, used: Cost) -> None:
    host = Host(client, cost=PRICED)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    host.until(job.due + 1)
    known = host.loop.tick
    settle(worker(client), claim, used=used)
    host.turn()
    host.turn()
    assert corrected(host) == [(known + 2, Correction(key=job.key, usage=used, at=known))]
    for unit in ("calls", "tokens", "usd_micros"):
        assert host.loop.state.view.held.get(f"run:0|run|{unit}", 0) == getattr(used, unit)
    sound(host)


@pytest.mark.parametrize("shared", [Cost(calls=1), Cost(tokens=25), Cost(calls=2, tokens=25, usd_micros=7)])
def test_a_shared_call_counts_in_every_unit(client: Redis, shared: Cost) -> None:
    host = Host(client, cost=PRICED)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    host.until(job.due + 1)
    saved = Result(effects=(thought(job, "an answer"),), source="cached", usage=shared, saved=True)
    worker(client).settle(claim, saved, Cost())
    host.until(job.due + 3)
    assert [(one.usage, one.spent) for _, one in corrected(host)] == [(shared, Cost())]
    sound(host)


@pytest.mark.parametrize("known", ["before the end", "after the end"])
@pytest.mark.parametrize("used", [Cost(calls=1), Cost(tokens=7), Cost(usd_micros=3), Cost(1, 7, 3), Cost()])
def test_earlier_attempts_are_charged_to_the_job_in_every_unit(client: Redis, used: Cost, known: str) -> None:
    host = Host(client, cost=PRICED, retry_share=0.9, limits={"run.run.tokens": 400})
    (job,) = host.turn(("think", OWNER))
    first = claimed(worker(client), job)
    if known == "before the end":
        settle(worker(client), first, None, used)
    else:
        host.ledger.collect(host.tick.number, "due", [first.token])
    settle(worker(client), claimed(worker(client), job), used=SPENT)
    host.until(job.due + 2)
    if known == "after the end":
        settle(worker(client), first, None, used)
    host.until(job.due + 4)
    found = JobHistory(client, "r").find(job.key)
    assert (found.usage, found.retried) == (SPENT, used)
    for unit in ("calls", "tokens", "usd_micros"):
        window = host.window("run:0", unit=unit)
        assert window.get("spent", 0) == getattr(SPENT, unit) + getattr(used, unit)
        assert window.get("pool", 0) == getattr(used, unit)
    sound(host)
