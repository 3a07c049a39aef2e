"""Fallbacks: read as they were made, and only where the same code made them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from cogitate.memory.effects import Append, Effect, SetCounter
from cogitate.memory.entry import Entry
from cogitate.scheduler.intake.fallbacks import MOST_BYTES, Fallbacks
from cogitate.scheduler.intake.kind_effects import KindEffects
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.scheduler_case import ANN, Thinker

CASE: Any = None  # no kind here looks at it
KEY = JobKey(3, "think", ANN, 0, 0)


class Making(Thinker):
    """A kind that makes what a test says."""

    def __init__(self, *makes: Effect, name: str = "think") -> None:
        super().__init__(name)
        self.makes = makes

    def heuristic(self, case: Any) -> Any:
        return self.makes


KIND = Making(Append(ANN, Entry(type="reflection", text="Tea — “at last”.", minute=7)), SetCounter(ANN, "thought", 3))
FALLBACKS = Fallbacks([KIND])


def changed(raw: bytes, **fields: Any) -> bytes:
    return msgspec.json.encode({**msgspec.json.decode(raw), **fields})


@pytest.mark.parametrize("kind", [KIND, Making()], ids=["two effects", "none"])
def test_a_fallback_is_read_as_the_heuristic_made_it(kind: Making) -> None:
    raw = Fallbacks([KIND]).make(kind, CASE)
    assert Fallbacks([KIND]).read(KEY, raw) == KindEffects(kind.makes)


@pytest.mark.parametrize("code", ["", "other"])
def test_a_fallback_of_other_code_is_left_alone(code: str) -> None:
    raw = changed(FALLBACKS.make(KIND, CASE), code=code)
    with capture_logs() as logs:
        assert FALLBACKS.read(KEY, raw) is None
        assert Fallbacks(()).read(KEY, FALLBACKS.make(KIND, CASE)) is None, "this run has no such kind"
    assert logs == []


def test_code_that_cannot_be_named_stages_nothing_and_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogitate.scheduler.intake.fallbacks.code_version", lambda kind: "")
    unnamed = Fallbacks([KIND])
    assert unnamed.make(KIND, CASE) == b""
    assert unnamed.read(KEY, changed(FALLBACKS.make(KIND, CASE), code="")) is None


def test_what_is_refused_or_too_long_is_not_staged() -> None:
    assert FALLBACKS.make(Making(Append(ANN, Entry(type="reflection", text=" ", minute=7))), CASE) == b""
    assert FALLBACKS.make(Making(KIND.makes[0], name="unknown"), CASE) == b""
    length = len(FALLBACKS.make(Making(SetCounter(ANN, "x", 1)), CASE))
    counters = [SetCounter(ANN, "x", 1)] * ((MOST_BYTES - length) // (length - len(FALLBACKS.make(Making(), CASE)) + 1))
    assert FALLBACKS.make(Making(*counters), CASE)
    assert FALLBACKS.make(Making(*counters, *counters), CASE) == b""


RAW = FALLBACKS.make(KIND, CASE)
WRONG = msgspec.json.decode(FALLBACKS.make(Making(SetCounter(ANN, "x", 1)), CASE))["effects"]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (changed(RAW, effects=7), "Expected `array`"),
        (changed(RAW, effects=[{**WRONG[0], "name": " "}]), "blank"),
        (changed(RAW, effects=[{**WRONG[0], "owner": ""}]), "owner"),
        (changed(RAW, more="x" * MOST_BYTES), "at most 16384 fit"),
    ],
)
def test_one_that_cannot_be_used_is_reported_and_left_to_the_host(raw: bytes, why: str) -> None:
    with capture_logs() as logs:
        assert FALLBACKS.read(KEY, raw) is None
    ((event, what, job, error),) = [(log["event"], log["what"], log["job"], log["error"]) for log in logs]
    assert (event, what, job) == ("ledger.unreadable", "a fallback", KEY.text())
    assert why in error


def test_of_nothing_nothing_is_said() -> None:
    with capture_logs() as logs:
        assert FALLBACKS.read(KEY, b"") is None
    assert logs == []
