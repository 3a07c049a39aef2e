"""A card of Flower's first page, its grade, and amounts in words."""

from __future__ import annotations

from typing import Literal

import msgspec

from cogitate.memory.clock import clock_in_force
from cogitate.scheduler.config.limits import LimitUnit
from cogitate.scheduler.inspection.overview import FEW, RunOverview

Grade = Literal["", "good", "warn", "bad"]
GRADES: tuple[Grade, ...] = ("", "good", "warn", "bad")  # worst last

MUCH = 0.2  # share of late or failed jobs that is bad, as in the alerts
SOME = 0.05  # share that is a warning


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its grade, lines that explain it, and the same figures for machines.

    A red card may have a command to copy, and filters that list the jobs that it counts.
    """

    name: str
    label: str
    value: str
    grade: Grade
    lines: list[str]
    figures: dict[str, int | float] = {}
    command: str = ""
    jobs: dict[str, str] = {}  # filters of the page Jobs


def graded(count: int, total: int) -> Grade:
    share = count / max(1, total)
    return "bad" if share > MUCH and count >= FEW else "warn" if share > SOME else ""


def span_of(run: RunOverview) -> str:
    """Return the period over which a run's newest jobs are counted: "game hour", "30 rounds" or "real minute"."""
    return run.span or clock_in_force().hours(1)


def amount(value: float, unit: LimitUnit) -> str:
    """Return an amount with its unit, such as "$0.0123" or "1,200 tokens"."""
    return f"${value / 1e6:,.4f}" if unit == "usd_micros" else f"{value:,} {unit}"


def unit_name(unit: LimitUnit) -> str:
    """Return a unit's name in words."""
    return "money" if unit == "usd_micros" else unit
