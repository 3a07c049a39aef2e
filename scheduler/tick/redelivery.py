"""Hands the ticks since a resumed world's last checkpoint over again; the world must do what it did before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from cogitate.memory.clock import Clock
from cogitate.memory.errors import CogitateError
from cogitate.scheduler.engine.turn import WorldTurn
from cogitate.scheduler.journal.ends import JobEnd, ends_after_turn, ends_at_boundary
from cogitate.scheduler.journal.history import changes_of, observed_again, read_journal
from cogitate.scheduler.journal.lines import Core, JournalError
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.scheduler.tick.world_calls import WorldCalls


class WorldDiverged(CogitateError, RuntimeError):
    """A resumed world repeated its last tick differently, so it is not deterministic from its checkpoint.

    Open the run with `world="present"` to go on after its last committed tick with the world as it is. Or put all of
    the world's state, random generators included, into the checkpoint, and restore it from `loop.restored`.
    """


def redeliver(ledger: HostLedger, calls: WorldCalls, clock: Clock, checkpoint: int, last: int) -> Iterator[Tick]:
    """Yield the ticks after a world's checkpoint up to the last committed one, and check each after its body.

    Raises:
        WorldDiverged: when the world observed something else than the journal says.
    """
    before = ends_before(ledger, clock, checkpoint + 1)
    calls.redelivering = True
    for line in read_journal(ledger.store, checkpoint + 1, last):
        core = line.core
        calls.open(core.tick)
        with clock.in_force():
            ends = (*before, *ends_at_boundary(ledger.run, core.tick, core.ended, line.notes.ended))
            before = tuple(ends_after_turn(ledger.run, core, line.notes.ended))
        yield Tick(core.tick, core.minute, tuple(changes_of(line)), True, ends)
        calls.check_process()
        calls.is_open = False
        turn, _ = calls.take()
        _check_repeated(turn, core, last, checkpoint)
    calls.redelivering = False


def ends_before(ledger: HostLedger, clock: Clock, tick: int) -> tuple[JobEnd, ...]:
    """Return the ends that the tick before decided after the world's turn, which no tick has reported yet."""
    with suppress(JournalError):  # trimmed: an earlier host reported them
        for line in read_journal(ledger.store, tick - 1, tick - 1) if tick > 1 else ():
            with clock.in_force():
                return tuple(ends_after_turn(ledger.run, line.core, line.notes.ended))
    return ()


def _check_repeated(turn: WorldTurn, core: Core, last: int, checkpoint: int) -> None:
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
