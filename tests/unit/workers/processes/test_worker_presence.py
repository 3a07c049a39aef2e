"""A worker's heartbeat: sent from before its first message, missed while Redis is down, removed at its end."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from celery import Celery, signals
from celery.utils.dispatch import Signal
from fakeredis import FakeRedis
from kombu.entity import Queue
from redis.exceptions import ConnectionError as Away

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.worker_signs import NO_TROUBLE, WorkerTrouble
from cogitate.workers.processes import worker_process as module
from cogitate.workers.processes.worker_process import MOST_IN_TURN, PARENT_VARIABLE, FailuresBeforeClaim, WorkerPresence
from tests.patience import LONGEST

KINDS = ("plan", "reflect")
SETTINGS = Settings(redis_url="redis://localhost:7/1", socket_timeout=7.0)


class Signs:
    """What is told of workers, in its order, and the waits between two signs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.client = FakeRedis()
        self.told: list[tuple[Any, ...]] = []
        self.away = 0  # signs that are missed
        self.given = threading.Semaphore(0)
        self.over = threading.Event()
        monkeypatch.setattr(module, "EVERY", 0.001)
        monkeypatch.setattr(module, "give_sign", self.give)
        monkeypatch.setattr(module, "forget_workers", lambda *of: self.told.append(("forget", *of)))
        monkeypatch.setattr(module, "remove_sign", self.remove)
        monkeypatch.setattr(module, "take_place", lambda *of: False)

    def give(self, *of: Any) -> int:
        self.told.append(("give", *of))
        self.given.release()
        if self.away:
            self.away -= 1
            raise Away("away")
        return 7

    def remove(self, *of: Any) -> None:
        self.told.append(("remove", *of))
        if self.away:
            raise Away("away")

    def wait(self, number: int) -> None:
        for _ in range(number):
            assert self.given.acquire(timeout=LONGEST)


@pytest.fixture
def signs(monkeypatch: pytest.MonkeyPatch) -> Signs:
    monkeypatch.delenv(PARENT_VARIABLE, raising=False)
    return Signs(monkeypatch)


def test_signs_are_given_again_and_again_and_the_last_is_taken_back(signs: Signs) -> None:
    presence = WorkerPresence(signs.client, "one", KINDS)
    assert (presence._thread.name, presence._thread.daemon) == ("worker-presence", True)
    presence.start()
    signs.wait(3)
    presence.stop()
    assert not presence._thread.is_alive()
    given, forgotten, *others, removed = signs.told
    assert given == ("give", signs.client, "one", None, KINDS, NO_TROUBLE, None, {})
    assert forgotten == ("forget", signs.client)
    assert all(one == ("give", signs.client, "one", None, KINDS, NO_TROUBLE, 7, {}) for one in others)
    assert removed == ("remove", signs.client, "one")


def test_a_sign_that_is_missed_is_given_later_and_then_others_are_forgotten(signs: Signs) -> None:
    signs.away = 2
    presence = WorkerPresence(signs.client, "one", KINDS)
    presence.start()
    signs.wait(4)
    presence.stop()
    assert [what for what, *_ in signs.told[:4]] == ["give", "give", "give", "forget"]


def test_a_worker_that_cannot_withdraw_its_presence_ends(signs: Signs) -> None:
    presence = WorkerPresence(signs.client, "one", KINDS)
    presence.start()
    signs.wait(1)
    presence._over.set()
    presence._thread.join(LONGEST)
    signs.away = 1
    presence.stop()
    assert signs.told[-1][0] == "remove"


def test_a_hosts_worker_names_its_host(signs: Signs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PARENT_VARIABLE, str(os.getppid()))
    monkeypatch.setattr(module, "process_of", lambda pid: ("host", pid))
    assert WorkerPresence(signs.client, "one", KINDS)._supervisor == ("host", os.getppid())


def test_a_worker_without_claims_says_so_and_leaves_a_mark(signs: Signs, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = FailuresBeforeClaim()
    monkeypatch.setattr(module, "BEFORE_CLAIM", failures)
    presence = WorkerPresence(signs.client, "one", KINDS)
    failures.failed("no template")
    presence.start()
    signs.wait(1)
    for _ in range(MOST_IN_TURN - 1):
        failures.failed("no template")
    presence.stop()
    assert signs.told[0][-3] == WorkerTrouble(failures=1, why="no template")
    assert signs.told[-1][0] == "give"
    assert signs.told[-1][-3] == WorkerTrouble(failures=MOST_IN_TURN, why="no template", ended=True)


class Consumer:
    """What Celery sends with `worker_ready`."""

    hostname = "one@here"

    def __init__(self, app: Celery) -> None:
        self.app = app


class Presence:
    """A presence that notes what a worker does with it."""

    made: ClassVar[list[Presence]] = []

    def __init__(self, client: Any, worker: str, kinds: Sequence[str]) -> None:
        self.client, self.worker, self.kinds = client, worker, kinds
        self.done: list[str] = []
        self.made.append(self)

    def start(self) -> None:
        self.done.append("start")

    def stop(self) -> None:
        self.done.append("stop")


class Client:
    """A client that notes that it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def test_a_worker_lives_from_its_first_message_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Celery()
    app.conf.task_queues = [Queue("reflect"), Queue("plan"), Queue("prune")]
    app.amqp.queues.select(["reflect", "plan"])
    sender = Consumer(app)
    ready, ended = Signal(name="worker_ready"), Signal(name="worker_shutdown")
    client, connected = Client(), list[Any]()
    monkeypatch.setattr(Presence, "made", [])
    monkeypatch.setattr(module, "WorkerPresence", Presence)
    monkeypatch.setattr(module, "Settings", lambda: SETTINGS)
    monkeypatch.setattr(signals, "worker_ready", ready)
    monkeypatch.setattr(signals, "worker_shutdown", ended)
    monkeypatch.setattr(module, "connect", lambda *where, **how: connected.append((where, how)) or client)
    monkeypatch.delenv(PARENT_VARIABLE, raising=False)
    module.register()
    assert Presence.made == []
    ready.send(sender=sender)
    (presence,) = Presence.made
    assert (presence.client, presence.worker, presence.done) == (client, "one@here", ["start"])
    assert presence.kinds == [*KINDS], "of those that it was told to take"
    assert connected == [((SETTINGS.state_url(), 7.0), {"retries": 0})]
    assert not client.closed
    ended.send(sender=sender)
    assert (presence.done, client.closed) == (["start", "stop"], True)


def test_a_worker_without_a_ledger_gives_no_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise ConfigurationError("no Redis URL")

    monkeypatch.setattr(Presence, "made", [])
    monkeypatch.setattr(module, "WorkerPresence", Presence)
    monkeypatch.setattr(module, "Settings", lambda: SETTINGS)
    monkeypatch.setattr(module, "connect", refuse)
    module._start_presence(Consumer(Celery()))
    assert Presence.made == []
