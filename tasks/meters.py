"""Meters of a host's brief: the meaning of their ends, their wording in prompts, and when a meter is a need.

A bare number is ambiguous: a hunger of 95 means starving in one world and sated in another. So prompts show it as a
number, and no heuristic uses it. A `Meter` carries its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.checks import check_text
from cogitate.memory.errors import InputError, quoted

PRESSES = 0.2  # share of the scale that is a need (streams design, task 12: below 20 of 100)
MAX_WORD = 100  # characters of `low` or `high`
MAX_METER = 1e15  # larger numbers are not exact in JSON


class Meter(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A value with its meaning: `Meter(95, low="sated", high="starving", need="high")`.

    `low` and `high` describe the ends of the scale; `need` says at which of them the agent is in need. Heuristic plans
    and actions meet the need within the last fifth of the scale. The scale is 0 to 100 unless `least` and `most` say
    otherwise.

    Raises:
        InputError: for an invalid field, or if `most` is not larger than `least`.
    """

    value: float
    low: str = ""
    high: str = ""
    need: Literal["", "low", "high"] = ""
    least: float = 0.0
    most: float = 100.0

    def __post_init__(self) -> None:
        for field in ("value", "least", "most"):
            if not is_reading(number := getattr(self, field)):
                raise InputError(f"a meter's {field} is {quoted(number)}: give a number, at most {MAX_METER:g}")
        for field in ("low", "high"):
            check_text(f"a meter's {field}", getattr(self, field), MAX_WORD, blank=True)
        if self.need not in ("", "low", "high"):
            raise InputError(f"a meter's need is {quoted(self.need)}: give 'low', 'high' or ''")
        if not self.least < self.most:
            raise InputError(f"a meter's least is {self.least:g} and its most {self.most:g}: most must be larger")

    @property
    def means_something(self) -> bool:
        """Return whether the host described an end of the scale."""
        return bool(self.low or self.high)

    @property
    def presses(self) -> bool:
        """Return whether the agent is in need."""
        room = PRESSES * (self.most - self.least)
        return (self.need == "low" and self.value < self.least + room) or (
            self.need == "high" and self.value > self.most - room
        )

    @property
    def named(self) -> str:
        """Return the value beside the end of the scale, where that begins at 0: "12/100"."""
        return f"{self.value:g}/{self.most:g}" if self.least == 0 else f"{self.value:g}"

    @property
    def in_words(self) -> str:
        """Return how near the value is to a described end, in fifths: "almost starving", "far from exhausted"."""
        share = min(1.0, max(0.0, (self.value - self.least) / (self.most - self.least)))
        near, word = (share, self.high) if self.high and (share >= 0.5 or not self.low) else (1 - share, self.low)
        fifth = min(4, int(near / PRESSES))
        return ("not {}", "far from {}", "halfway to {}", "almost {}", "{}")[fifth].format(word)

    @property
    def end(self) -> str:
        """Return the host's word for the end at which the agent is in need."""
        return {"low": self.low, "high": self.high, "": ""}[self.need]


def is_reading(value: object) -> bool:
    """Return whether a value is a number that a meter may hold: finite, and exact in JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_METER


def read_meters(status: object) -> dict[str, Meter]:
    """Return the meters in a brief or in a job's parameters by name; ignore anything else."""
    given = status if isinstance(status, Mapping) else {}
    return {str(name): meter for name, value in given.items() if (meter := _meter(value)) is not None}


def meter_params(status: object) -> dict[str, Any]:
    """Return meters as parameters of a job, sorted by name; a meter without a meaning as a number."""
    return {
        name: msgspec.to_builtins(meter) if meter != Meter(meter.value) else meter.value
        for name, meter in sorted(read_meters(status).items())
    }


def format_meters(meters: Mapping[str, Meter]) -> list[str]:
    """Return "energy: almost rested" for each meter, in the host's words; one without a meaning as a number."""
    return [
        f"{name}: {meter.in_words}" if meter.means_something else f"{name} {meter.value:g}"
        for name, meter in meters.items()
    ]


def _meter(value: object) -> Meter | None:
    if isinstance(value, Meter):
        return value
    if isinstance(value, Mapping):
        try:
            return typed_json.convert(dict(value), Meter)
        except (msgspec.ValidationError, ValueError):
            return None
    return Meter(value) if isinstance(value, int | float) and is_reading(value) else None
