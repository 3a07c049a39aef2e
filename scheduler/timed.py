"""When the answers of models were there, as workers note it for the host of their run.

Where due ticks follow the latencies of models, a worker that settles an attempt with an answer has the script note the
last committed tick of that moment in the list `timed` of the run. The host is shown the list with the steps it takes
anyway, takes it at the next boundary, journals it, and removes it with the step that commits that tick.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import structlog

from tasks.job import JobKey

log = structlog.get_logger()


class Timed(NamedTuple):
    """When the answer of one job was there."""

    key: JobKey
    model: str
    ahead: int  # jobs of the same kind and model that were in flight when it was admitted
    ticks: int  # from its admission to the first boundary that could have applied it


def read_timed(raw: Iterable[bytes]) -> list[Timed | None]:
    """Facts as workers have noted them: the tick that was the last at that time, and key, model and place as JSON."""
    found: list[Timed | None] = []
    for one in raw:
        try:
            tick, _, rest = one.decode().partition(" ")
            text, model, ahead = msgspec.json.decode(rest, type=tuple[str, str, int])
            key = JobKey.parse(text)
            found.append(Timed(key, model, max(0, ahead), max(1, int(tick) + 1 - key.tick)))
        except (ValueError, RecursionError) as error:
            log.warning("ledger.unreadable", what="the time of an answer", error=str(error)[:200])
            found.append(None)
    return found


def note_of(key: JobKey, model: str, ahead: int) -> bytes:
    """What a worker notes of an answer; the script puts the tick before it."""
    return msgspec.json.encode((key.text(), model, ahead))
