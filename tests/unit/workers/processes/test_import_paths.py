"""Where a worker searches modules: where its host does, then where it would by itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cogitate.workers.processes.import_paths import VARIABLE, adopt, handed_on


def test_a_hosts_paths_are_handed_on_in_their_order_each_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/lib", "kinds"])
    assert json.loads(handed_on()) == [str(tmp_path), "/lib", str(tmp_path / "kinds")]


def test_a_worker_searches_the_folders_of_its_host_before_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ["/own", "/both"]
    monkeypatch.setattr(sys, "path", own)
    monkeypatch.setenv(VARIABLE, json.dumps(["/host", "/both"]))
    adopt()
    assert sys.path is own
    assert sys.path == ["/host", "/both", "/own"]


def test_a_worker_without_handed_paths_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/own"])
    monkeypatch.delenv(VARIABLE, raising=False)
    adopt()
    assert sys.path == ["/own"]
