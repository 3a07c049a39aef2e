"""Answers that arrive after their job's end, on a real server: applied once, at the next boundary, and charged once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate.memory.entry import Entry
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run, usage_by_owner
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended
from cogitate.scheduler.ledger.claims import Claim, Result
from cogitate.tasks.job import Cost, Job
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, settle, thought, worker
from tests.live_redis import empty_redis

SPENT = Cost(calls=1, tokens=11)


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def begun(client: Redis, **options: Any) -> tuple[Host, Job, Claim]:
    """Start a host with a claimed job; return host, job and claim."""
    host = Host(client, model="m", cost=Cost(calls=1, tokens=30), **options)
    (job,) = host.turn(("think", OWNER))
    return host, job, claimed(worker(client), job)


def late(host: Host) -> list[tuple[int, Ended]]:
    """Return the late answers in the journal with their ticks."""
    lines = read_journal(host.ledger.store, 1, host.loop.tick)
    return [(line.core.tick, ended) for line in lines for ended in line.core.late]


def kept(host: Host) -> tuple[int, int]:
    """Return the number of awaited jobs and of offered answers."""
    awaited, offered = (host.client.hlen(host.ledger.store.key(name)) for name in ("awaited", "offered"))
    return awaited, offered  # type: ignore[return-value]


def reflections(host: Host) -> list[tuple[str, bool]]:
    return [(entry.text, entry.provisional) for entry in host.loop.state.streams[OWNER].live("reflection")]


def sound(host: Host) -> None:
    assert audit(host.client, "r") == []
    assert replay(host.client, "r", empty_redis()).digest == host.loop.digest


def test_a_late_answer_replaces_the_heuristic_result(client: Redis) -> None:
    host, job, claim = begun(client)
    host.until(job.due + 2)
    assert reflections(host) == [("read []", True)]
    assert kept(host) == (1, 0)
    sound(host)
    assert settle(worker(client), claim, used=SPENT) == "offered"
    assert kept(host) == (1, 1)
    assert audit(client, "r") == []

    host.turn()
    assert [change.reason for change in host.tick.applied] == ["none"]
    assert [change.source for change in host.tick.applied] == ["llm"]
    assert reflections(host) == [("a thought", False)]
    host.turn()
    assert kept(host) == (0, 0)
    assert [(tick, ended.key, ended.end) for tick, ended in late(host)] == [(job.due + 3, job.key, "applied")]
    assert host.ended() == {job.key: ("applied", "late")}
    assert host.window("run:0", unit="tokens") == {"spent": 11}
    assert host.loop.state.view.held["run:0|run|tokens"] == 11
    assert settle(worker(client), claim, used=SPENT) == "unknown"
    host.turn()
    assert len(late(host)) == 1
    sound(host)


def test_an_answer_between_collect_and_commit_is_applied_as_late(client: Redis) -> None:
    host, job, claim = begun(client)
    host.until(job.due)
    assert settle(worker(client), claim) == "staged", "the host has already collected without it"
    host.turn()
    assert reflections(host) == [("a thought", False)]
    host.turn()
    assert host.ended() == {job.key: ("applied", "late")}
    assert [tick for tick, _ in late(host)] == [job.due + 1]
    sound(host)


@pytest.mark.parametrize("after_its_end", [False, True])
def test_the_answer_of_a_dead_job_is_applied(client: Redis, after_its_end: bool) -> None:
    host, job, claim = begun(client, claim_cap=1)
    host.ledger.collect(host.tick.number, "due", [claim.token])
    if after_its_end:
        host.until(job.due + 1)
    assert settle(worker(client), claim) == ("offered" if after_its_end else "accounted")
    host.until(job.due + 3)
    assert host.ended() == {job.key: ("applied", "dead")}
    assert reflections(host) == [("a thought", False)]
    assert host.window("run:0") == {"spent": 1}
    sound(host)


def test_the_first_of_several_late_answers_counts(client: Redis) -> None:
    host, job, first = begun(client, retry_share=0.5)
    host.ledger.collect(host.tick.number, "due", [first.token])
    second = claimed(worker(client, "v"), job)
    host.until(job.due + 1)
    assert settle(worker(client, "v"), second, "the second attempt's") == "offered"
    assert settle(worker(client), first, "the first attempt's") == "accounted"
    host.turn()
    assert reflections(host) == [("the second attempt's", False)]
    host.turn()
    assert host.window("run:0") == {"spent": 2, "pool": 1}
    sound(host)


def test_the_first_late_answer_of_a_dead_job_counts(client: Redis) -> None:
    host, job, first = begun(client, retry_share=0.5, claim_cap=2)
    host.ledger.collect(host.tick.number, "due", [first.token])
    second = claimed(worker(client, "v"), job)
    host.ledger.collect(host.tick.number, "due", [second.token])
    assert settle(worker(client), first, "the first attempt's") == "accounted"
    assert settle(worker(client, "v"), second, "the second attempt's") == "accounted"
    host.until(job.due + 3)
    assert host.ended() == {job.key: ("applied", "dead")}
    assert reflections(host) == [("the first attempt's", False)]
    sound(host)


def test_heuristic_results_are_not_offered_late(client: Redis) -> None:
    host, job, claim = begun(client)
    host.until(job.due + 1)
    guess = Result(effects=(thought(job, "a guess"),), source="heuristic", reason="failed", usage=SPENT)
    assert worker(client).settle(claim, guess, SPENT) == "accounted"
    assert kept(host) == (1, 0)
    sound(host)


def test_an_answer_with_nothing_left_to_replace_is_only_charged(client: Redis) -> None:
    host, job, claim = begun(client)
    host.until(job.due + 1)
    host.loop.calls.leave(OWNER)
    host.turn()
    assert kept(host) == (0, 0)
    assert settle(worker(client), claim, used=SPENT) == "accounted"
    assert host.window("run:0", unit="tokens") == {"spent": 11}
    sound(host)


def test_an_obsolete_answer_is_counted(client: Redis) -> None:
    host, job, claim = begun(client)
    host.until(job.due + 1)
    summary = thought(job, "a thought")
    summary = type(summary)(owner=OWNER, entry=Entry(type="summary", text="They met.", minute=0))
    assert worker(client).settle(claim, Result(effects=(summary,), source="llm", usage=SPENT), SPENT) == "offered"
    host.until(host.tick.number + 2)
    assert [ended.end for _, ended in late(host)] == ["dropped"]
    done = summarise_run(client, "r")
    assert done.figures["late_answers"] == {"think": {"dropped": 1}}
    assert done.warnings["job.late_answer_unused"] == 1
    assert kept(host) == (0, 0)
    sound(host)


def test_an_unreadable_answer_is_removed(client: Redis) -> None:
    host, job, claim = begun(client)
    host.until(job.due + 1)
    assert settle(worker(client), claim) == "offered"
    client.hset(host.ledger.store.key("offered"), job.key.text(), "{")
    assert any("late answer cannot be read" in line for line in audit(client, "r"))
    host.until(host.tick.number + 2)
    assert (late(host), kept(host)) == ([], (0, 0))
    assert reflections(host) == [("read []", True)]
    sound(host)


@pytest.mark.parametrize("when", ["before it comes", "when it was taken"])
def test_a_resumed_host_reaches_the_same_state(client: Redis, when: str) -> None:
    digests = []
    for run, resumed in (("whole", ""), ("r", when)):
        host, job, claim = begun(client, run=run)
        host.until(job.due + 1)
        if resumed == "before it comes":
            host = Host(client, run=run, model="m", resume=True)
        assert settle(worker(client), claim) == "offered"
        host.until(job.due + 2)
        if resumed == "when it was taken":  # but not committed
            assert [change.source for change in host.tick.applied] == ["llm"]
            host = Host(client, run=run, model="m", resume=True)
        host.until(job.due + 4)
        digests.append(host.loop.digest)
    assert [ended.end for _, ended in late(host)] == ["applied"]
    assert digests[0] == digests[1]
    sound(host)


def test_a_commit_with_a_lost_reply_applies_a_late_answer_once(client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    host, job, claim = begun(client)
    host.until(job.due + 1)
    assert settle(worker(client), claim) == "offered"
    host.turn()
    advance, lost = host.ledger._advance, iter([True])

    def answerless(**arguments: Any) -> Any:
        answer = advance(**arguments)
        if next(lost, False):
            raise RedisConnectionError("the reply is lost")
        return answer

    monkeypatch.setattr(host.ledger, "_advance", answerless)
    monkeypatch.setattr(host.ledger, "outage", Twice())
    host.until(job.due + 5)
    assert next(lost, None) is None
    assert len(late(host)) == 1
    sound(host)


class Twice:
    """An outage policy that repeats a step once if its reply is lost."""

    lost = 0.0

    def send(self, step: Any, size: int) -> Any:
        try:
            return step()
        except RedisConnectionError:
            return step()

    def back(self) -> bool:
        return True


def test_reading_a_job_shows_its_late_answer(client: Redis) -> None:
    host, job, claim = begun(client)
    host.turn(("think", OTHER))
    host.until(job.due + 1)
    assert settle(worker(client), claim, used=SPENT) == "offered"
    host.until(job.due + 5)
    history = JobHistory(client, "r")
    found = history.find(job.key)
    assert found.late is not None
    assert (found.late.tick, found.late.end, found.late.appended) == (job.due + 2, "applied", (2,))
    assert (found.late.source, found.late.model, found.late.usage) == ("llm", "", SPENT)
    assert [one.late for one in history.newest(0)] == [None, found.late]
    assert list(JobHistory(client, "r").all()) == history.newest(0)[::-1]
    assert usage_by_owner(client, "r")[OWNER] == SPENT
    assert summarise_run(client, "r").figures["late_answers"] == {"think": {"applied": 1}}


@pytest.mark.parametrize(
    ("key", "value", "finding"),
    [
        ("offered", '{"effects":[],"source":"llm"}', "has a late answer that is not awaited"),
        ("awaited", '{"minute":1,"made":[["agent:ann",77]]}', "nothing is left for it to replace"),
        ("awaited", '{"minute":1,"made":[["agent:ann",1]]}', "but the job has not ended"),
        ("awaited", "[]", "the records awaited, offered cannot be read"),
    ],
)
def test_the_auditor_finds_faulty_records_of_late_answers(client: Redis, key: str, value: str, finding: str) -> None:
    host, job, _ = begun(client)
    host.until(job.due + 1)
    assert audit(client, "r") == []
    client.hset(host.ledger.store.key(key), "2/think/agent:ann/0/0", value)
    assert any(finding in line for line in audit(client, "r"))
