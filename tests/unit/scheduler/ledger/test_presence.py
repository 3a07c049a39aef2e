"""Whether a run has a host: what the sign of one says, how long it counts, and who is refused."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from redis.exceptions import ConnectionError as Disconnected

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger import presence as module
from cogitate.scheduler.ledger.errors import RunHeld
from cogitate.scheduler.ledger.presence import (
    HostProcess,
    Presence,
    check_unheld,
    format_state,
    host_of,
    this_process,
)
from cogitate.scheduler.ledger.run_store import RunStore


def run(status: str | None = "running", schema: object = SCHEMA, host: HostProcess | bytes | None = None) -> RunStore:
    store = RunStore.of(FakeRedis(), "town", "now")
    state: dict[str, Any] = {"seq": 4} | ({} if status is None else {"status": status})
    store.client.hset(store.key("state"), mapping=state | ({} if schema is None else {"schema": schema}))
    if host is not None:
        store.client.set(store.key("host"), host if isinstance(host, bytes) else msgspec.json.encode(host))
    return store


def this(**changed: Any) -> HostProcess:
    return msgspec.structs.replace(this_process(), **changed)


# -- the sign ----------------------------------------------------------------------------------------


def test_this_process_is_named_by_host_and_pid() -> None:
    here = this_process()
    assert (here.pid, here.name) == (os.getpid(), platform.node())
    assert here.text() == f"{platform.node()}:{os.getpid()}"
    assert here == this_process(), "as long as it lives"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_machines_differ_by_boot_and_process_namespace() -> None:
    name, boot, ids = this_process().machine.split(" ")
    assert name == platform.node()
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert ids == str(Path("/proc/self/ns/pid").readlink())
    assert this_process().began.isdigit()


@pytest.mark.parametrize("status", ["running", "paused"])
def test_a_process_that_lives_is_the_host_of_a_run_that_it_has_not_left(status: str) -> None:
    assert host_of(run(status, host=this())) == this()


@pytest.mark.parametrize("status", ["finished", "stopped", "cancelled", None])
def test_a_run_left_by_its_host_has_no_host(status: str | None) -> None:
    assert host_of(run(status, host=this())) is None


@pytest.mark.parametrize("host", [None, b"", b"{", b"{}", b'{"name": 5}', b"\xff"])
def test_an_invalid_heartbeat_names_no_host(host: bytes | None) -> None:
    assert host_of(run(host=host)) is None


@pytest.mark.parametrize(
    ("changed", "alive"),
    [
        ({}, True),
        ({"began": "1"}, False),  # another process has got its number
        ({"pid": 2**22 + 7}, False),  # no such process
        ({"machine": "far away", "pid": 2**22 + 7, "began": "1"}, True),  # its sign alone tells
    ],
)
def test_on_the_same_machine_the_process_is_checked(changed: dict[str, Any], alive: bool) -> None:
    assert (host_of(run(host=this(**changed))) is not None) is alive


def test_a_process_that_is_dead_and_not_yet_reaped_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    began = module._began(child.pid)
    assert host_of(run(host=this(pid=child.pid, began=began))) is not None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert module._began(child.pid) == ""
    assert host_of(run(host=this(pid=child.pid, began=began))) is None
    child.communicate()
    assert module._began(child.pid) is None


@pytest.mark.parametrize(("error", "alive"), [(PermissionError(), True), (ProcessLookupError(), False)])
def test_a_process_of_another_user_lives(monkeypatch: pytest.MonkeyPatch, error: OSError, alive: bool) -> None:
    def kill(pid: int, signal: int) -> None:
        assert (pid, signal) == (os.getpid(), 0), "it is asked about, not ended"
        raise error

    monkeypatch.setattr(module, "os", SimpleNamespace(kill=kill, getpid=os.getpid))
    assert (host_of(run(host=this())) is not None) is alive


def test_without_a_start_time_the_process_id_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    store = run(host=this(began="1"))
    monkeypatch.setattr(module, "_began", lambda pid: None)
    assert host_of(store) is not None
    assert this_process().began == ""


@pytest.mark.parametrize(
    ("status", "held", "words"),
    [
        ("running", True, "running"),
        ("running", False, "running, no host"),
        ("paused", False, "paused, no host"),
        ("finished", False, "finished"),
        ("stopped", True, "stopped"),
    ],
)
def test_format_state_names_a_missing_host(status: str, held: bool, words: str) -> None:
    assert format_state(status, held) == words


# -- who is refused ----------------------------------------------------------------------------------


def test_a_run_that_a_process_is_at_work_on_is_held() -> None:
    with pytest.raises(RunHeld, match=rf"'town' is held by the host \S+:{os.getpid()} \(this process\), .* or take it"):
        check_unheld(run(host=this()), "town", "take it over")
    with pytest.raises(RunHeld, match=r"held by the host far:7, which is active: stop it first, or \.\.\."):
        check_unheld(run(host=this(name="far", machine="far", pid=7)), "town", "...")
    check_unheld(run(host=None), "town", "...")


# -- the thread that gives it ------------------------------------------------------------------------


class Signs:
    """A ledger that notes the signs of its host, and says after so many that another host has the run."""

    run = "town"

    def __init__(self, *answers: Any) -> None:
        self.given: list[tuple[bytes, float]] = []
        self._answers = list(answers)
        self.all = threading.Event()

    def present(self, sign: bytes, seconds: float) -> bool:
        self.given.append((sign, seconds))
        answer = self._answers.pop(0)
        if not self._answers:
            self.all.set()
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)


def started(signs: Signs, lease: float, monkeypatch: pytest.MonkeyPatch) -> tuple[Presence, list[float]]:
    """A presence whose pauses are over at once; and how long they were to be."""
    ledger: Any = signs
    presence, pauses = Presence(ledger, lease), list[float]()
    over = presence._over.is_set

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return over()

    monkeypatch.setattr(presence._over, "wait", wait)
    presence.start()
    if presence._thread.ident is not None:
        presence._thread.join()
    return presence, pauses


def test_a_sign_is_renewed_four_times_a_lease_until_another_host_has_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    signs = Signs(True, True, Disconnected("gone"), OSError("odd"), ValueError("odd"), False)
    presence, pauses = started(signs, 8.0, monkeypatch)
    assert signs.given == [(msgspec.json.encode(this_process()), 8.0)] * 6, "an error is no reason to give up"
    assert pauses == [2.0] * 5
    presence.stop()


def test_a_host_that_has_lost_its_run_already_gives_no_further_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    signs = Signs(False)
    presence, pauses = started(signs, 8.0, monkeypatch)
    assert (len(signs.given), pauses) == (1, [])
    presence.stop()


def test_a_sign_is_good_for_a_second_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    signs = Signs(True, False)
    _, pauses = started(signs, 0.01, monkeypatch)
    assert ({seconds for _, seconds in signs.given}, pauses) == ({1.0}, [0.25])


def test_a_presence_that_is_stopped_gives_no_further_sign() -> None:
    signs: Any = Signs(True, True)
    presence = Presence(signs, 3600.0)
    presence.start()
    assert presence._thread.daemon
    presence.stop()
    assert not presence._thread.is_alive()
    assert len(signs.given) == 1
