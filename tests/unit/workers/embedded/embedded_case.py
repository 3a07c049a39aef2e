"""Stand-ins for a server, its process and its clock."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as Away

from cogitate.workers.processes import embedded as module
from cogitate.workers.processes.embedded import EmbeddedServer


class Client:
    """A client whose ping does what a test says."""

    def __init__(self, says: list[Any], done: list[str]) -> None:
        self.says, self.done = says, done

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.done.append("closed")

    def ping(self) -> None:
        says = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(says, BaseException):
            raise says

    def shutdown(self) -> None:
        self.done.append("shutdown")
        raise Away("closed by the server")


class Process:
    """A process that ends when a test says so."""

    def __init__(self, command: list[str] | None = None, **how: Any) -> None:
        self.command, self.how = command or [], how
        self.pid = 4711
        self.returncode: int | None = None
        self.done: list[str] = []

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int:
        self.done.append("wait")
        return self.returncode or 0

    def kill(self) -> None:
        self.done.append("kill")

    def communicate(self) -> None:
        self.done.append("communicate")


class Clock:
    """A clock that only sleep moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()


def answers(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, *says: Any) -> list[str]:
    """Have the server answer so, the last again and again; return what its clients did."""
    done: list[str] = []
    client = Client(list(says), done)
    monkeypatch.setattr(server, "client", lambda *_, **__: client)
    return done


class Started:
    """Processes in place of those that a server starts."""

    def __init__(self, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.processes: list[Process] = []
        self.guards = 0
        self.fails: BaseException | None = None
        monkeypatch.setattr(subprocess, "Popen", self.start)
        monkeypatch.setattr(module, "server_binary", lambda: Path("/bin/valkey"))
        monkeypatch.setattr(server, "_await_answer", self.wait)
        monkeypatch.setattr(server, "_guard", self.guard)

    def start(self, command: list[str], **how: Any) -> Process:
        self.processes.append(Process(command, **how))
        return self.processes[-1]

    def wait(self, process: Any = None, log_start: int = 0) -> None:
        self.waited = process, log_start
        if self.fails is not None:
            raise self.fails

    def guard(self) -> None:
        self.guards += 1
