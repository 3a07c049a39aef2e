"""Whether workers are ready before a host relies on them: how long it waits, and what it says of those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.ledger.worker_signs import WorkersSeen
from cogitate.tasks.job import Job, JobKey
from cogitate.workers.processes import readiness as module
from cogitate.workers.processes.readiness import ALL, EVERY, OTHERS, OWN, RARELY, SLOW, TRIED, Readiness

KINDS = ("plan", "reflect")
OURS, THEIRS = "http://ours/v1", "http://theirs/v1"


class Machine:
    """A ledger whose trial hints are answered as time goes by; sleeping moves the clock."""

    run = "town"
    client = None

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answered_at: float) -> None:
        self.now, self.answered_at = 1000.0, {name: 1000.0 + at for name, at in answered_at.items()}
        self.asked: list[JobKey] = []
        self.published: list[JobKey] = []
        self.looks: list[tuple[float, int]] = []
        self.taken: list[str] = []  # kinds that a worker names as its own
        self.alive, self.older = ["one"], list[str]()  # workers
        monkeypatch.setattr(module, "workers_seen", self.seen)
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=self.sleep))

    def sleep(self, seconds: float) -> None:
        assert seconds == EVERY
        self.now = round(self.now + seconds, 6)

    def seen(self, client: object) -> WorkersSeen:
        assert client is self.client
        return WorkersSeen(alive=self.alive, missing=[], kinds=self.taken, older=self.older)

    def publish(self, jobs: Sequence[Job]) -> int:
        self.published += [job.key for job in jobs]
        return len(jobs)

    def ask_ready(self, keys: Sequence[JobKey]) -> None:
        assert not self.published, "the ledger knows of a hint before a worker can"
        self.asked += keys

    def answered(self, keys: Sequence[JobKey]) -> set[JobKey]:
        self.looks.append((self.now, len(keys)))
        return {key for key in keys if self.answered_at.get(self.name(key), 1e9) <= self.now}

    def name(self, key: JobKey) -> str:
        return {OURS: "ours", THEIRS: "theirs"}.get(key.owner.partition(":")[2], key.kind)

    def readiness(self, endpoints: Sequence[str] = (), pool: Any = None) -> Readiness:
        made: Any = Readiness(
            self,
            self.publish,
            kinds=KINDS,
            endpoints=endpoints,
            pool=pool,
            clock=lambda: self.now,  # type: ignore[arg-type]
        )
        return made  # type: ignore[no-any-return]

    def waited(self, ready: Readiness, *, for_workers: bool = True, upto: float = 1e9) -> tuple[float, list[Any]]:
        """For how long a host waits, and what it logs meanwhile."""
        ready.ask()
        with capture_logs() as logs:
            ready.wait(lambda: self.now - 1000.0 >= upto, for_workers=for_workers)
        return round(self.now - 1000.0, 3), [log["event"] for log in logs]


class Pool:
    """Workers of the host's own."""

    cannot_start = ""

    def __init__(self, left: bool = True) -> None:
        self.left = left

    def any_left(self) -> bool:
        return self.left


def test_each_kind_and_doubtful_endpoint_is_queried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.readiness((OURS,)).ask()
    assert [machine.name(key) for key in machine.asked] == ["ours", "plan", "reflect"]
    assert machine.published == machine.asked
    assert machine.asked[0].kind == "plan", "whoever takes the first kind tries it"


def test_once_every_kind_is_answered_a_host_continues_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, plan=1.0, reflect=1.5)
    ready = machine.readiness(pool=Pool())
    assert machine.waited(ready) == (1.5, [])
    assert machine.looks[0] == (1000.0, 2)
    assert machine.looks[-1] == (1001.5, 1), "what is answered is not asked for again"
    looks = len(machine.looks)
    ready.wait(lambda: False, for_workers=True)
    assert (len(machine.looks), machine.now) == (looks, 1001.5), "it waits once"
    assert ready.workers_left()
    assert len(machine.looks) == looks


def test_a_host_that_needs_no_workers_yet_waits_for_them_once_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, plan=1.0, reflect=1.5)
    ready = machine.readiness(pool=Pool())
    assert machine.waited(ready, for_workers=False) == (0.0, [])
    ready.wait(lambda: False, for_workers=True)
    assert machine.now == 1001.5


@pytest.mark.parametrize(("pool", "limit"), [(Pool(), OWN), (None, OTHERS)])
def test_without_an_answer_a_host_waits_and_says_what_to_check(
    monkeypatch: pytest.MonkeyPatch, pool: Any, limit: float
) -> None:
    machine = Machine(monkeypatch)
    waited, events = machine.waited(machine.readiness(pool=pool))
    assert waited == limit
    assert events == [*["workers.starting"] * (limit > SLOW), "workers.not_ready"]


@pytest.mark.parametrize(
    ("pool", "check"), [(Pool(), "worker-1.log"), (None, "start workers for this server: cogitate worker")]
)
def test_the_starter_of_workers_is_told_where_to_look(monkeypatch: pytest.MonkeyPatch, pool: Any, check: str) -> None:
    machine = Machine(monkeypatch)
    ready = machine.readiness(pool=pool)
    ready.ask()
    with capture_logs() as logs:
        ready.wait(lambda: False, for_workers=True)
    told = logs[-1]
    assert (told["event"], told["run"], told["check"]) == ("workers.not_ready", "town", check)
    assert told["seconds"] == (OTHERS if pool is None else OWN)
    assert [log["event"] for log in logs[:-1]] == ([] if pool is None else ["workers.starting"]), "once"


def test_a_host_announces_a_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for answered, events in ((SLOW - 0.1, []), (SLOW + 0.1, ["workers.starting"])):
        machine = Machine(monkeypatch, plan=answered, reflect=answered)
        assert machine.waited(machine.readiness(pool=Pool())) == (round(answered, 3), events)


def test_kinds_that_no_worker_knows_are_named_a_second_after_the_first_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, plan=0.5)
    ready = machine.readiness(pool=Pool())
    ready.ask()
    with capture_logs() as logs:
        ready.wait(lambda: False, for_workers=True)
    assert round(machine.now - 1000.0, 3) == 0.5 + ALL
    assert [(log["event"], log["run"], log["kinds"]) for log in logs] == [("workers.unknown_kind", "town", ["reflect"])]


def test_a_kind_announced_by_a_worker_is_slow_and_not_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    for answered, then in ((OWN - 0.1, (OWN - 0.1, [])), (1e9, (OWN, ["workers.not_ready"]))):
        machine = Machine(monkeypatch, plan=0.5, reflect=answered)
        machine.taken = ["plan", "reflect"]
        assert machine.waited(machine.readiness(pool=Pool())) == then


def test_kinds_are_not_reported_while_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(client: object) -> WorkersSeen:
        raise RedisConnectionError("away")

    machine = Machine(monkeypatch, plan=0.5)
    monkeypatch.setattr(module, "workers_seen", away)
    assert machine.waited(machine.readiness(pool=Pool())) == (OWN, ["workers.not_ready"])


@pytest.mark.parametrize(
    ("alive", "older", "named"),
    [
        (["a", "b"], ["a", "b"], [["a", "b"]]),
        ([f"w{n}" for n in range(9)], [f"w{n}" for n in range(9)], [["w0", "w1", "w2", "w3", "w4"]]),
        (["a", "b"], ["a"], []),
        (["a"], [], []),
        ([], [], []),
    ],
    ids=["all", "many", "some", "none", "no workers"],
)
def test_a_host_warns_once_when_all_workers_are_of_an_older_version(
    monkeypatch: pytest.MonkeyPatch, alive: list[str], older: list[str], named: list[list[str]]
) -> None:
    machine = Machine(monkeypatch, **dict.fromkeys(KINDS, 0.5))
    machine.alive, machine.older = alive, older
    ready = machine.readiness(pool=Pool())
    ready.ask()
    with capture_logs() as logs:
        ready.wait(lambda: False, for_workers=True)
        ready.workers_left()
    assert [log["workers"] for log in logs if log["event"] == "workers.older_version"] == named


def test_a_host_that_is_to_stop_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    ready = machine.readiness(pool=Pool())
    assert machine.waited(ready, upto=2.0) == (2.0, [])
    looks = len(machine.looks)
    ready.wait(lambda: True, for_workers=True)
    assert len(machine.looks) == looks, "it does not even look"


def test_a_worker_that_cannot_start_is_an_error_with_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, pool = Machine(monkeypatch), Pool()
    ready = machine.readiness(pool=pool)
    ready.ask()
    pool.cannot_start = "ImportError: no module"
    for ask in (ready.workers_left, lambda: ready.wait(lambda: False, for_workers=True)):
        with pytest.raises(ConfigurationError, match="a worker cannot start: ImportError: no module"):
            ask()


# -- endpoints ---------------------------------------------------------------------------------------


def vitals(endpoint: str, breaker: str) -> Any:
    return SimpleNamespace(endpoint=endpoint, server="", breaker=breaker, why="auth", changed=60.0)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is known of endpoints."""
    known = [vitals(OURS, "open"), vitals(THEIRS, "closed"), vitals("http://other/v1", "open")]
    monkeypatch.setattr(module, "endpoint_vitals", lambda client: known)
    return known


def test_endpoints_in_doubt_are_waited_for_even_where_workers_are_not(
    monkeypatch: pytest.MonkeyPatch, shown: list[Any]
) -> None:
    machine = Machine(monkeypatch, plan=0.1, reflect=0.1, ours=2.0, theirs=4.0)
    ready = machine.readiness((OURS, THEIRS), Pool())
    ready.ask()
    with capture_logs() as logs:
        ready.wait(lambda: False, for_workers=False)
    assert round(machine.now - 1000.0, 3) == 4.0
    assert ready.unreachable == {(OURS, "auth")}
    (told,) = logs
    assert (told["event"], told["run"], told["endpoint"]) == ("endpoint.unreachable", "town", OURS)
    assert (told["why"], told["seconds"]) == ("auth", 60.0)


def test_without_doubtful_endpoints_only_workers_are_awaited(monkeypatch: pytest.MonkeyPatch, shown: list[Any]) -> None:
    machine = Machine(monkeypatch)
    ready = machine.readiness(pool=Pool())
    assert machine.waited(ready, for_workers=False) == (0.0, [])
    assert ready.unreachable == set()


@pytest.mark.parametrize(
    ("pool", "answers", "limit"),
    [(Pool(), {}, OWN), (None, {}, OTHERS), (Pool(), {"plan": 1.0, "reflect": 1.0}, OWN + TRIED)],
)
def test_an_untried_endpoint_is_awaited_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, shown: list[Any], pool: Any, answers: dict[str, float], limit: float
) -> None:
    machine = Machine(monkeypatch, **answers)
    waited, _ = machine.waited(machine.readiness((OURS,), pool), for_workers=False)
    assert waited == limit


def test_endpoints_are_not_reported_while_redis_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(client: Any) -> Any:
        raise RedisConnectionError("gone")

    monkeypatch.setattr(module, "endpoint_vitals", gone)
    machine = Machine(monkeypatch, plan=0.1, reflect=0.1, ours=0.1)
    ready = machine.readiness((OURS,), Pool())
    assert machine.waited(ready)[1] == []
    assert ready.unreachable == set()


# -- while results are waited for --------------------------------------------------------------------


@pytest.mark.parametrize(("pool", "left"), [(None, True), (Pool(), True), (Pool(left=False), False)])
def test_workers_stay_while_one_lives_or_another_host_starts_them(
    monkeypatch: pytest.MonkeyPatch, pool: Any, left: bool
) -> None:
    machine = Machine(monkeypatch)
    ready = machine.readiness(pool=pool)
    ready.ask()
    assert ready.workers_left() is left


def test_a_host_that_did_not_wait_looks_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, plan=1.0, reflect=1.0)
    ready = machine.readiness(pool=Pool())
    ready.ask()
    for tenth in range(20):
        machine.now = round(1000.0 + tenth / 10, 3)
        ready.workers_left()
    assert [at - 1000.0 for at, _ in machine.looks] == [RARELY, 2 * RARELY], "until all have answered"
