"""The host of the soak test starts with settings that exist."""

from __future__ import annotations

import pytest

from bench.soak import SETTINGS
from cogitate.scheduler.config.settings import Settings


def test_agents_keep_so_little_that_all_of_it_is_full_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    limits = settings.memory_limits()
    assert (limits.max_observations, limits.max_reflections, limits.max_plans) == (15, 2, 2)
    assert settings.tuning.max_archived == 100
