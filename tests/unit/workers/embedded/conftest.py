"""Fixtures of an embedded server that starts no process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cogitate.workers.processes import embedded as module
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.unit.workers.embedded.embedded_case import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep))
    return made


@pytest.fixture(autouse=True)
def none_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_children", {})
    monkeypatch.setattr(module, "_guards", {})


@pytest.fixture
def server(tmp_path: Path) -> EmbeddedServer:
    return EmbeddedServer(tmp_path)
