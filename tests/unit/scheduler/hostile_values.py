"""Values that no host should pass, made anew each time: wrong types, half characters, endless and bottomless ones."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import Any

from cogitate import Profile
from cogitate.effects import Entry
from cogitate.tasks.job import Reads

ADA, BEN, START = "agent:ada", "agent:ben", 357


class Colour(StrEnum):
    """A string that is none of the plain ones."""

    RED = "red"


class Odd:
    """An object that says nothing of itself."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def nested(depth: int, kind: Callable[[Any], Any]) -> Any:
    value: Any = kind(0)
    for _ in range(depth):
        value = kind(value)
    return value


def itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


HOSTILE: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: -1,
    lambda: 0,
    lambda: 2**53,
    lambda: 2**63,
    lambda: -(2**64),
    lambda: 10**5_000,
    lambda: 1.5,
    lambda: math.nan,
    lambda: math.inf,
    lambda: 1e308,
    lambda: 3 + 4j,
    lambda: Decimal("NaN"),
    lambda: "",
    lambda: "   ",
    lambda: "\ud800",
    lambda: "a\udfffb",
    lambda: "\x00",
    lambda: "x" * 100_000,
    lambda: "\x1b[2J",
    lambda: "}{:/",
    lambda: b"bytes",
    lambda: bytearray(b"x"),
    lambda: Colour.RED,
    Odd,
    object,
    lambda: len,
    lambda: Profile,
    lambda: Profile(name="A"),
    lambda: Profile(name=5),  # type: ignore[arg-type]
    lambda: Entry(type="observation", text="x", minute=START),
    lambda: Reads(ADA, 0),
    lambda: {ADA},
    lambda: {},
    lambda: {1: 2},
    lambda: {"x": 5},
    lambda: {"\ud800": "\ud800"},
    lambda: {None: math.nan},
    lambda: [],
    lambda: [None],
    lambda: ["a", 5],
    lambda: (ADA, BEN),
    lambda: ["\ud800"],
    lambda: itertools.count(),
    lambda: iter("abc"),
    lambda: (n for n in range(3)),
    lambda: deque([1]),
    lambda: nested(60, lambda v: [v]),
    lambda: nested(60, lambda v: {"x": v}),
    lambda: nested(20_000, lambda v: (v,)),
    itself,
    lambda: range(10**9),
    lambda: memoryview(b"state"),
    lambda: {"self": 1, "text": "x", "minute": START},
)
