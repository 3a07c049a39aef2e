"""The Celery app of a worker and of the `celery` command: its tasks, and how it ends where it cannot work."""

from __future__ import annotations

import io
import logging
import os
import ssl
import subprocess
import sys
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import celery
import click
import pytest
import structlog
from celery import Celery, current_app

from cogitate import workers
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.tasks.registry import kind_names
from cogitate.workers import celery_app as module
from cogitate.workers.celery_app import FLOWER_PAGES, make_app
from cogitate.workers.jobs import process_lane
from cogitate.workers.processes import worker_process
from cogitate.workers.transport.event_batches import EventBatches


def test_an_app_has_a_task_for_each_kind_that_runs_the_job_of_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(process_lane, "run_job", ran.append)
    app = make_app("rediss://localhost:1/1?ssl_cert_reqs=none")
    assert set(kind_names()) <= set(app.tasks)
    app.tasks["plan"]("town/3/plan/agent:a/0/0")
    assert ran == ["town/3/plan/agent:a/0/0"]
    assert EventBatches in app.steps["consumer"]
    assert (app.conf.broker_url, app.conf.broker_use_ssl) == (
        "rediss://localhost:1/1",
        {"ssl_cert_reqs": ssl.CERT_NONE},
    )


def test_tasks_belong_to_their_own_app() -> None:
    app = Celery("another", set_as_current=False)
    make_app("redis://localhost:1/1")
    assert "plan" not in app.tasks


def test_only_the_environments_app_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    before = current_app._get_current_object()
    try:
        other = make_app("redis://localhost:1/1")
        assert current_app._get_current_object() is before
        ours = make_app()
        assert current_app._get_current_object() is ours
        assert ours is not other
    finally:
        celery._state._set_current_app(before)


# -- the command -------------------------------------------------------------------------------------


class Command:
    """The command that loads the app, and what it loads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        self.loaded: list[str] = []
        self.groups: list[str] = []
        self.error: Exception | None = None
        made = self

        class Conf:
            @property
            def broker_url(self) -> str:
                made.read.append("broker_url")
                return "redis://localhost:1/1"

        self.app = SimpleNamespace(conf=Conf())
        monkeypatch.setattr(module, "make_app", self.make_app)
        monkeypatch.setattr(module, "entry_points", self.entry_points)
        self._patch = monkeypatch
        self.named(None, None)

    def make_app(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.app

    def entry_points(self, *, group: str) -> list[Any]:
        self.groups.append(group)
        return [SimpleNamespace(load=lambda name=name: lambda: self.loaded.append(name)) for name in ("one", "two")]

    def named(self, program: str | None, subcommand: str | None) -> None:
        root = SimpleNamespace(command=SimpleNamespace(name=program), invoked_subcommand=subcommand)
        context = SimpleNamespace(find_root=lambda: root) if program is not None else None

        def current(silent: bool = False) -> Any:
            assert silent, "it raises where no command runs"
            return context

        self._patch.setattr(click, "get_current_context", current)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.delenv(worker_process.PARENT_VARIABLE, raising=False)
    return Command(monkeypatch)


@pytest.mark.parametrize(
    ("program", "subcommand", "read", "loaded"),
    [
        (None, None, [], []),
        ("pytest", "flower", [], []),
        ("celery", "worker", ["broker_url"], []),
        ("celery", "flower", ["broker_url"], ["one", "two"]),
    ],
)
def test_the_command_reads_its_broker_at_once_and_flower_gets_its_pages(
    command: Command, program: str | None, subcommand: str | None, read: list[str], loaded: list[str]
) -> None:
    command.named(program, subcommand)
    made: Any = module._make_app_for_command()
    assert made is command.app
    assert (command.read, command.loaded) == (read, loaded)
    assert command.groups == ([FLOWER_PAGES] if loaded else [])


def test_a_wrong_setting_is_reported_to_operators_in_one_line(command: Command) -> None:
    command.error = ConfigurationError("workers: too many")
    with pytest.raises(SystemExit, match=r"^cogitate: workers: too many$"):
        module._make_app_for_command()


def test_an_operator_sees_where_another_error_comes_from(command: Command) -> None:
    command.error = RuntimeError("in a kind of the host's own")
    with pytest.raises(RuntimeError, match="in a kind"):
        module._make_app_for_command()


@pytest.mark.parametrize(
    ("error", "told"),
    [(ConfigurationError("workers: too many"), "cogitate: workers: too many\n"), (RuntimeError("odd"), "Traceback")],
)
def test_a_hosts_worker_that_cannot_start_reports_by_code_and_log(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, told: str
) -> None:
    monkeypatch.setenv(worker_process.PARENT_VARIABLE, "42")
    command.error = error
    with pytest.raises(SystemExit) as ended:
        module._make_app_for_command()
    assert ended.value.code == worker_process.CANNOT_START
    out, err = capsys.readouterr()
    assert (out, err.startswith(told)) == ("", True)


# -- a worker ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "heard"),
    [(logging.INFO, ["info", "warning"]), (logging.WARNING, ["warning"]), (None, ["warning"]), (logging.ERROR, [])],
)
def test_our_events_follow_the_workers_level(level: int | None, heard: list[str]) -> None:
    module._set_up_logs(loglevel=level, sender=None)
    events: list[str] = []

    def note(_: Any, name: str, event: Any) -> Any:
        events.append(name)
        raise structlog.DropEvent

    structlog.configure(processors=[note])
    log = structlog.get_logger()
    log.info("one")
    log.warning("two")
    assert events == heard


@pytest.mark.parametrize(("log", "is_json"), [("json", True), ("text", False)])
def test_a_worker_logs_json_where_the_settings_say_so(log: str, is_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_LOG", log)
    out = io.StringIO()
    logger = logging.Logger("celery")
    logger.addHandler(logging.StreamHandler(out))
    structlog.reset_defaults()
    try:
        module._set_up_logs(loglevel=logging.INFO, logger=logger, sender=None)
        ours = structlog.get_config()["processors"]
        assert any(isinstance(one, structlog.processors.JSONRenderer) for one in ours) is is_json
        module._set_up_logs(loglevel=logging.INFO, logger=None, sender=None)
    finally:
        structlog.reset_defaults()
    logger.error("a task was lost")
    assert out.getvalue().startswith("{") is is_json


def test_the_package_has_the_app_that_the_celery_command_looks_for() -> None:
    assert workers.app is module.app
    with pytest.raises(AttributeError, match=r"module 'cogitate\.workers' has no attribute 'nothing'"):
        workers.nothing  # noqa: B018


@pytest.mark.parametrize(("log", "quiet"), [("json", True), ("text", False)])
def test_a_worker_that_logs_json_prints_no_banner(log: str, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_LOG", log)
    worker = SimpleNamespace(quiet=False)
    module._leave_out_banner(instance=worker)
    assert worker.quiet is quiet


def test_a_worker_names_its_version_its_schema_and_its_kinds() -> None:
    assert module.about(None) == {"version": version("cogitate"), "schema": SCHEMA, "kinds": kind_names()}


REGISTERED = """
import weakref
import flower.utils.broker
from celery import signals
from kombu.transport import TRANSPORT_ALIASES
from cogitate.workers.celery_app import app

def receivers(signal):
    found = [one() if isinstance(one, weakref.ReferenceType) else one for _, one in signal.receivers]
    return {f"{one.__module__}.{one.__name__}" for one in found}

print(TRANSPORT_ALIASES["redis"], TRANSPORT_ALIASES["rediss"])
print(flower.utils.broker.RedisSocket.__module__)
print(*sorted(receivers(signals.worker_init) | receivers(signals.celeryd_after_setup)))
print(*sorted(receivers(signals.worker_ready)))
from celery.worker.control import Panel
print("about" in Panel.data)
"""


def test_an_app_that_is_loaded_brings_all_that_a_worker_and_flower_need() -> None:
    environment = os.environ | {
        worker_process.PARENT_VARIABLE: str(os.getpid()),
        "COGITATE_REDIS_URL": "redis://localhost:1/0",
    }
    run = subprocess.run(
        [sys.executable, "-c", REGISTERED], env=environment, capture_output=True, text=True, check=True
    )
    transport, flower, begins, ready, about = run.stdout.splitlines()
    guarded = "cogitate.workers.transport.redis_transport:Transport"
    assert transport == f"{guarded} {guarded}"
    assert flower == "cogitate.workers.transport.broker_url"
    assert begins.split() == [
        "cogitate.workers.celery_app._leave_out_banner",
        "cogitate.workers.celery_app._prepare",
        "cogitate.workers.jobs.model_lane._note_slots",
        "cogitate.workers.processes.worker_process._start_watch",
    ]
    assert {
        "cogitate.workers.jobs.metrics._start",
        "cogitate.workers.processes.worker_process._start_presence",
    } <= set(ready.split())
    assert about == "True"
