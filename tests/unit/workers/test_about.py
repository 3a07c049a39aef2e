"""How a worker describes itself to an operator."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest

from cogitate.scheduler.config.versions import SCHEMA
from cogitate.tasks.registry import kind_names
from cogitate.workers.about import about, register


def test_a_worker_names_its_version_its_schema_and_its_kinds() -> None:
    assert about(None) == {"version": version("cogitate"), "schema": SCHEMA, "kinds": kind_names()}


def test_the_command_is_made_known_with_its_help(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {}

    def inspect_command(**how: Any) -> Any:
        return lambda command: known.update(command=command, **how)

    monkeypatch.setattr("cogitate.workers.about.inspect_command", inspect_command)
    register()
    assert known["command"] is about
    assert known["help"], "it stands in the list of Celery's commands"
