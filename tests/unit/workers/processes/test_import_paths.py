"""Where a worker searches modules: where its host does, then where it would by itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cogitate.workers.processes.worker_process import PATHS_VARIABLE, adopt_import_paths, import_paths


def test_a_hosts_paths_are_handed_on_in_their_order_each_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/lib", "kinds"])
    assert json.loads(import_paths()) == [str(tmp_path), "/lib", str(tmp_path / "kinds")]


def test_a_worker_searches_the_folders_of_its_host_before_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ["/own", "/both"]
    monkeypatch.setattr(sys, "path", own)
    monkeypatch.setenv(PATHS_VARIABLE, json.dumps(["/host", "/both"]))
    adopt_import_paths()
    assert sys.path is own
    assert sys.path == ["/host", "/both", "/own"]


def test_a_worker_without_handed_paths_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/own"])
    monkeypatch.delenv(PATHS_VARIABLE, raising=False)
    adopt_import_paths()
    assert sys.path == ["/own"]
