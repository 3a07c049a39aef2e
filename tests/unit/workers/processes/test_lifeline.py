"""A worker that a host started: it ends when its host has ended, and is set up to run jobs in many threads."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from celery import signals
from structlog.testing import capture_logs

from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.workers.jobs.process_lane import tune
from cogitate.workers.processes import worker_process as module
from cogitate.workers.processes.worker_process import GRACE, LOOK_EVERY, PARENT_VARIABLE

HOST = 4242


class Process:
    """A worker whose host ends after so many looks; it notes what is done to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
        self.left, self.did = looks, list[Any]()
        monkeypatch.setattr(os, "getppid", self.parent)
        monkeypatch.setattr(os, "kill", lambda pid, number: self.did.append((pid == os.getpid(), number)))
        monkeypatch.setattr(module, "_done", SimpleNamespace(wait=self.did.append))
        monkeypatch.setattr(module, "Settings", lambda: PinnedSettings(job_deadline=70.0))

    def parent(self) -> int:
        self.left -= 1
        return HOST if self.left >= 0 else 1


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_a_worker_without_a_host_finishes_its_jobs_and_is_killed_if_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    process = Process(monkeypatch, looks)
    with capture_logs() as logs:
        module._watch(HOST)
    assert process.did == [
        *[LOOK_EVERY] * looks,
        (True, signal.SIGTERM),
        70.0 + GRACE,
        (True, signal.SIGKILL),
    ]
    assert [(log["event"], log["parent"]) for log in logs] == [("worker.orphaned", HOST)]


@pytest.mark.parametrize(("value", "child"), [("4242", True), ("", False), ("soon", False), (None, False)])
def test_only_a_worker_that_a_host_started_watches_it(
    monkeypatch: pytest.MonkeyPatch, value: str | None, child: bool
) -> None:
    if value is None:
        monkeypatch.delenv(PARENT_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(PARENT_VARIABLE, value)
    connected: list[Any] = []
    monkeypatch.setattr(signals, "worker_ready", SimpleNamespace(connect=lambda _: None))
    monkeypatch.setattr(signals, "worker_init", SimpleNamespace(connect=connected.append))
    assert module.is_child() is child
    module.register()
    assert connected == ([module._start_watch] if child else [])


def test_the_watch_is_a_thread_that_keeps_no_worker_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    started: list[bool] = []

    def thread(**how: Any) -> Any:
        made.append(how)
        return SimpleNamespace(start=lambda: started.append(True))

    monkeypatch.setattr(threading, "Thread", thread)
    monkeypatch.setenv(PARENT_VARIABLE, str(HOST))
    module._start_watch()
    (how,) = made
    assert (how["target"], how["args"], how["daemon"], started) == (module._watch, (HOST,), True, [True])
    assert how["name"] == "lifeline", "a dump of the threads names it"


def test_an_interpreter_is_tuned_for_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: done.append(seconds))
    for name in ("collect", "freeze"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    monkeypatch.setattr(gc, "set_threshold", lambda count: done.append(count))
    tune()
    assert done == [0.02, "collect", "freeze", 10_000], "what is garbage already is not kept for ever"
