"""The ledger's rules, one by one, on a real Valkey: fencing, claims, settlement, leases, retention, incarnations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ledger_case import CALL, OTHER, OWNER, Host, Think, claimed, settle, thought, worker
from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import UnixDomainSocketConnection
from redis.exceptions import ConnectionError as Disconnected
from redis.retry import Retry

from memory.effects import Archive
from memory.entry import Entry
from memory.limits import MemoryLimits
from memory.profile import Profile
from scheduler.audit import audit
from scheduler.claims import Result
from scheduler.connect import connect
from scheduler.facts import Facts
from scheduler.keys import RUNS, incarnation_key, new_nonce
from scheduler.ledger import HostLedger
from scheduler.ledger_errors import Fenced, Forgotten, RunExists, RunMissing
from scheduler.versions import SCHEMA
from tasks.job import Cost
from workers.embedded import EmbeddedServer


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def sound(client: Redis, run: str = "r") -> None:
    """Nothing is wrong with the run."""
    assert audit(client, run) == []


def everything(client: Redis) -> dict[bytes, bytes]:
    """All keys with their values."""
    keys: Any = client.keys("*")
    return {key: client.dump(key) for key in keys}  # type: ignore[misc]


def observe(host: Host, count: int, owner: str = OWNER) -> None:
    for i in range(count):
        host.loop.observe(owner, Entry(type="observation", text=f"saw {host.tick.number}.{i}", minute=host.tick.minute))


# -- runs and hosts ----------------------------------------------------------------------------------


def test_a_name_is_taken_once(client: Redis) -> None:
    Host(client)
    with pytest.raises(RunExists, match="'r' exists already"):
        Host(client)


def test_what_is_not_there_cannot_be_resumed(client: Redis) -> None:
    with pytest.raises(RunMissing, match="'nowhere'"):
        HostLedger.resume(client, "nowhere")
    assert client.keys("*") == []


def test_the_second_host_fences_the_first(client: Redis) -> None:
    first = Host(client)
    first.turn(("think", OWNER))
    second = Host(client, resume=True)
    before = everything(client)
    with pytest.raises(Fenced, match="another host"):
        first.turn(("think", OTHER))
    with pytest.raises(Fenced):
        first.ledger.collect(2, "due")
    with pytest.raises(Fenced):
        first.ledger.collect(2, "due", ["00"])
    with pytest.raises(Fenced):
        first.ledger.finish("finished")
    assert everything(client) == before
    second.turn(("think", OTHER))
    second.until(6)
    assert len(second.ended()) == 2
    sound(client)


@pytest.mark.parametrize("field", ["epoch", "holder", "seq"])
def test_each_part_of_a_hosts_identity_is_checked(client: Redis, field: str) -> None:
    host = Host(client)
    state = host.ledger.prefix + "state"
    kept = client.hget(state, field)
    client.hset(state, field, "7")
    before = everything(client)
    with pytest.raises(Fenced):
        host.ledger.collect(1, "due")
    with pytest.raises(Fenced):
        host.turn()
    assert everything(client) == before
    assert kept is not None


def test_a_host_that_was_forgotten_stops(client: Redis) -> None:
    """The ledger lost its last step, as after a power loss: the host is ahead and must not go on."""
    host = Host(client)
    host.turn()
    state = host.ledger.prefix + "state"
    remembered: Any = client.hgetall(state)
    host.turn()
    client.hset(state, mapping=remembered)
    with pytest.raises(Forgotten, match=r"stands at tick 1, this host had come to tick 2"):
        host.turn()


def test_the_end_of_a_run_is_confirmed(client: Redis) -> None:
    host = Host(client, ticks=2)
    host.turn()
    Host(client, resume=True, ticks=2)
    with pytest.raises(Fenced):
        host.turn()
    assert client.hget(host.ledger.prefix + "state", "status") == b"running"


def test_a_finished_run_says_so_and_hands_out_nothing(client: Redis) -> None:
    host = Host(client, ticks=2)
    (job,) = host.turn(("think", OWNER))
    with pytest.raises(StopIteration):
        host.turn()
    assert client.hget(host.ledger.prefix + "state", "status") == b"finished"
    assert worker(client).claim(job.id) == "paused"


class Flaky(UnixDomainSocketConnection):
    """A connection that loses one reply after the server has carried out the command."""

    lose = False

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().read_response(*args, **kwargs)
        if Flaky.lose:
            Flaky.lose = False
            self.disconnect()
            raise Disconnected("the reply was lost")
        return answer


@pytest.fixture
def flaky(valkey: EmbeddedServer) -> Iterator[Redis]:
    client = Redis.from_url(valkey.url, retry=Retry(NoBackoff(), 3))
    client.connection_pool.connection_class = Flaky
    client.ping()
    yield client
    Flaky.lose = False
    client.close()


def test_a_commit_whose_reply_is_lost_happens_once(flaky: Redis, client: Redis) -> None:
    host = Host(flaky)
    observe(host, 2)
    host.turn(("think", OWNER))
    observe(host, 1)
    Flaky.lose = True
    (job,) = host.turn(("think", OTHER))
    assert not Flaky.lose
    claims = worker(client)
    settle(claims, claimed(claims, job))
    host.until(6)
    assert sorted(host.ended().values()) == [("applied", "late"), ("applied", "none")]
    assert client.llen(host.ledger.prefix + "journal") == 5
    sound(client)


def test_every_step_may_lose_its_reply(flaky: Redis, client: Redis) -> None:
    host = Host(flaky)
    (job,) = host.turn(("think", OWNER))
    claims = worker(flaky)
    Flaky.lose = True
    claim = claimed(claims, job)
    assert claim.number == 1
    Flaky.lose = True
    (token,) = host.ledger.collect(2, "due").attempts
    Flaky.lose = True
    assert host.ledger.collect(2, "due", [token]).unclaimed == [job.key.text()]
    assert host.window("run:0") == {"spent": 1}
    again = claimed(claims, job)
    Flaky.lose = True
    assert settle(claims, again) == "already"
    assert host.window("run:0") == {"spent": 2, "pool": 1}
    sound(client)


def test_a_stalled_server_is_asked_again(valkey: EmbeddedServer, client: Redis) -> None:
    """The first try times out and is carried out all the same when the server goes on; so is the second."""
    slow = connect(valkey.url, timeout=0.15)
    host = Host(slow)
    claims = worker(slow)
    client.client_pause(250)
    (job,) = host.turn(("think", OWNER))
    client.client_pause(250)
    claim = claimed(claims, job)
    assert claim.number == 1
    client.client_pause(250)
    assert settle(claims, claim) in ("staged", "already")
    assert client.llen(host.ledger.prefix + "journal") == 1
    assert host.window("run:0") == {"spent": 1}
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}
    sound(client)
    slow.close()


def test_an_unknown_script_is_loaded_again(client: Redis) -> None:
    """After a restart the server knows no script: NOSCRIPT must not stop a host or a worker."""
    host = Host(client)
    claims = worker(client)
    client.script_flush()
    (job,) = host.turn(("think", OWNER))
    client.script_flush()
    claim = claimed(claims, job)
    client.script_flush()
    claims.beat("r", claim.incarnation)
    client.script_flush()
    assert settle(claims, claim) == "staged"
    client.script_flush()
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}


def test_hosts_can_block_with_any_interval(valkey: EmbeddedServer) -> None:
    """A blocking call ends before its socket's timeout does."""
    client = Redis.from_url(valkey.url, socket_timeout=0.2, retry=Retry(NoBackoff(), 0))
    host = Host(client)
    assert host.ledger.wait_ready(5, timeout=30.0) is False
    client.close()


# -- claims ------------------------------------------------------------------------------------------


def test_a_job_is_handed_out_once(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    first, second = worker(client, "one"), worker(client, "two")
    claim = claimed(first, job)
    assert second.claim(job.id) == "claimed"
    assert first.claim(job.id) == "claimed"
    assert settle(first, claim) == "staged"
    assert second.claim(job.id) == "closed"
    sound(client)


def test_a_claim_sent_again_is_the_same_attempt(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    script = worker(client)._claim
    args = ["cogitate:{r}:", job.key.text(), "w", new_nonce(), 4, SCHEMA]
    answers = [script(keys=[incarnation_key("r")], args=args) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][2] == 1
    assert len(host.ledger.collect(2, "due").attempts) == 1
    assert host.window("run:0") == {"reserved": 1}
    sound(client)


def test_an_unanswered_claim_is_given_back(client: Redis) -> None:
    """The ledger made a claim whose answer never came; as the worker lives, its lease would never run out."""
    host = Host(client)
    (job, other) = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    made = claims._claim

    def lost(**call: Any) -> None:
        made(**call)
        raise Disconnected("the reply was lost")

    claims._claim = lost  # type: ignore[assignment]
    with pytest.raises(Disconnected):
        claims.claim(job.id)
    assert worker(client, "another").claim(job.id) == "claimed"
    claims._claim = made
    claimed(claims, other)
    assert claimed(worker(client, "another"), job).number == 2
    sound(client)


def test_what_does_not_exist_is_refused(client: Redis) -> None:
    claims = worker(client)
    assert claims.claim("nowhere/1/think/agent:ann/0/0") == "gone"
    Host(client)
    assert claims.claim("r/1/think/agent:ann/0/0") == "closed"
    for bad in ("", "r", "r/x/think/agent:ann/0/0", "r/1/think/0/0"):
        with pytest.raises(ValueError, match="expected"):
            claims.claim(bad)


def test_a_paused_run_hands_out_nothing(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    client.hset(host.ledger.prefix + "state", "status", "paused")
    assert worker(client).claim(job.id) == "paused"
    assert host.window("run:0") == {"reserved": 1}
    client.hset(host.ledger.prefix + "state", "status", "running")
    claimed(worker(client), job)


def test_a_job_is_not_handed_out_after_its_due_tick(client: Redis) -> None:
    """Another host's commit may be ahead of what closes the job: the due tick alone refuses it."""
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    client.hset(host.ledger.prefix + "state", "tick", job.due)
    assert worker(client).claim(job.id) == "late"
    client.hset(host.ledger.prefix + "state", "tick", job.due - 1)
    claimed(worker(client), job)


def test_the_cap_counts_claims_not_hints(client: Redis) -> None:
    host = Host(client, claim_cap=2)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    for _ in range(50):
        host._publish([job])
    for number in (1, 2):
        claim = claimed(claims, job)
        assert claim.number == number
        answer = settle(claims, claim, None)
        assert answer == "freed"
    assert claims.claim(job.id) == "closed"
    assert [row.state for row in host.ledger.collect(job.due, "due").rows] == ["dead"]
    host.until(6)
    assert host.ended() == {job.key: ("applied", "dead")}
    sound(client)


def test_without_a_pool_the_job_is_dead(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 10}, retry_share=0.1)
    first, second = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    for job in (first, second):
        assert settle(claims, claimed(claims, job), None) == "freed"
    assert claimed(claims, first).number == 2
    assert host.window("day:0") == {"reserved": 1, "spent": 2, "pool": 1}
    assert claims.claim(second.id) == "dead"
    assert host.window("day:0") == {"reserved": 1, "spent": 2, "pool": 1}
    sound(client)
    host.until(6)
    assert host.ended() == {first.key: ("applied", "late"), second.key: ("applied", "dead")}


def test_a_dead_job_stays_dead(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 1})
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.ledger.collect(2, "due", [claim.token])
    assert claims.claim(job.id) == "dead"
    assert settle(claims, claim, "too late") == "accounted"
    host.until(6)
    assert host.ended() == {job.key: ("applied", "dead")}
    sound(client)


def test_a_worker_reads_what_the_host_would(client: Redis) -> None:
    host = Host(client, kinds=(Think(name="think", latency=6),))
    observe(host, 4)
    host.turn()
    host.loop.ask(Archive(owner=OWNER, numbers=(1,)))
    observe(host, 1)
    (live,) = host.turn(("think", OWNER))
    host.loop.ask(Archive(owner=OWNER, numbers=(2,)))
    observe(host, 1)
    (named,) = host.turn(("think", OWNER), numbers=(1, 2, 3, 99))
    host.loop.ask(Archive(owner=OWNER, numbers=(3,)))
    observe(host, 1)
    host.turn()
    for job, expected in ((live, [2, 3, 4, 5]), (named, [1, 2, 3])):
        case = claimed(worker(client), job).case
        assert [entry.number for entry in case.entries] == expected
        assert case == host.loop.mind.case_of(host.loop.mind.open[job.key])


def test_owners_may_have_any_name(client: Redis) -> None:
    owner = "agent:" + "ü/|{}%\"'\\ 漢字 " + "x" * 100
    host = Host(client, owners=[owner], limits={"day.owner:*.calls": 5, "tick.run.calls": 5})
    host.loop.observe(owner, Entry(type="observation", text="saw", minute=0))
    (job,) = host.turn(("think", owner))
    claims = worker(client)
    claim = claimed(claims, job)
    assert claim.job == job
    assert [entry.text for entry in claim.case.entries] == ["saw"]
    assert claim.case.profile == Profile(name=owner)
    assert settle(claims, claim) == "staged"
    assert host.window("day:0", f"owner:{owner}") == {"spent": 1}
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}
    sound(client)


# -- settlement --------------------------------------------------------------------------------------


def test_a_stale_attempt_is_charged_but_not_staged(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    slow, quick = worker(client, "slow"), worker(client, "quick")
    old = claimed(slow, job)
    assert host.ledger.collect(2, "due", [old.token]).unclaimed == [job.key.text()]
    new = claimed(quick, job)
    assert settle(slow, old, "old", Cost(calls=1, tokens=7)) == "accounted"
    assert settle(quick, new, "new", Cost(calls=1, tokens=5)) == "staged"
    assert settle(slow, old, "old") == "unknown"
    assert settle(quick, new, "new") == "already"
    assert host.window("run:0", unit="tokens") == {"spent": 12, "overrun": 12, "pool": 7}
    host.until(6)
    stream = host.loop.mind.streams[OWNER]
    assert [entry.text for entry in stream.live("reflection")] == ["new"]
    sound(client)


def test_the_newest_attempt_counts_after_its_lease(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.ledger.collect(2, "due", [claim.token])
    assert settle(claims, claim, "slow but paid for") == "staged"
    assert claims.claim(job.id) == "closed"
    sound(client)
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}
    assert host.window("run:0") == {"spent": 1}


def test_a_failure_after_the_lease_frees_nothing(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.ledger.collect(2, "due", [claim.token])
    assert settle(claims, claim, None) == "accounted"
    assert claimed(claims, job).number == 2
    sound(client)


def test_what_arrives_after_the_end_is_charged(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 5, "day.run.tokens": 100}, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(8)
    assert host.ended() == {job.key: ("applied", "late")}
    assert host.window("day:0", unit="tokens") == {"reserved": 30}
    assert host.window(f"tick:{job.key.tick}") == {"reserved": 1}, "an open attempt keeps its tick's window"
    assert settle(claims, claim, used=Cost(calls=1, tokens=11)) == "accounted"
    assert host.window("day:0", unit="tokens") == {"spent": 11}
    sound(client)
    host.turn()
    host.turn()
    assert not client.exists(f"{host.ledger.prefix}window:tick:{job.key.tick}")
    assert host.loop.mind.view.held["day:0|run|tokens"] == 30, "the view does not depend on who finished when"
    sound(client)


def test_an_attempt_never_heard_of_again_stays_charged(client: Redis) -> None:
    host = Host(client, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(8)
    host.ledger.collect(8, "due", [claim.token])
    assert host.window("run:0", unit="tokens") == {"spent": 30}
    assert settle(claims, claim, used=Cost(calls=1, tokens=11)) == "accounted"
    assert host.window("run:0", unit="tokens") == {"spent": 11}
    assert settle(claims, claim, used=Cost(calls=1, tokens=11)) == "unknown"
    assert host.window("run:0", unit="tokens") == {"spent": 11}
    sound(client)


def test_what_is_staged_after_the_host_looked_is_late(client: Redis) -> None:
    """Blind collection: the host decides by what it collected; the ledger keeps the cost."""
    host = Host(client, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(job.due)  # it has looked, and is in the world's turn
    assert settle(claims, claim, "too late", Cost(calls=1, tokens=9)) == "staged"
    host.turn()
    assert host.ended() == {job.key: ("applied", "late")}
    assert host.window("run:0", unit="tokens") == {"spent": 9}
    assert host.loop.mind.view.held["day:0|run|tokens"] == 30
    assert [e.provisional for e in host.loop.mind.streams[OWNER].live("reflection")] == [True]
    sound(client)


def test_usage_above_a_reservation_is_overrun_and_blocks(client: Redis) -> None:
    host = Host(client, limits={"day.run.tokens": 100}, cost=Cost(calls=1, tokens=30))
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    assert settle(claims, claimed(claims, job), used=Cost(calls=1, tokens=90)) == "staged"
    assert host.window("day:0", unit="tokens") == {"spent": 90, "overrun": 60}
    host.until(5)
    assert host.turn(("think", OWNER)) == []
    assert sorted(host.loop.mind.open)[0].kind == "think", "it waits for its heuristic"
    sound(client)


def test_only_a_host_expires_a_lease(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    for _ in range(3):
        assert claim.token in host.ledger.collect(2, "due").attempts
    assert worker(client, "another").claim(job.id) == "claimed"
    keys: Any = client.keys("*")
    assert all(client.ttl(key) == -1 for key in keys), "no key has a time to live"


def test_heartbeats_are_counted_per_worker_and_go_on(client: Redis) -> None:
    host = Host(client)
    first, second = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client, "w")
    claims.beat("r", host.ledger.incarnation)
    assert host.ledger.collect(2, "due").beats == {}, "who has claimed nothing does not count"
    claim = claimed(claims, first)
    for _ in range(3):
        claims.beat("r", claim.incarnation)
    claimed(worker(client, "v"), second)
    assert host.ledger.collect(2, "due").beats == {"w": 3, "v": 0}
    settle(claims, claim)
    (again,) = host.turn(("think", OWNER))
    claimed(claims, again)
    assert host.ledger.collect(3, "due").beats["w"] == 3, "another claim does not begin it anew"


def test_one_job_that_two_effects_cannot_share(client: Redis) -> None:
    """Prune and summarise of the same entries at one boundary: the second is stale as a whole, its cost stands."""
    kinds = (Think(name="summarise"), Think(name="prune", order=40))
    host = Host(client, kinds=kinds)
    observe(host, 3)
    host.turn()
    jobs = host.turn(("prune", OWNER), ("summarise", OWNER), numbers=(1, 2))
    claims = worker(client)
    for job in jobs:
        claim = claimed(claims, job)
        effects = (thought(job, job.key.kind), Archive(owner=OWNER, numbers=(1, 2), into_appended=True))
        assert claims.settle(claim, Result(effects=effects, source="llm", usage=CALL), CALL) == "staged"
    host.until(7)
    ends = {key.kind: end for key, end in host.ended().items()}
    assert ends == {"summarise": ("applied", "none"), "prune": ("stale", "none")}
    stream = host.loop.mind.streams[OWNER]
    assert [entry.text for entry in stream.live("reflection")] == ["summarise"]
    assert [record.into for record in stream.archived.values()] == [4, 4]
    assert host.window("run:0") == {"spent": 2}
    assert host.loop.mind.view.held["run:0|run|calls"] == 2
    sound(client)


def test_cancelled_jobs_keep_their_charge(client: Redis) -> None:
    host = Host(client, cost=Cost(calls=1, tokens=30))
    (job, waiting) = host.turn(("think", OWNER), ("muse", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.loop.leave(OWNER)
    host.loop.observe(OWNER, Entry(type="observation", text="a last look", minute=0))
    host.loop.request("think", OWNER)
    host.turn()
    assert host.ended() == {job.key: ("cancelled", "cancelled"), waiting.key: ("cancelled", "cancelled")}
    assert host.loop.mind.open == {}
    assert claims.claim(waiting.id) == "closed"
    assert settle(claims, claim, used=Cost(calls=1, tokens=9)) == "accounted"
    assert host.window("run:0", unit="tokens") == {"spent": 9}
    host.turn()
    sound(client)


# -- what is kept ------------------------------------------------------------------------------------


def test_an_archived_entry_is_kept_while_a_job_may_read_it(client: Redis) -> None:
    facts = Facts(minutes_per_tick=60, limits=MemoryLimits(retention=1440))
    host = Host(client, kinds=(Think(name="think", latency=90), Think(name="last", order=20, latency=110)), facts=facts)
    observe(host, 3)
    host.turn()
    (job,) = host.turn(("think", OWNER))
    host.loop.ask(Archive(owner=OWNER, numbers=(1, 2)))
    host.turn()
    (named,) = host.turn(("last", OWNER), numbers=(1,))
    host.until(91)
    assert [entry.number for entry in claimed(worker(client), job).case.entries] == [1, 2, 3]
    host.until(93)
    assert job.key in host.ended()
    host.until(97)
    assert [entry.number for entry in host.loop.mind.streams[OWNER].entries.values()] == [1, 3, 4]
    assert [entry.number for entry in claimed(worker(client), named).case.entries] == [1]
    host.until(122)
    assert named.key in host.ended()
    assert 1 not in host.loop.mind.streams[OWNER].entries
    assert client.hkeys(f"{host.ledger.prefix}archive:{OWNER}") == []
    sound(client)


def test_a_resumed_host_knows_what_the_first_knew(client: Redis) -> None:
    host = Host(client, limits={"day.run.calls": 3, "tick.run.calls": 9})
    observe(host, 2)
    host.turn(("think", OWNER), ("think", OTHER), ("muse", OWNER), ("doze", OWNER))
    host.loop.leave(OTHER)
    host.turn()
    first, second = host.loop.mind, Host(client, resume=True).loop.mind
    assert second.streams.keys() == first.streams.keys() == {OWNER}
    assert second.streams[OWNER].entries == first.streams[OWNER].entries
    assert second.streams[OWNER].head == first.streams[OWNER].head
    assert second.open == first.open
    assert second.deferred == first.deferred != []
    assert second.view.held == first.view.held
    assert (second.facts, second.facts_at, second.retired) == (first.facts, first.facts_at, first.retired)


@pytest.mark.parametrize("apply", ["due", "ready"])
def test_nothing_is_left_of_jobs_that_ended(client: Redis, apply: Any) -> None:
    host = Host(client, apply=apply, limits={"tick.run.calls": 4}, owners=[OWNER, OTHER, "agent:cy"])
    claims = worker(client)
    host.turn()
    jobs = host.turn(("think", OWNER), ("think", OTHER), ("muse", OWNER), ("think", "agent:cy"))
    settle(claims, claimed(claims, jobs[-1]))
    host.loop.leave("agent:cy")
    for job in host.turn(("think", OWNER)):
        settle(claims, claimed(claims, job))
    host.turn(("doze", OTHER))
    host.until(12)
    assert host.loop.mind.open == {}
    left: Any = client.keys(host.ledger.prefix + "*")
    names = {key.decode().removeprefix(host.ledger.prefix).partition(":")[0] for key in left}
    assert names.isdisjoint({"job", "jobs", "due", "ready", "waiting", "unclaimed", "staged", "attempts", "open"}), (
        names
    )
    assert client.smembers(host.ledger.prefix + "windows") == {b"day:0", b"run:0"}


def test_a_window_that_is_gone_stays_gone(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 5})
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    host.until(6)
    host.ledger.collect(6, "due", [claim.token])
    host.until(8)
    window = f"{host.ledger.prefix}window:tick:{job.key.tick}"
    assert not client.exists(window)
    assert settle(claims, claim, used=Cost(calls=3)) == "accounted"
    assert not client.exists(window)
    assert host.window("run:0") == {"spent": 3, "overrun": 2}
    sound(client)


def test_only_identical_bytes_were_sent_already(client: Redis) -> None:
    host = Host(client)
    host.ledger.collect(1, "due")
    host.ledger._seq -= 1
    assert host.ledger.collect(1, "due").rows == []
    host.ledger._seq -= 1
    with pytest.raises(Fenced):
        host.ledger.collect(1, "ready")


def test_a_tick_is_committed_after_the_one_before(client: Redis) -> None:
    host = Host(client)
    host.turn()
    client.hset(host.ledger.prefix + "state", "tick", 7)
    with pytest.raises(Fenced):
        host.turn()
    assert client.llen(host.ledger.prefix + "journal") == 1


def test_a_run_that_is_gone_is_not_brought_back(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 5})
    first, second = host.turn(("think", OWNER), ("think", OTHER))
    claims = worker(client)
    claim = claimed(claims, first)
    keys: Any = client.keys("cogitate:{r}:*")
    client.delete(*keys)
    client.srem(RUNS, "r")
    for _ in range(2):
        assert claims.claim(second.id) == "gone"
        assert settle(claims, claim) == "gone"
        claims.beat("r", claim.incarnation)
        assert client.keys("*") == []
    with pytest.raises(Fenced):
        host.turn()
    assert client.keys("*") == []


def test_a_new_run_of_the_same_name_is_untouched_by_the_old(client: Redis) -> None:
    old = Host(client)
    (job,) = old.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    keys: Any = client.keys("cogitate:{r}:*")
    client.delete(*keys)
    new = Host(client)
    (same,) = new.turn(("think", OWNER))
    assert same.id == job.id
    before = everything(client)
    assert settle(claims, claim) == "gone"
    claims.beat("r", claim.incarnation)
    with pytest.raises(Fenced):
        old.turn()
    assert everything(client) == before
    assert settle(claims, claimed(claims, same)) == "staged"
    sound(client)


# -- size --------------------------------------------------------------------------------------------


def test_ten_thousand_jobs_in_one_tick(client: Redis) -> None:
    host = Host(client, limits={"tick.run.calls": 20_000})
    jobs = host.turn(*[("think", OWNER)] * 10_000)
    assert len(jobs) == 10_000
    assert host.window("run:0") == {"reserved": 10_000}
    claims = worker(client)
    for job in jobs[::1000]:
        assert settle(claims, claimed(claims, job)) == "staged"
    host.until(6)
    assert len(host.ended()) == 10_000
    assert host.window("run:0") == {"spent": 10}
    assert host.loop.mind.view.held["run:0|run|calls"] == 10_000
    sound(client)


def test_twenty_thousand_entries_in_one_tick(client: Redis) -> None:
    facts = Facts(minutes_per_tick=60, limits=MemoryLimits(max_observations=50_000))
    host = Host(client, facts=facts)
    observe(host, 20_000)
    host.turn()
    (job,) = host.turn(("think", OWNER))
    assert len(claimed(worker(client), job).case.entries) == 20_000
    host.loop.ask(Archive(owner=OWNER, numbers=tuple(range(1, 15_001))))
    (named,) = host.turn(("think", OWNER), numbers=tuple(range(1, 9_001)))
    assert len(claimed(worker(client), named).case.entries) == 9_000
    sound(client)


def test_large_amounts_are_counted_exactly(client: Redis) -> None:
    much = Cost(calls=1, tokens=99_999_999, usd_micros=12_345_678_901_234)
    host = Host(client, limits={"run.run.usd_micros": 2**53 - 1}, cost=much)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    assert host.window("run:0", unit="usd_micros") == {"reserved": 12_345_678_901_234}
    settle(claims, claim, None, much)
    claim = claimed(claims, job)
    settle(claims, claim, "done", much)
    assert host.window("run:0", unit="usd_micros") == {"spent": 24_691_357_802_468, "pool": 12_345_678_901_234}
    sound(client)
