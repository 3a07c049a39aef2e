"""The operators' requests and the controller of the cadence, as a part of the engine."""

from __future__ import annotations

from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore


class Steered(Part):
    """Applies the requests of operators, and lets the controller of the cadence take its step."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def begin(self, tick: TickState) -> None:
        """Show the controller how jobs have ended at the boundary."""
        self._state.steering.throttle.see((closing.ended for closing in tick.closings), tick.number)

    def end(self, tick: TickState) -> None:
        """Take what operators request. A cancelled run cancels every job and request that waits."""
        state, steering = self._state, self._state.steering
        for owner in tick.turn.leaves:
            steering.throttle.postponing.forget(owner)
        before = steering.mode
        tick.core["controls"] = steering.take(tick.controls, tick.number, tick.minute)
        tick.core["stepped"] = steering.throttle.step(state.view, tick.minute, state.facts.minute(tick.number - 1))
        if before == "draining" and steering.mode in ("running", "paused"):
            state.touch_all()
        if steering.mode == "cancelled":
            tick.cancel(state.open)
            state.deferred = []

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        return self._state.steering.take_writes()

    def load(self, store: RunStore) -> None:
        self._state.steering.load(store)
