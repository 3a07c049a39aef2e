"""Where a worker searches modules: where its host does, but our own packages first."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

from cogitate.workers.processes.import_paths import HOME, VARIABLE, adopt, handed_on, searched_first


def test_a_hosts_paths_are_handed_on_in_their_order_each_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/lib", "kinds"])
    assert json.loads(handed_on()) == [str(tmp_path), "/lib", str(tmp_path / "kinds")]


def test_a_worker_searches_our_packages_then_those_of_its_host_then_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ["/own", "/both"]
    monkeypatch.setattr(sys, "path", own)
    monkeypatch.setenv(VARIABLE, json.dumps(["/host", "/both", HOME]))
    adopt()
    assert sys.path is own
    assert sys.path == [HOME, "/host", "/both", "/own"]
    assert (Path(HOME) / "workers").is_dir()


def test_a_worker_that_nobody_handed_paths_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/own"])
    monkeypatch.delenv(VARIABLE, raising=False)
    adopt()
    assert sys.path == ["/own"]


@pytest.mark.parametrize("name", ["purelib", "platlib"])
def test_what_is_installed_with_everybodys_packages_is_not_searched_first(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folders = {"purelib": "/lib", "platlib": "/lib64"}
    monkeypatch.setattr(sysconfig, "get_path", folders.__getitem__)
    assert searched_first() == [HOME]
    folders[name] = f"{HOME}/../{Path(HOME).name}"
    assert searched_first() == []
