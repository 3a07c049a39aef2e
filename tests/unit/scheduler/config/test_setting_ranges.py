"""The range of each number among the settings."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.settings_faults import SettingsRefused

LARGEST, LONGEST = 2**53 - 1, 1e9  # what Lua holds exactly; seconds, dollars and shares
SECONDS = ((0.001, LONGEST), (0, -1, 1.001e9))  # more than nothing
ANY, FROM_ONE = ((0, LARGEST), (-1, LARGEST + 1)), ((1, LARGEST), (0, LARGEST + 1))
ROOM: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # what a setting may be, and what is refused
    "socket_timeout": SECONDS,
    "job_deadline": SECONDS,
    "tick_rate": SECONDS,
    "limit_usd": SECONDS,
    "real_day_usd": SECONDS,
    "wait": ((0, 0.5, LONGEST), (-0.001, 1.001e9)),
    "outage_wait": ((0, 0.5, LONGEST), (-0.001, 1.001e9)),
    "workers": ((0, 64), (-1, 65)),
    "concurrency": ((1, 1_000), (0, 1_001)),
    "metrics_port": ((1, 65_000), (0, 65_001)),
    "input_price": ANY,
    "output_price": ANY,
    "seconds_per_tick": ((1, 2_592_000), (0, 2_592_001)),
    "day_seconds": ((60, 1_000_000_000), (59, 1_000_000_001)),
    "morning": ((0, 1439), (-1, 1440)),
    "limit_tokens": FROM_ONE,
    "real_day_tokens": FROM_ONE,
    "act_interval": ANY,
    "repair_from": ((0, 1440), (-1, 1441)),
    "journal_keep": FROM_ONE,
    "max_observations": FROM_ONE,
    "max_reflections": FROM_ONE,
    "reflection_interval": FROM_ONE,
    "reflection_trigger_max": FROM_ONE,
    "retention_days": ANY,
    "cells": ((1, 1_000), (0, 1_001)),
    "token_limit": FROM_ONE,
}


@pytest.mark.parametrize("which", [0, -1])
def test_numbers_may_be_as_small_and_as_large_as_the_page_says(which: int) -> None:
    given: dict[str, Any] = {name: accepted[which] for name, (accepted, _) in ROOM.items()}
    settings = Settings.tuned(**given)
    assert {name: getattr(settings, name) for name in given} == given


@pytest.mark.parametrize("which", [0, 1, 2])
def test_numbers_out_of_range_are_refused_by_name(which: int) -> None:
    given: dict[str, Any] = {name: refused[which] for name, (_, refused) in ROOM.items() if which < len(refused)}
    with pytest.raises(SettingsRefused) as wrong:
        Settings.tuned(**given)
    assert {fault.field for fault in wrong.value.faults} == given.keys()


def test_every_numeric_setting_has_a_range() -> None:
    numbers = {
        name
        for name, field in Settings.model_fields.items()
        if {int, float} & {field.annotation, *get_args(field.annotation)}
    }
    assert numbers - {"limits"} == ROOM.keys()


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [("latency", (1, LARGEST), (0,)), ("guarantees", (0, 1), (-0.001, 1.001))],
)
def test_numbers_by_kind_have_a_range(name: str, accepted: Any, refused: Any) -> None:
    for value in accepted:
        assert getattr(Settings.tuned(**{name: {"plan": value}}), name) == {"plan": value}
    for value in refused:
        with pytest.raises(ConfigurationError, match=f"{name}.plan"):
            Settings.tuned(**{name: {"plan": value}})
