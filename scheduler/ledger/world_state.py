"""The world's own state as a run keeps it: whatever bytes its host gives, the newest, committed with their tick.

Keys under the run's prefix:
    checkpoint  hash  tick: the one that it was committed with
                      packed: the state, compressed, as it is the largest value that a tick writes
"""

from __future__ import annotations

from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.packing import pack, unpack
from cogitate.scheduler.ledger.run_store import RunStore


def world_writes(tick: int, state: bytes) -> list[Write]:
    """Return the commands that store a world's state."""
    return [
        Write("HSET", "checkpoint", ("tick", tick, "packed", pack(state))),
    ]


def load_world(store: RunStore) -> tuple[bytes | None, int]:
    """Return a world's state, None if it never gave one, and its tick.

    Raises:
        ValueError: when it was changed.
    """
    tick, packed = store.some_fields("checkpoint", "tick", "packed")
    if packed is None:
        return None, int(tick or 0)
    try:
        return unpack(packed), int(tick or b"")
    except ValueError as error:
        raise ValueError(f"the world's state {error}") from error
