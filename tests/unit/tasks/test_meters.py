"""Meters: as prompts show them, and when they are a need."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cogitate.memory.errors import InputError
from cogitate.tasks.meters import MAX_WORD, Meter, format_meters, meter_params, read_meters

HUNGER = Meter(95, low="sated", high="starving", need="high")


@pytest.mark.parametrize("value", [-1, 0, 62.5, 95, 100.5, 1_000_000])
def test_a_bare_number_is_shown_as_a_number_and_is_never_a_need(value: float) -> None:
    (meter,) = read_meters({"hunger": value}).values()
    assert format_meters({"hunger": meter}) == [f"hunger {value:g}"]
    assert not meter.presses


@pytest.mark.parametrize(
    ("meter", "shown"),
    [
        (HUNGER, "hunger: starving"),
        (Meter(30, low="sated", high="starving"), "hunger: almost sated"),
        (Meter(12, low="starving"), "hunger: starving"),
        (Meter(7, high="starving", least=1, most=10), "hunger: almost starving"),
        (Meter(101, low="starving"), "hunger: not starving"),
    ],
)
def test_a_meter_is_shown_with_the_meaning_of_its_ends(meter: Meter, shown: str) -> None:
    assert format_meters({"hunger": meter}) == [shown]


@pytest.mark.parametrize(
    ("meter", "presses"),
    [
        (HUNGER, True),
        (Meter(80, high="starving", need="high"), False),
        (Meter(3, low="sated", high="starving", need="high"), False),
        (Meter(19.9, low="exhausted", need="low"), True),
        (Meter(20, low="exhausted", need="low"), False),
        (Meter(95, low="sated", high="starving"), False),
        (Meter(2, low="dry", need="low", least=1, most=11), True),
    ],
)
def test_the_last_fifth_of_the_scale_is_a_need(meter: Meter, presses: bool) -> None:
    assert meter.presses is presses


def test_meters_pass_through_json_and_invalid_ones_are_left_out() -> None:
    stated = {"value": 95.0, "low": "sated", "high": "starving", "need": "high"}
    assert meter_params({"hunger": HUNGER, "gold": 7, "name": "Bo"}) == {"gold": 7, "hunger": stated}
    assert read_meters({"hunger": stated, "bad": {"valu": 3}, "worse": {"value": 1, "least": 5, "most": 5}}) == {
        "hunger": HUNGER
    }
    assert read_meters("low") == {}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"value": "95"}, "value is '95': give a number"),
        ({"value": True}, "value is True: give a number"),
        ({"value": math.nan}, "value is nan: give a number"),
        ({"most": -(10**400)}, "most is .*: give a number"),
        ({"least": None}, "least is None: give a number"),
        ({"low": 3}, "low is 3: give a string"),
        ({"high": "x" * (MAX_WORD + 1)}, f"high has {MAX_WORD + 1} characters"),
        ({"need": "both"}, "need is 'both': give 'low', 'high' or ''"),
        ({"least": 5, "most": 5}, "most must be larger"),
    ],
)
def test_an_invalid_meter_is_refused_where_it_is_made(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Meter(**({"value": 5} | fields))
