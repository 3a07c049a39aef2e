"""Measure the bytes per entry: in the host's process, and in Redis including its line of the journal.

A thousand owners observe something at every tick until each has reached the limit of entries: in one run every text is
different, in the other all observe the same event at a tick. The host's bytes are those held by Python's allocator
afterwards, the server's its used memory, both less those of an empty run.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.intake.observations import Observation

OWNERS, EACH = 1_000, 40
_LONG = "came to house {} and asked for the way to the mill, since the bridge at the old quay is closed until {}."


def _different(owner: int, tick: int) -> str:
    return f"Ann{owner * 7919 + tick} " + _LONG.format(owner, tick)


def _of_one_event(owner: int, tick: int) -> str:
    return f"Ann{tick} " + _LONG.format("the mayor's", tick)


def _held(text: Callable[[int, int], str], each: int) -> tuple[int, int, int]:
    """Return the entries of a run at its end, and the bytes that they take in the host and in Redis."""
    owners = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(OWNERS)}
    with TemporaryDirectory() as folder:
        settings = PinnedSettings(
            data_dir=Path(folder), workers=0, wait=0, limits={}, disable=("plan", "reflect", "rate"), act_interval=0
        )
        gc.collect()
        tracemalloc.start()
        try:
            with TickLoop(run="crowd", owners=owners, settings=settings) as loop:
                for tick in loop:
                    if tick.number > each + 1:
                        break
                    if tick.number == 1:
                        continue
                    for number, owner in enumerate(owners):
                        seen = Observation(text=text(number, tick.number), minute=tick.minute, importance=3)
                        loop.observe(owner, seen)
                gc.collect()
                entries = sum(len(stream.entries) for stream in loop.state.streams.values())
                return entries, tracemalloc.get_traced_memory()[0], loop.ledger.client.info("memory")["used_memory"]
        finally:
            tracemalloc.stop()


def table(each: int = EACH) -> Table:
    """Return the bytes per entry for different texts and for a shared event."""
    _, host, server = _held(_different, 0)
    rows = []
    for label, text in (("different texts", _different), ("one event, seen by all", _of_one_event)):
        entries, with_entries, server_with = _held(text, each)
        length = sum(len(text(number, 20)) for number in range(OWNERS)) / OWNERS
        rows.append(Row(label, (entries, length, (with_entries - host) / entries, (server_with - server) / entries)))
    columns = ("entries", "characters of a text", "bytes an entry, host", "bytes an entry, Redis")
    return Table("What an entry takes", columns, tuple(rows), f"{OWNERS:,} owners.", decimals=0)
