"""The commit of a finished tick: every command, the journal's line, and the windows that may be deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from cogitate.memory.clock import DAY, day_of
from cogitate.scheduler.config.versions import SCHEMA
from cogitate.scheduler.engine.part import Part
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.turn import FinishedTick
from cogitate.scheduler.journal.lines import write_line
from cogitate.scheduler.ledger.ledger import Commit, HostLedger, Write
from cogitate.scheduler.ledger.streams import chunked, stream_writes
from cogitate.scheduler.ledger.world_state import world_writes
from cogitate.scheduler.tick.figure_history import FigureHistory
from cogitate.scheduler.tick.seals import Seals

KEPT_DAYS = 7  # a day's accounts can be looked at for so many days after it; later the journal still has each job's


class HostPace(NamedTuple):
    """The pace of the host, for those who watch; it decides nothing."""

    lag: int  # ticks behind its schedule, where it is paced
    host_us: int  # microseconds of its own work at the tick before


class Committer:
    """The writer that turns a run's finished ticks into commits."""

    def __init__(
        self,
        ledger: HostLedger,
        state: RunState,
        parts: Sequence[Part],
        windows: set[str],
        seals: Seals,
        history: FigureHistory,
    ) -> None:
        self._ledger = ledger
        self._state = state
        self._parts = parts
        self.windows = windows  # that exist in the ledger
        self._seals = seals
        self._history = history
        self._loop_written = b""

    def commit(
        self,
        number: int,
        outcome: FinishedTick,
        checkpoint: bytes | None,
        digest: str,
        chain: str,
        pace: HostPace,
        posted: str = "",
    ) -> Commit:
        """Return everything that this tick writes. `digest` and `chain` are those of the tick before."""
        state, core = self._state, outcome.core
        writes = stream_writes(outcome.streams)
        for part in self._parts:
            writes += part.take_writes()
        self.windows |= {cell.window for item in outcome.opened for cell in item.cells}
        named = {key.tick for key in state.open}
        windows = [(window, *span) for window in sorted(self.windows) if (span := self._over(window, number, named))]
        forgotten = [field for window, *_ in windows for field in state.view.forget(window)]
        view = state.view.take_changes()
        writes += chunked("HSET", "view", [part for field in view for part in field], 2)
        writes += chunked("HDEL", "view", list(forgotten))
        run_changed = core.facts is not None or bool(core.joined or core.left)
        writes += self._seals.take_writes(state, outcome.streams, number, run_changed=run_changed)
        writes.append(Write("HSET", "state", ("lag", pace.lag, "host_us", pace.host_us)))
        kept = state.loop_state()
        if kept != self._loop_written:
            writes.append(Write("HSET", "state", ("loop", kept)))
            self._loop_written = kept
        if checkpoint is not None:
            writes += world_writes(number, checkpoint)
        notes = msgspec.structs.replace(
            outcome.notes,
            epoch=self._ledger.epoch,
            opened=tuple(item.grant for item in outcome.opened if item.grant is not None),
            answers=state.steering.take_answers(),
            warnings=dict(sorted(state.warnings.items())),
            view=tuple(view),
            posted=posted,
        )
        state.warnings.clear()
        writes += self._history.take_writes(core, notes, state, pace.host_us)
        line, digest, chain = write_line(core, notes, digest, chain, SCHEMA)
        return Commit(
            tick=number,
            line=line,
            digest=digest,
            chain=chain,
            records=[records for part in self._parts if (records := part.take_records()) is not None],
            closed=[ended.key for ended in core.ended],
            windows=windows,
            writes=writes,
        )

    def _over(self, window: str, number: int, named: Collection[int]) -> tuple[int, int] | None:
        """Return the first and last enqueue tick that may name a window to delete; None while the window must stay.

        A tick's window is deleted when the tick is over, a day's some days later, the run's never. The ledger keeps
        it all the same while an attempt that names it is unsettled.
        """
        facts = self._state.facts
        period, _, index = window.partition(":")
        if period == "tick":
            first = last = int(index)
            kept_until = first
        elif period == "day" and int(index) + KEPT_DAYS < day_of(facts.minute(number)):
            first = facts.clock.ticks_until(int(index) * DAY - facts.start_minute)
            last = facts.clock.ticks_until((int(index) + 1) * DAY - facts.start_minute) - 1
            kept_until = last
        else:
            return None
        if kept_until >= number or any(first <= tick <= last for tick in named):
            return None
        return first, last
