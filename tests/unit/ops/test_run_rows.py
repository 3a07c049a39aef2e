"""The table of runs reads a run that has ended once, until a host resumes it."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.ops.flower import run_rows
from cogitate.ops.flower.run_rows import RunRows
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.overview import run_overview
from tests.unit.scheduler.run_lines_case import lines, store_of


def test_a_run_that_has_ended_is_read_again_only_after_it_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = keep_settings(PinnedSettings())
    client = store_of(lines(), settings=settings, status="finished").client
    live = store_of(lines(), client, run="live", settings=settings)  # type: ignore[arg-type]
    store_of(lines(), client, run="bad", status="finished")  # type: ignore[arg-type]
    read: list[str] = []

    def counted(of: Any, run: str) -> Any:
        read.append(run)
        return run_overview(of, run)

    monkeypatch.setattr(run_rows, "run_overview", counted)
    rows = RunRows(client)
    runs = [("live", "running, no host"), ("town", "finished"), ("bad", "finished"), ("gone", "finished")]
    first = rows.of(runs, {})
    assert rows.of(runs, {}) == first
    assert [row["grade"] for row in first] == ["bad", "", "bad", "bad"], "a run that is unreadable hides no other"
    assert (read.count("town"), read.count("live")) == (1, 2)
    client.hset(live.key("state").replace("live", "town"), "tick", 7)
    rows.of([("town", "finished")], {})
    assert read.count("town") == 2
    known = {"run": "town"}
    assert rows.of([("town", "finished")], {"town": known}) == [known]
