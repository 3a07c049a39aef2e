"""The measured price of throttling, on the shipped recording."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import throttle
from cogitate.simulation.recordings import SMALL


def test_fewer_reflections_make_fewer_calls_and_recall_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smallville").mkdir()
    (tmp_path / "smallville" / "small").symlink_to(SMALL)
    monkeypatch.setattr(throttle, "RECORDING", "small")
    monkeypatch.setattr(throttle, "CADENCES", (1.0, 0.25))
    table, days = throttle.table(tmp_path)
    usual, quarter, heuristics = days
    assert [row.label for row in table.rows] == ["cadence 1", "cadence 0.25", "heuristics only"]
    assert usual.calls == usual.reflections > quarter.calls
    assert usual.recall >= quarter.recall
    assert (heuristics.calls, heuristics.reflections, heuristics.tokens) == (0, usual.reflections, 0)
    assert ElementTree.fromstring(throttle.plot_of(days)).tag.endswith("svg")
    with pytest.raises(FileNotFoundError, match="no recording"):
        throttle.table(tmp_path / "smallville")
