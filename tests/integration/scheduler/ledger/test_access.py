"""Access control: host, worker, observer and operator each have a user with the least privileges."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import NoPermissionError, ResponseError

from cogitate import Profile, Settings, TickLoop
from cogitate.ops.doctor.command import examine_workers
from cogitate.ops.error_messages import error_message
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.controls import SetCadence, SetMode
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.overview import run_overview
from cogitate.scheduler.inspection.redis_problems import PROBE
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.inspection.vitals import budget_vitals, cadence_vitals, run_heads
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.scheduler.steering.operators import ask
from cogitate.workers.celery_app import make_app
from cogitate.workers.llm.requests.dialect import known_dialects
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_environment
from tests.integration.workers.gate_script_case import ENTER, NOW, SECOND, ran
from tests.live_flower import flower, get
from tests.patience import LONGEST
from tests.repository import ROOT

ACCESS = ROOT / "ops/acl"
ROLES = ("host", "worker", "observer", "operator")
OWNERS = {f"agent:{name}": Profile(name=name) for name in ("ada", "ben", "cy")}


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the rules of the shipped users; each password is the user's name."""
    folder = tmp_path_factory.mktemp("rules")
    stand_in = folder / "valkey-server"
    stand_in.write_text("#!/bin/sh\nexit 0\n")
    stand_in.chmod(0o700)
    passwords = {f"{role.upper()}_PASSWORD": role for role in ROLES}
    environment = passwords | {"PATH": f"{folder}:{os.environ['PATH']}", "USERS_FILE": str(folder / "users")}
    subprocess.run([ACCESS / "start.sh"], env=environment, check=True)
    return (folder / "users").read_text().splitlines()


@pytest.fixture
def server(valkey: EmbeddedServer, rules: list[str]) -> Iterator[EmbeddedServer]:
    """Yield a server with the shipped users; the default user stays enabled for the tests."""
    with valkey.client() as client:
        for line in rules:
            if not line.startswith("user default "):
                client.execute_command("ACL", "SETUSER", *_words(line)[1:])  # type: ignore[no-untyped-call]
        client.acl_log_reset()
        yield valkey
        client.acl_deluser(*ROLES)


def _words(line: str) -> list[str]:
    """Split a rule into words; a selector in parentheses is one word."""
    words: list[str] = []
    for part in line.split(" "):
        if words and words[-1].startswith("(") and not words[-1].endswith(")"):
            words[-1] += f" {part}"
        else:
            words.append(part)
    return words


def url(server: EmbeddedServer, role: str, database: int = 0) -> str:
    return f"unix://{role}:{role}@{server.socket}?db={database}"


def client_of(server: EmbeddedServer, role: str) -> Redis:
    return connect(url(server, role), 5.0)


def settings_of(server: EmbeddedServer, role: str, folder: Path, **more: Any) -> Settings:
    given: dict[str, Any] = {
        "redis_url": SecretStr(url(server, role)),
        "broker_url": SecretStr(url(server, role, 1)),
        "data_dir": folder,
        "seconds_per_tick": 600,
        "workers": 0,
        "concurrency": 2,
        "real_day_tokens": 1_000_000,
    }
    return Settings.tuned(**given, **more)


def refusals(server: EmbeddedServer, *roles: str) -> list[tuple[str, str]]:
    """Return the user and object of each refusal of these users so far."""
    with server.client() as admin:
        log: Any = admin.acl_log()
    return [(entry["username"], entry["object"]) for entry in log if entry["username"] in roles]


@contextmanager
def worker(settings: Settings) -> Iterator[Path]:
    """Run a worker as compose starts it for a block, and yield its log."""
    log = settings.data_dir / "worker.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "cogitate", "worker", "--loglevel", "info"],
            env=worker_environment(settings),
            cwd=settings.data_dir,
            stdout=out,
            stderr=out,
        )
    try:
        yield log
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait(LONGEST)


def test_a_whole_run_works_with_each_process_under_its_own_user(
    server: EmbeddedServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    places = {"COGITATE_REDIS_URL": url(server, "observer"), "COGITATE_BROKER_URL": url(server, "observer", 1)}
    with FakeEndpoint() as endpoint:
        model: dict[str, Any] = {
            "llm": "openai",
            "base_url": endpoint.url,
            "model": "stand-in",
            "limit_tokens": 1_000_000,
            "response_cache": True,
            "record": True,
        }
        with (
            worker(settings_of(server, "worker", tmp_path, **model)) as log,
            flower(tmp_path / "flower", "--basic-auth=me:secret", **places) as address,
        ):
            eventually(lambda: "ready." in log.read_text() or refusals(server, "worker"), "the worker to be ready")
            assert refusals(server, "worker") == []
            live(settings_of(server, "host", tmp_path, journal_keep=1, **model), server)
            with server.client() as admin:
                assert audit(admin, "town") == []
                summary = summarise_run(admin, "town")
            assert summary.jobs["plan"]["source"]["llm"] >= 3
            with client_of(server, "observer") as observer:
                assert audit(observer, "town") == []
                assert summarise_run(observer, "town") == summary
                assert [head.run for head in run_heads(observer)] == ["town"]
                assert budget_vitals(observer, "town").windows
                assert cadence_vitals(observer, "town").tick == 300
                assert [known.model for known in known_dialects(observer)] == ["stand-in"]
                assert observer.hlen("cogitate:{responses}") > 0
                assert len(workers_seen(observer).alive) == 1
                assert [one.p50 for one in endpoint_vitals(observer)] != [None]
                assert run_overview(observer, "town").tick == 300
                assert observer.hlen(RunStore.open(observer, "town").key("recorded")) > 0
            assert get(address + "/api/tasks")[0] == 401
            eventually(lambda: "agent:ada" in get(address + "/api/tasks", "me:secret")[1], "Flower to see tasks")
            assert '"1 of 1"' in get(address + "/overview/data", "me:secret")[1]
            assert '"town"' in get(address + "/budgets/data", "me:secret")[1]
            assert "celery@" in get(address + "/workers?json=1", "me:secret")[1]
        with client_of(server, "host") as owner:
            delete_run(owner, "town", force=True)
    # Flower may not publish to workers, so it cannot query them; what it shows of them comes from their events.
    assert set(refusals(server, *ROLES)) == {("observer", "publish")}


def live(settings: Settings, server: EmbeddedServer) -> None:
    """Run two days with observations and an operator who changes a cadence."""
    with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=300) as loop:
        for tick in loop:
            if tick.number % 6 == 0:
                loop.observe("agent:ada", {"text": f"The mill stood still at {tick.number}.", "minute": tick.minute})
            if tick.number == 200:
                with client_of(server, "operator") as operator:
                    ask(
                        operator, "town", [SetCadence("reflect", 500)], wait=0.01
                    )  # the answer comes only after this tick


FORBIDDEN: dict[str, tuple[Callable[[Redis, str], object], ...]] = {
    "observer": (
        lambda c, p: c.hset(p + "state", "tick", 1),
        lambda c, p: c.delete(p + "journal"),
        lambda c, p: c.brpop("cogitate:plan"),
        lambda c, p: c.lpush("cogitate:plan", "x"),
        lambda c, p: c.srem("cogitate:runs", "town"),
        lambda c, p: c.eval("return redis.call('DEL', ARGV[1])", 0, p + "state"),
        lambda c, p: c.publish("cogitate:/1.celery.pidbox", "shutdown"),
        lambda c, p: ask(c, "town", [SetMode("paused")], wait=0),
    ),
    "operator": (
        lambda c, p: HostLedger.resume(c, "town"),
        lambda c, p: delete_run(c, "town", force=True),
        lambda c, p: c.hset(p + "state", "tick", 1),
        lambda c, p: c.delete(p + "controls"),
        lambda c, p: c.rpush(p + "journal", "x"),
        lambda c, p: c.lpush("cogitate:plan", "x"),
        lambda c, p: c.set(incarnation_key("town"), "x"),
    ),
    "worker": (
        lambda c, p: HostLedger.resume(c, "town"),
        lambda c, p: delete_run(c, "town", force=True),
        lambda c, p: ask(c, "town", [SetMode("paused")], wait=0),
        lambda c, p: c.hset(p + "state", "tick", 1),
        lambda c, p: c.hset(p + "entries:agent:ada", 1, "x"),
        lambda c, p: c.rpush(p + "journal", "x"),
        lambda c, p: c.lrange(p + "journal", 0, -1),
        lambda c, p: c.hgetall(p + "view"),
        lambda c, p: c.hgetall(p + "checkpoint"),
        lambda c, p: c.brpop(p + "journal"),
        lambda c, p: c.delete(p + "window:run:0"),
        lambda c, p: c.set(incarnation_key("town"), "x"),
        lambda c, p: c.srem("cogitate:runs", "town"),
        lambda c, p: c.lpush("cogitate:plan", "x"),
    ),
    "host": (
        lambda c, p: c.set("elsewhere", "x"),
        lambda c, p: c.delete("cogitate:real_day:2026-03-01"),
        lambda c, p: c.brpop("cogitate:plan"),
        lambda c, p: c.publish("cogitate:/1.celery.pidbox", "shutdown"),
    ),
}
FOR_NOBODY: tuple[Callable[[Redis, str], object], ...] = (
    lambda c, p: c.flushall(),
    lambda c, p: c.flushdb(),
    lambda c, p: c.config_set("appendonly", "no"),
    lambda c, p: c.acl_list(),
    lambda c, p: c.keys("*"),
    lambda c, p: c.shutdown(),
    lambda c, p: c.script_flush(),
    lambda c, p: c.get("elsewhere"),
)


@pytest.mark.parametrize("role", ROLES)
def test_each_user_has_the_least_privileges(server: EmbeddedServer, tmp_path: Path, role: str) -> None:
    with TickLoop(run="town", owners=OWNERS, settings=settings_of(server, "host", tmp_path), ticks=3) as loop:
        for _ in loop:
            pass
    with server.client() as admin, client_of(server, role) as client:
        store = RunStore.open(admin, "town")
        before = admin.dbsize(), admin.hgetall(store.key("state"))
        for number, attempt in enumerate((*FORBIDDEN[role], *FOR_NOBODY)):
            assert was_refused(attempt, client, store.prefix), f"attempt {number} of {role} was not refused"
        assert (admin.dbsize(), admin.hgetall(store.key("state"))) == before
        assert audit(admin, "town") == []


def test_a_worker_may_free_and_restore_the_slot_of_a_missed_one(server: EmbeddedServer) -> None:
    with client_of(server, "worker") as client:

        def asks(caller: str, at: int) -> Any:
            args = [*(ENTER | {"token": f"{caller}:1", "cap": 1, "pace": SECOND}).values()]
            return ran(client, "enter", args, now=NOW + at)[0]

        assert asks("dead", 0) == "go"
        assert asks("alive", 1) == "wait"
        ran(client, "renew", ["heard", "alive", 1], now=NOW + 5 * SECOND)
        assert asks("alive", 6 * SECOND) == "go"
        held = ["dead:1", NOW + 60 * SECOND, "m"]
        assert ran(client, "renew", ["heard", "dead", 1, *held], now=NOW + 7 * SECOND) == ["dead:1"]
        ran(client, "renew", ["left", "dead:1"])
        ran(client, "renew", ["gone", "alive"])
    assert refusals(server, "worker") == []


def test_a_host_may_probe_whether_writes_are_refused(server: EmbeddedServer) -> None:
    with client_of(server, "host") as client:
        client.setrange(PROBE, 0, "")
        assert not client.exists(PROBE)


def was_refused(attempt: Callable[[Redis, str], object], client: Redis, prefix: str) -> bool:
    try:
        attempt(client, prefix)
    except ResponseError as error:  # NoPermissionError is a subclass; within a script only the message tells
        return "permission" in str(error)
    return False


@pytest.mark.parametrize("role", ["host", "observer"])
def test_commands_report_a_missing_permission(server: EmbeddedServer, role: str) -> None:
    (finding,) = examine_workers(make_app(url(server, role, 1)), (), expected=True)
    assert (finding.what, finding.grade) == ("workers", "warning")
    with client_of(server, role) as client, pytest.raises(NoPermissionError) as caught:
        client.get("elsewhere")
    said = error_message(caught.value)
    assert said is not None
    assert "lacks a permission" in said.line


def test_the_default_user_is_off(rules: list[str]) -> None:
    assert "user default off" in rules
