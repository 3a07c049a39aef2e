"""The page that shows a day by heuristics and by a model."""

from __future__ import annotations

import pytest

from bench.quality import day
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.simulation.town.town import Town


def test_a_day_is_shown_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day, "AGENTS", 2)
    monkeypatch.setattr(day, "TICKS", 400)
    with FakeEndpoint() as endpoint:
        monkeypatch.setenv("COGITATE_BASE_URL", endpoint.url)
        monkeypatch.setenv("COGITATE_API_KEY", "any")
        monkeypatch.setenv("COGITATE_MODEL", "stand-in")
        page = day.markdown(next(iter(Town(2).owners()))).splitlines()
        assert endpoint.stats().answers >= 1
    plan = page[page.index("### The plan of the morning") + 4]
    heuristic, model = plan.strip("| ").split(" | ")
    assert " Get up and have breakfast at home<br>" in heuristic
    assert model.endswith("<br>*model*")
    assert model != heuristic
    assert "| by heuristics | by stand-in |" in page
