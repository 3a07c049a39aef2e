"""What a host reads of its run, at any time: where it stands, what it has spent, and how it keeps its pace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from math import inf

from cogitate.hosting.body_calls import BodyCalls
from cogitate.hosting.opening import prior_now
from cogitate.memory.errors import InputError, quoted
from cogitate.scheduler.budget.budget_lines import Spending, spending
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.ledger.errors import LedgerUnavailable
from cogitate.scheduler.ledger.ledger import HostLedger


class RunReadings(BodyCalls):
    """The readings of a loop, and the pace that it changes."""

    settings: Settings
    _last_spending: Spending | None = None  # once the loop has closed

    @property
    def tick(self) -> int:
        """The number of the last committed tick."""
        return self._loop.tick

    @property
    def over(self) -> bool:
        """Whether no further tick comes: after the last, or when this host left the run or an operator ended it."""
        return self._loop.over

    @property
    def digest(self) -> str:
        """The digest of the run at that tick."""
        return self._loop.digest

    @property
    def restored(self) -> bytes | None:
        """The world's last checkpoint, or None."""
        return self._loop.restored

    @property
    def checkpoint_tick(self) -> int:
        """The tick that committed the world's last checkpoint; 0: no checkpoint."""
        return self._loop.checkpoint_tick

    @property
    def spent(self) -> Spending:
        """The calls, tokens and money that the run has spent so far, and where each of its limits stands.

        It counts calls as workers report them: a world that must repeat its ticks does not decide by it. After the end
        of the loop it tells what the run had spent then, if the loop's own Redis has ended with it.

        Raises:
            LedgerUnavailable: when Redis does not answer.
        """
        tick, minute = self._loop.tick, self.state.facts.minute(self._loop.tick)
        try:
            return spending(self.ledger.store, self.state.view, tick, minute)
        except LedgerUnavailable:
            if self._last_spending is None:
                raise
            return self._last_spending

    def _keep_spending(self) -> None:
        """Keep the figures while the loop's Redis still answers."""
        with suppress(LedgerUnavailable):
            self._last_spending = self.spent

    @property
    def ended(self) -> Counter[tuple[str, str, str]]:
        """Kind, source and reason of the jobs that ended in this process."""
        return self._loop.ended.counts

    @property
    def stopping(self) -> bool:
        """Whether the current tick is this host's last."""
        return self._loop.stopping

    @property
    def tick_seconds(self) -> Sequence[float]:
        """The host's seconds for each of the newest ticks, waiting and the world's turn excluded."""
        return self._loop.tick_seconds

    @property
    def behind(self) -> float:
        """The delay of the newest tick against the pace, in ticks; 0 without a pace."""
        return 0.0 if self._loop.pace is None else self._loop.pace.behind

    @property
    def ledger(self) -> HostLedger:
        """The ledger of the run."""
        return self._loop.ledger

    @property
    def state(self) -> RunState:
        """The state of the run in memory. Read-only."""
        return self._loop.state

    def change_pace(self, tick_rate: float) -> None:
        """Change the rate of a paced run, in ticks a second, from the next tick on.

        The run learns its models' latencies again, since it counts them in ticks, as on a resume at another rate.

        Raises:
            InputError: when the run has no pace, or the rate is invalid.
        """
        if self._loop.pace is None:
            raise InputError(f"change_pace({quoted(tick_rate)}): the run has no pace: set `tick_rate`")
        if isinstance(tick_rate, bool) or not isinstance(tick_rate, int | float) or not 0 < tick_rate < inf:
            raise InputError(f"change_pace({quoted(tick_rate)}): give ticks a second, more than 0")
        self._loop.pace.change(tick_rate)
        if self.settings.adapts():
            settings = self.settings.model_copy(update={"tick_rate": tick_rate})
            self.state.latencies.begin_anew(prior_now(self.ledger.client, settings))
