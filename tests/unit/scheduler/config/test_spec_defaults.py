"""What the specifications say to be the default is the default of the settings."""

from __future__ import annotations

import pytest

from cogitate.memory.limits import MemoryLimits
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tuning import TUNED


@pytest.fixture
def settings() -> Settings:
    """Settings as they are when nothing is set."""
    return Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cells", 5),  # FIFO cells: K
        ("guidance_style", "narrative"),  # Memory routing: configuration
        ("statement_max_length", 300),
        ("reasoning_max_length", 200),
        ("enable_truncation", True),
        ("public_history_max_length", 100_000),
        ("compress_at", 0.8),
        ("compress_to", 0.6),
        ("max_observations", 200),  # Streams: configuration defaults
        ("max_reflections", 50),
        ("max_plans", 7),
        ("importance_threshold", 5),
        ("reflection_interval", 12 * 60),
        ("summary_threshold", 5),
        ("morning", 6 * 60),
        ("reflection_trigger_max", 150),  # Generative Agents: `importance_trigger_max`
        ("retain", 3),  # Memory compression
        ("passes", 2),
        ("recount_on_failure", "unchanged"),  # Scoped memories: failure handling
    ],
)
def test_defaults_are_those_of_the_specs(settings: Settings, name: str, value: object) -> None:
    assert getattr(settings.tuning if name in TUNED else settings, name) == value


def test_limits_without_settings_are_the_same(settings: Settings) -> None:
    assert settings.memory_limits() == MemoryLimits()
