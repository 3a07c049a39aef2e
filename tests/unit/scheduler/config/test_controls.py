"""What operators ask for, as it lies in the ledger: read one by one, and the latest wish counts."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.scheduler.config.controls import (
    FULL,
    Control,
    ControlRequest,
    Retry,
    SetCadence,
    SetLimit,
    SetMode,
    read_asked,
    wanted_mode,
)


@pytest.mark.parametrize(
    "control",
    [
        SetLimit("day.run.calls", 7),
        SetLimit("day.run.calls", None),
        SetCadence("reflect", 0, False),
        SetMode("draining"),
        Retry("1/plan/agent:ann/0/0", "agent:ann", (3, 4)),
    ],
)
def test_a_request_survives_a_round_trip(control: Control) -> None:
    asked = ControlRequest("id", control)
    assert read_asked([msgspec.json.encode(asked), b"{", b'{"id":"x","control":{"type":"sleep"}}']) == [
        asked,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("asked", "mode"),
    [
        ([], None),
        ([None, ControlRequest("1", SetLimit("day.run.calls", 7))], None),
        ([ControlRequest("1", SetMode("paused"))], "paused"),
        (
            [
                ControlRequest("1", SetMode("paused")),
                None,
                ControlRequest("2", SetMode("running")),
                ControlRequest("3", SetCadence("plan")),
            ],
            "running",
        ),
        ([ControlRequest("1", SetMode("running")), ControlRequest("2", SetMode("paused"))], "paused"),
    ],
)
def test_the_mode_that_is_wanted_is_the_latest(asked: list[ControlRequest | None], mode: str | None) -> None:
    assert wanted_mode(asked) == mode


def test_cadences_are_in_thousandths() -> None:
    assert FULL == 1000
