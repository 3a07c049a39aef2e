"""Meters as prompts show them, at both ends of their scale and beyond."""

from __future__ import annotations

import pytest

from tasks.meters import LOWEST, format_meters


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "energy -1"), (-0.5, "energy -0.5"), (0, "energy 0 of 100, 0 is exhausted"),
        (62.5, "energy 62.5 of 100, 0 is exhausted"), (100, "energy 100 of 100, 0 is exhausted"),
        (100.5, "energy 100.5"), (1_000_000, "energy 1e+06"),
    ],
)  # fmt: skip
def test_a_meter_within_its_scale_is_shown_with_it(value: float, shown: str) -> None:
    assert format_meters({"energy": value}) == [shown]


def test_each_meter_of_the_design_says_what_its_end_means_and_a_hosts_own_says_nothing() -> None:
    assert format_meters(dict.fromkeys((*LOWEST, "fame"), 7)) == [
        "energy 7 of 100, 0 is exhausted", "hunger 7 of 100, 0 is starving", "mood 7 of 100, 0 is miserable",
        "health 7 of 100, 0 is dying", "thirst 7 of 100, 0 is parched", "fame 7 of 100",
    ]  # fmt: skip
