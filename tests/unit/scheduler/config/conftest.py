"""No settings are given from outside a test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove the variables that set something, and run where there is no `cogitate.toml`."""
    for name in [name for name in os.environ if name.startswith("COGITATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
