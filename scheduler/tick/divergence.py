"""A resumed world that repeats its ticks must do what it did before."""

from __future__ import annotations

from cogitate.memory.errors import CogitateError
from cogitate.scheduler.engine.turn import WorldTurn
from cogitate.scheduler.journal.history import observed_again
from cogitate.scheduler.journal.lines import Core


class WorldDiverged(CogitateError, RuntimeError):
    """A resumed world repeated its last tick differently, so it is not deterministic from its checkpoint.

    Open the run with `world="present"` to go on after its last committed tick with the world as it is. Or put all of
    the world's state, random generators included, into the checkpoint, and restore it from `loop.restored`.
    """


def check_repeated(turn: WorldTurn, core: Core, *, last: int, checkpoint: int) -> None:
    """Check that a resumed world observed in a tick what the journal says.

    Args:
        last: the last committed tick.
        checkpoint: the tick of the world's last checkpoint.

    Raises:
        WorldDiverged: when it observed something else.
    """
    if not observed_again(turn.observed, core):
        known = len(core.observed) + len(core.waiting) + len(core.repeated)
        raise WorldDiverged(
            f"tick {core.tick}: the resumed world observed {len(turn.observed)} entries that differ from the "
            f"{known} in the journal. {remedy(last, checkpoint)}"
        )


def remedy(last: int, checkpoint: int) -> str:
    """Return what to do when a world has diverged."""
    return (
        f'Nothing is lost: open the run again with world="present" to go on at tick {last + 1} with the world as it '
        "is; or, for a world that is deterministic, restore it from loop.restored, its checkpoint of tick "
        f"{checkpoint}, before the loop"
    )
