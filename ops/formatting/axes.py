"""Axes of charts: round numbers as marks, and their format."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Label = Callable[[float], str]


def figure(value: float) -> str:
    """Format a number for an axis or a table: "0.25", "1,200", "3.4M"."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.3g}M"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


@dataclass(frozen=True)
class Axis:
    """A scale that maps values to positions from 0 to 1, with its marks."""

    low: float
    high: float
    marks: tuple[float, ...]

    @classmethod
    def over(cls, low: float, high: float, about: int = 5, steps: tuple[float, ...] = (1, 2, 2.5, 5, 10)) -> Axis:
        """Return an axis that covers `low` to `high`, marked at round numbers.

        Args:
            about: the approximate number of marks.
            steps: the leading digits that the distance of two marks may have.
        """
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"an axis cannot reach from {low} to {high}: both ends must be finite")
        if high <= low:
            high = low + 1
        rough = (high - low) / about
        unit = 10.0 ** math.floor(math.log10(rough))
        step = unit * next((s for s in steps if s * unit >= rough), steps[-1])
        first, last = math.floor(low / step), math.ceil(high / step)
        marks = tuple(round(n * step, 10) for n in range(first, last + 1))
        return cls(marks[0], marks[-1], marks)

    @classmethod
    def exactly(cls, low: float, high: float, step: float) -> Axis:
        """Return an axis that ends where the values end, marked at multiples of `step`."""
        if high <= low:
            high = low + step
        marks = tuple(n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1))
        return cls(low, high, marks)

    def at(self, value: float) -> float:
        """Return the position of a value; a value beyond the axis gets its end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
