"""Operators' requests to a run: those waiting, and the newest that its host has answered."""

from __future__ import annotations

from typing import Literal

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.clock import Clock
from cogitate.scheduler.config.controls import Control, ControlAnswer, read_asked
from cogitate.scheduler.config.kept_settings import kept_settings
from cogitate.scheduler.ledger.run_store import RunStore

_ANSWER = typed_json.decoder(ControlAnswer)


class SteeringStep(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's request and its outcome."""

    id: str
    control: Control
    by: str  # the operator; "": unknown
    state: Literal["waits", "applied", "refused"]
    tick: int = 0  # at which it took effect or was refused
    minute: int = 0  # game time of that tick, total minutes
    refused: str = ""  # why
    job: str = ""  # for a retry: the key of the new job


def steering_history(store: RunStore, tick: int, minute: int) -> list[SteeringStep]:
    """Return operators' requests, newest first; the host keeps its newest 200 answers.

    Args:
        tick: the run's last tick.
        minute: game time of that tick.
    """
    kept = store.field("state", "settings")
    clock = kept_settings(kept).game_clock() if kept is not None else Clock()
    found = []
    for raw in store.items("answers"):
        try:
            one = _ANSWER.decode(raw)
        except msgspec.DecodeError:
            continue
        found.append(
            SteeringStep(
                id=one.id,
                control=one.control,
                by=one.by,
                state="refused" if one.refused else "applied",
                tick=one.tick,
                minute=minute - clock.minutes(tick - one.tick),
                refused=one.refused,
                job=one.job,
            )
        )
    for item in read_asked(store.items("controls")):
        if item is not None:
            found.append(SteeringStep(id=item.id, control=item.control, by=item.by, state="waits"))
    return found[::-1]
