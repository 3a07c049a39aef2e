"""A host's side of the ledger: what it waits for, which errors stop it, and how it leaves its run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis, FakeServer
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import RedisError

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger import ledger as module
from cogitate.scheduler.ledger.errors import (
    Fenced,
    LedgerError,
    NewerSchema,
    RunExists,
    RunMissing,
    RunRolledBack,
    RunUnreadable,
)
from cogitate.scheduler.ledger.keys import RUNS
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.tasks.job import JobKey

KEYS = [JobKey(0, kind, "readiness", 0, 0) for kind in ("act", "plan", "muse")]


class Away:
    """An outage that begins when a test says so."""

    def __init__(self, *, away: bool = False) -> None:
        self.away, self.lost = away, 1.5
        self.errors: list[RedisError] = []
        self.settled = 0

    def back(self) -> bool:
        return not self.away

    def send(self, step: Callable[[], Any], size: int) -> Any:
        return None if self.away else step()

    def missed(self, error: RedisError) -> None:
        self.errors.append(error)

    def settle(self) -> None:
        self.settled += 1
        self.away = False


def created(client: FakeRedis | None = None, outage: Away | None = None) -> HostLedger:
    ledger = HostLedger.create(client or FakeRedis(), "town", state={"settings": "{}", "kept": 7})
    ledger.outage = outage
    return ledger


def status(ledger: HostLedger) -> bytes | None:
    return ledger.store.field("state", "status")


# -- taking a run ------------------------------------------------------------------------------------


def test_a_run_is_created_once_and_taken_over_by_a_resume() -> None:
    client = FakeRedis()
    first = created(client)
    assert client.smembers(RUNS) == {b"town"}
    assert first.store.state("settings", "kept", "schema", "status") == [b"{}", b"7", b"%d" % SCHEMA, b"running"]
    with pytest.raises(RunExists, match="'town' exists already"):
        created(client)
    second = HostLedger.resume(client, "town")
    assert (second.incarnation, second.epoch) == (first.incarnation, first.epoch + 1)
    second.ask_ready([])
    with pytest.raises(Fenced, match="another host has taken it"):
        first.ask_ready([])


@pytest.mark.parametrize(
    ("schema", "error", "says"),
    [(SCHEMA + 1, NewerSchema, f"has schema {SCHEMA + 1}"), ("odd", RunUnreadable, "is not a number")],
)
def test_a_run_that_this_version_cannot_read_is_not_taken(schema: object, error: type[Exception], says: str) -> None:
    ledger = created()
    ledger.client.hset(ledger.store.key("state"), "schema", schema)  # type: ignore[arg-type]
    with pytest.raises(error, match=says):
        HostLedger.resume(ledger.client, "town")
    ledger.ask_ready([])


def test_a_missing_run_is_not_resumed() -> None:
    client = FakeRedis()
    with pytest.raises(RunMissing, match="no run 'town' to resume"):
        HostLedger.resume(client, "town")
    assert client.smembers(RUNS) == set()


# -- steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"epoch": 2}, Fenced),
        ({"holder": "x"}, Fenced),
        ({"holder": "x", "seq": 9}, Fenced),
        ({"seq": 0}, RunRolledBack),
        ({"seq": 2}, Fenced),
        ({"epoch": 2, "seq": 0}, Fenced),
    ],
)
def test_a_host_ahead_of_its_ledger_differs_from_a_fenced_one(changed: dict[str, Any], error: type[Exception]) -> None:
    ledger = created()
    ledger.ask_ready([])
    ledger.client.hset(ledger.store.key("state"), mapping={"tick": 3} | changed)
    with pytest.raises(LedgerError) as refused:
        ledger.ask_ready(KEYS)
    assert type(refused.value) is error
    if error is RunRolledBack:
        assert "it is at tick 3, this host is at tick 0" in str(refused.value)


def test_a_run_that_was_deleted_stops_its_host() -> None:
    ledger = created()
    ledger.client.flushall()
    with pytest.raises(Fenced, match="or it was deleted") as refused:
        ledger.ask_ready([])
    assert type(refused.value) is Fenced


def test_a_step_that_fails_may_be_sent_again_and_counts_once() -> None:
    server = FakeServer()
    ledger = created(FakeRedis(server=server))
    server.connected = False
    for _ in range(2):
        with pytest.raises(Disconnected):
            ledger.ask_ready(KEYS[:1])
    server.connected = True
    ledger.ask_ready(KEYS[:1])
    ledger.ask_ready(KEYS[1:])
    assert {*ledger.store.fields("readiness")} == {key.text().encode() for key in KEYS[1:]}


def test_two_steps_are_the_same_if_their_arguments_are() -> None:
    fingerprint = module._fingerprint
    assert fingerprint([b"a", b"b", b"3"])[0] == fingerprint([b"a", b"b", b"3"])[0]
    others = ([b"ab", b""], [b"a", b"b"], [b"b", b"a"], [b"a"], [b"a", b"b", b""])
    assert len({fingerprint(args)[0] for args in others}) == 5
    assert fingerprint([b"a", b"bc", b"10"])[1] == len("a") + len("bc") + len("10") + 2 * len("\0")


# -- waiting -----------------------------------------------------------------------------------------


class Waits:
    """A client that notes how long it is to wait for which list."""

    def __init__(self, ledger: HostLedger, answer: Any) -> None:
        self.asked: list[tuple[str, float]] = []
        self._prefix, self._answer = ledger.store.prefix, answer

    def blpop(self, keys: list[str], timeout: float) -> Any:
        self.asked += [(key.removeprefix(self._prefix), timeout) for key in keys]
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def waiting(monkeypatch: pytest.MonkeyPatch, answer: Any, outage: Away | None = None) -> tuple[HostLedger, Waits]:
    ledger = created(FakeRedis(socket_timeout=2.0), outage)
    client = Waits(ledger, answer)
    monkeypatch.setattr(HostLedger, "client", property(lambda self: client))
    return ledger, client


def test_a_wait_is_bounded_by_the_socket_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, client = waiting(monkeypatch, None)
    for seconds in (0.0, -1.0, 0.2, 99.0):
        ledger.wait_asked(seconds)
        assert not ledger.wait_ready(7, seconds)
    assert client.asked == [(key, most) for most in (0.01, 0.01, 0.2, 1.0) for key in ("knock", "ready:7")]


def test_a_blocking_call_ends_before_its_sockets_timeout() -> None:
    for timeout, most in ((5.0, 2.5), (0.5, 0.25), (None, 1.0)):
        ledger = created(FakeRedis(socket_timeout=timeout))
        assert ledger._longest_block == most


def test_a_host_learns_that_no_job_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, _ = waiting(monkeypatch, (b"ready:7", b"1"))
    assert ledger.wait_ready(7, 1.0)


def test_a_connection_error_in_a_wait_goes_to_the_outage_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    outage = Away()
    ledger, _ = waiting(monkeypatch, Disconnected("gone"), outage)
    assert not ledger.wait_ready(7, 1.0)
    assert [str(error) for error in outage.errors] == ["gone"]
    assert ledger.lost == 1.5
    ledger.outage = None
    assert ledger.lost == 0.0
    with pytest.raises(Disconnected):
        ledger.wait_ready(7, 1.0)


def test_without_its_ledger_a_host_sleeps_for_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, client = waiting(monkeypatch, (b"ready:7", b"1"), Away(away=True))
    slept: list[float] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=slept.append))
    assert not ledger.wait_ready(7, 0.2)
    ledger.wait_asked(99.0)
    assert (slept, client.asked) == ([0.2, 1.0], [])
    assert ledger.collect(1, "due") is None
    assert ledger.answered(KEYS) == set()


def test_trial_hints_that_were_answered_are_known() -> None:
    ledger = created()
    ledger.ask_ready(KEYS)
    assert ledger.answered(KEYS) == set()
    ledger.client.hset(ledger.store.key("readiness"), KEYS[1].text(), "answered")
    ledger.client.hset(ledger.store.key("readiness"), KEYS[0].text(), "taken")
    assert ledger.answered(KEYS) == {KEYS[1]}
    assert ledger.answered(KEYS[:1]) == set()
    assert ledger.answered([]) == set()
    ledger.outage = Away(away=True)
    assert ledger.answered(KEYS) == set(), "a ledger that is away is not asked"


def test_a_connection_error_in_a_read_goes_to_the_outage_handler() -> None:
    server = FakeServer()
    ledger = created(FakeRedis(server=server))
    ledger.ask_ready(KEYS)
    ledger.client.hset(ledger.store.key("readiness"), KEYS[1].text(), "answered")
    server.connected = False
    with pytest.raises(Disconnected):
        ledger.answered(KEYS)
    ledger.outage = outage = Away()
    assert ledger.answered(KEYS) == set()
    assert len(outage.errors) == 1
    assert ledger.answered([]) == set(), "no request, no call"
    assert len(outage.errors) == 1


# -- the heartbeat -----------------------------------------------------------------------------------


def test_a_heartbeat_expires_to_the_millisecond() -> None:
    ledger = created()
    assert ledger.present(b"me", 1.2346)
    assert ledger.client.get(ledger.store.key("host")) == b"me"
    assert 1_000 < ledger.client.pttl(ledger.store.key("host")) <= 1_235
    other = HostLedger.resume(ledger.client, "town")
    assert not ledger.present(b"me", 10.0)
    assert other.present(b"other", 10.0)


# -- leaving -----------------------------------------------------------------------------------------


def test_an_interrupted_host_releases_its_run_after_any_step() -> None:
    ledger = created(outage=Away())
    ledger.client.hincrby(ledger.store.key("state"), "seq", 5)  # steps of which it does not know whether they arrived
    ledger.let_go("stopped")
    assert status(ledger) == b"stopped"


@pytest.mark.parametrize("other", [{"epoch": 2}, {"holder": "x"}])
def test_a_host_leaves_a_lost_run_alone(other: dict[str, Any]) -> None:
    ledger = created()
    ledger.client.hset(ledger.store.key("state"), mapping=other)
    ledger.let_go("stopped")
    assert status(ledger) == b"running"
    ledger.client.flushall()
    ledger.let_go("stopped")


def test_a_host_whose_ledger_is_away_does_not_ask_it() -> None:
    server = FakeServer()
    ledger = created(FakeRedis(server=server), Away(away=True))
    server.connected = False
    ledger.let_go("stopped")
    ledger.outage = None
    with pytest.raises(Disconnected):
        ledger.let_go("stopped")


def test_finish_writes_kept_ticks_first_and_settles_a_kept_end() -> None:
    ledger = created(outage=(outage := Away()))
    ledger.finish("finished")
    assert (status(ledger), outage.settled) == (b"finished", 1)

    class Kept(Away):
        def settle(self) -> None:
            self.settled += 1

    ledger = created(outage=(kept := Kept(away=True)))
    ledger.finish("finished")
    assert kept.settled == 2
    ledger = created()
    ledger.finish("cancelled")
    assert status(ledger) == b"cancelled"
    ledger.go_on()
    assert status(ledger) == b"running"


def test_a_boundary_is_shown_what_the_ledger_keeps_for_each_part() -> None:
    ledger = created()
    for key in ("corrections", "offered", "retries"):
        ledger.client.hset(ledger.store.prefix + key, "odd", "{")
    found = ledger.collect(1, "due")
    assert found is not None
    assert found.boundary.shown == {name: [b"odd", b"{"] for name in ("offered", "corrections", "retries")}
