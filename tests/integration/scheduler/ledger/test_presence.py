"""The presence of a run's host: who may take the run, and what the commands report."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate import Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError, Fenced, RunHeld
from cogitate.scheduler.ledger.keys import RUNS
from cogitate.scheduler.ledger.presence import LEAST, HostProcess, Presence, host_of, this_process
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.integration.scheduler.ledger.ledger_case import OWNER, Host
from tests.patience import LONGEST
from tests.process_environment import clean_environment

Eventually = Callable[..., None]

OWNERS = {"agent:ada": Profile(name="Ada Smith")}
HOUR = 3600.0  # seconds; no lease of this length expires during a test
HOST = """
import sys
from pathlib import Path
from cogitate import Profile, Settings, TickLoop

settings = Settings.tuned(data_dir=Path(sys.argv[1]), redis_url=sys.argv[2], workers=0, wait=0.0, lease=3600.0)
loop = TickLoop(run="mine", owners={"agent:ada": Profile(name="Ada Smith")}, settings=settings, ticks=100)
with loop:
    next(ticks := iter(loop))
    next(ticks)
    print("in tick 2", flush=True)
    sys.stdin.read()
"""


def settings_of(valkey: EmbeddedServer, lease: float = HOUR) -> Settings:
    return Settings.tuned(
        data_dir=valkey.data_dir, redis_url=SecretStr(valkey.url), workers=0, wait=0.0, tick_rate=None, lease=lease
    )


@contextmanager
def host_elsewhere(valkey: EmbeddedServer, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a host in a separate process up to the body of tick 2."""
    (tmp_path / "host.py").write_text(HOST)
    host = subprocess.Popen(
        [sys.executable, "host.py", str(tmp_path / "data"), valkey.url],
        cwd=tmp_path,
        env=clean_environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "in tick 2\n"
        yield host
    finally:
        host.kill()
        host.communicate()


def resumed(valkey: EmbeddedServer, **more: Any) -> TickLoop:
    return TickLoop(run="mine", owners={}, settings=settings_of(valkey), ticks=4, exist="resume", **more)


def states(valkey: EmbeddedServer) -> tuple[str, str, dict[str, str]]:
    """Return what `status`, `runs` and `doctor` report of the run."""
    status = typed("status", "mine", data_dir=valkey.data_dir).stdout
    runs = json.loads(typed("runs", "--json", data_dir=valkey.data_dir).stdout)["runs"]
    found = json.loads(typed("doctor", "--json", data_dir=valkey.data_dir).stdout)
    (line,) = [line for line in status.splitlines() if line.startswith("Run mine")]
    return line, f"{runs[0]['status']} {runs[0]['held']}", {one["what"]: one["grade"] for one in found}


@pytest.fixture(autouse=True)
def no_worker_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogitate.ops.doctor.command.ANSWER_WITHIN", 0.1)


def test_a_live_host_keeps_its_run_until_a_takeover(valkey: EmbeddedServer, client: Redis, tmp_path: Path) -> None:
    with host_elsewhere(valkey, tmp_path) as host:
        line, listed, found = states(valkey)
        assert "running at tick 1" in line
        assert listed == "running True"
        assert "run mine" not in found
        with pytest.raises(RunHeld, match=rf"'mine' is held by the host .*:{host.pid}, .*take_over=True"):
            resumed(valkey)
        done = typed("run", "--run", "mine", "--resume", data_dir=valkey.data_dir)
        assert done.returncode == 2
        assert f":{host.pid}, which is active: stop it first, or take it over (--take-over)" in done.stderr
        with resumed(valkey, take_over=True) as loop:
            assert [tick.number for tick in loop] == [1, 2, 3, 4]
        assert host.communicate("go on", timeout=LONGEST) is not None
        assert host.returncode == 1, "it was fenced"
        assert client.hget(loop.ledger.store.key("state"), "status") == b"finished"


def test_a_killed_host_is_absent_at_once(valkey: EmbeddedServer, client: Redis, tmp_path: Path) -> None:
    with host_elsewhere(valkey, tmp_path) as host:
        host.kill()
        os.waitid(os.P_PID, host.pid, os.WEXITED | os.WNOWAIT)  # dead, but not reaped by its parent
        line, listed, found = states(valkey)
        assert "running, no host at tick 1" in line
        assert listed == "running False"
        assert (found["run mine"], found["runs"]) == ("warning", "ok")
        with resumed(valkey) as loop:
            assert [tick.number for tick in loop] == [1, 2, 3, 4]
        assert client.get(loop.ledger.store.key("host")) is None
        assert "finished at tick 4" in states(valkey)[0]


def test_a_host_relists_its_run_if_the_list_of_runs_is_lost(client: Redis) -> None:
    host = Host(client, run="mine")
    client.delete(RUNS)
    assert run_names(client) == []
    assert host.ledger.present(b"{}", HOUR)
    assert run_names(client) == ["mine"]


def test_a_loop_in_the_same_process_counts_as_a_host(valkey: EmbeddedServer, client: Redis) -> None:
    settings = settings_of(valkey)
    first = TickLoop(run="mine", owners=OWNERS, settings=settings, ticks=4)
    with pytest.raises(RunHeld, match=r"\(this process\)"):
        resumed(valkey)
    with pytest.raises(RunHeld):
        TickLoop(run="mine", owners=OWNERS, settings=settings, ticks=4, exist="replace")
    with TickLoop(run="mine", owners=OWNERS, settings=settings, ticks=4, exist="replace", take_over=True) as second:
        with pytest.raises(Fenced):
            list(first)
        assert [tick.number for tick in second] == [1, 2, 3, 4]
    first.close()
    with resumed(valkey) as third:
        assert list(third)


def test_a_host_that_fails_to_start_releases_its_run(valkey: EmbeddedServer, client: Redis) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = settings_of(valkey).model_copy(update={"metrics_port": taken.getsockname()[1]})
        with pytest.raises(ConfigurationError, match="METRICS_PORT"):
            TickLoop(run="mine", owners=OWNERS, settings=settings, ticks=4)
    assert client.hget(RunStore.open(client, "mine").key("state"), "status") == b"stopped"
    with resumed(valkey) as loop:
        assert list(loop)


@pytest.fixture
def small(client: Redis) -> Host:
    return Host(client, run="mine")


def elsewhere(host: Host, seconds: float) -> None:
    """Write the presence of a host on another machine, for this many seconds."""
    sign = HostProcess(name="far", machine="far away", pid=os.getpid(), began="1")
    assert host.ledger.present(msgspec.json.encode(sign), seconds)


def test_a_host_on_another_machine_is_absent_once_its_presence_expires(
    client: Redis, small: Host, eventually: Eventually
) -> None:
    elsewhere(small, 0.3)
    found = host_of(small.ledger.store)
    assert found is None or found.name == "far"
    eventually(lambda: host_of(small.ledger.store) is None, "the presence to expire")
    elsewhere(small, HOUR)
    assert host_of(small.ledger.store) is not None
    small.ledger.finish("stopped")
    assert host_of(small.ledger.store) is None


@pytest.mark.parametrize("change", [{"began": "1"}, {"pid": 2**22 + 7}])
def test_another_process_with_the_same_id_is_not_the_host(client: Redis, small: Host, change: dict[str, Any]) -> None:
    sign = msgspec.structs.replace(this_process(), **change)
    assert small.ledger.present(msgspec.json.encode(sign), HOUR)
    assert host_of(small.ledger.store) is None
    assert small.ledger.present(msgspec.json.encode(this_process()), HOUR)
    assert host_of(small.ledger.store) == this_process()


def test_an_invalid_presence_is_ignored(client: Redis, small: Host) -> None:
    for value in (b"", b"{}", b"\xff", b'{"name": 5}'):
        client.set(small.ledger.store.key("host"), value)
        assert host_of(small.ledger.store) is None


def test_the_presence_of_a_paused_host_is_renewed(client: Redis, small: Host, eventually: Eventually) -> None:
    client.hset(small.ledger.store.key("state"), "status", "paused")
    presence = Presence(small.ledger, 0.01)
    presence.start()
    try:
        key = small.ledger.store.key("host")
        client.pexpire(key, 10**9)
        eventually(lambda: client.pttl(key) <= LEAST * 1000, "the presence to be renewed")
        assert host_of(small.ledger.store) == this_process()
        client.delete(key)
        eventually(lambda: client.exists(key), "a lost presence to be written again")
    finally:
        presence.stop()


def test_a_host_that_lost_its_run_writes_no_presence(client: Redis, small: Host) -> None:
    elsewhere(small, HOUR)
    other = Host(client, run="mine", resume=True)
    assert not small.ledger.present(b"{}", HOUR)
    assert other.ledger.present(msgspec.json.encode(this_process()), HOUR)
    other.turn(("think", OWNER))
    assert host_of(small.ledger.store) == this_process()


def test_a_presence_is_renewed_on_a_full_server(client: Redis, small: Host) -> None:
    sign = msgspec.json.encode(this_process())
    assert small.ledger.present(sign, 5.0)
    client.config_set("maxmemory", 1)
    try:
        assert small.ledger.present(sign, HOUR)
    finally:
        client.config_set("maxmemory", 0)
    assert client.pttl(small.ledger.store.key("host")) > 5_000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"exist": "overwrite"}, 'give "create"'),
        ({"resume": True}, 'give exist="create" or exist="resume"'),
        ({"take_over": True}, "applies to an existing run"),
    ],
)
def test_contradictory_requests_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        TickLoop(run="mine", owners=OWNERS, settings=Settings(), inline=True, **given)


def test_take_over_requires_resume(tmp_path: Path) -> None:
    done = typed("run", "--take-over", data_dir=tmp_path / "data")
    assert (done.returncode, "--resume" in done.stderr) == (2, True)
