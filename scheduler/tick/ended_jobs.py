"""Count the jobs that end in a host's process, and log their losses and refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import structlog

from cogitate.scheduler.budget.budget import limit_of_cell
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.intake.kind_effects import PROMPT_FAILED
from cogitate.scheduler.journal.lines import Core, reason_of
from cogitate.scheduler.latency.due_ticks import TOO_SLOW

log = structlog.get_logger()

MOST_OWNERS = 10  # owners that a log line names


class EndedJobs:
    """Counts and logs the jobs of a run that end in this process.

    Args:
        has_answered: returns whether a model that a kind may ask has answered in this run.
    """

    def __init__(self, run: str, has_answered: Callable[[str], bool] = lambda _kind: True) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()  # by kind, source and reason
        self._run = run
        self._has_answered = has_answered
        # What the log has already, because each is logged once:
        self._refused: set[str] = set()  # kinds with refused effects
        self._failed: set[str] = set()  # kinds with faults in `due`, `wake` or `heeds`
        self._dropped: set[tuple[str, str]] = set()  # kinds and reasons of dropped requests

    def note(self, finished: FinishedTick) -> None:
        """Count the jobs that a tick ends, and log its losses and refusals."""
        core, notes = finished.core, finished.notes.ended
        self.counts.update(
            (ended.key.kind, note.source, ended.reason) for ended, note in zip(core.ended, notes, strict=True)
        )
        self.counts.update(
            (decided.key.kind, "none", reason_of(decided.refused))
            for decided in core.decided
            if decided.decision in ("deferred", "dropped")
        )
        self._warn_of_dropped(core)
        for loss in finished.losses():
            log.warning(loss.name, run=self._run, tick=core.tick, owner=loss.owner, amount=loss.amount)
        for note in notes:
            if note.refusal and note.failure != PROMPT_FAILED and note.key.kind not in self._refused:
                self._refused.add(note.key.kind)
                log.warning(
                    "job.effects_refused",
                    run=self._run,
                    tick=core.tick,
                    kind=note.key.kind,
                    owner=note.key.owner,
                    why=note.refusal,
                )
        for fault in finished.faults:
            if fault.kind not in self._failed:
                self._failed.add(fault.kind)
                log.warning(
                    "kind.failed", run=self._run, tick=core.tick, kind=fault.kind, owner=fault.owner, why=fault.why
                )

    def _warn_of_dropped(self, core: Core) -> None:
        """Log the first job of a kind that a slow model, or a limit of a day or the run, drops.

        A limit of a tick has room again at the next one, so each tick logs its dropped owners, at the level of info.
        """
        of_tick: dict[tuple[str, str], list[str]] = {}  # owners by limit and kind
        for decided in core.decided:
            refused, kind = decided.refused, decided.key.kind
            if decided.decision == "dropped" and refused.startswith("tick:"):
                of_tick.setdefault((limit_of_cell(refused), kind), []).append(decided.key.owner)
            lasting = refused == TOO_SLOW or refused.startswith(("day:", "run:"))
            if decided.decision == "dropped" and lasting and (kind, reason_of(refused)) not in self._dropped:
                self._dropped.add((kind, reason_of(refused)))
                then = "dropped jobs have no result; cogitate status counts them"
                if refused == TOO_SLOW and not self._has_answered(kind):
                    then = f"its model has not answered yet: check workers and endpoint with cogitate doctor; {then}"
                log.warning(
                    "job.dropped",
                    run=self._run,
                    tick=core.tick,
                    kind=kind,
                    owner=decided.key.owner,
                    why=limit_of_cell(refused) if " " in refused else refused,
                    then=then,
                )
        for (limit, kind), owners in of_tick.items():
            log.info(
                "tick.limit_reached",
                run=self._run,
                tick=core.tick,
                limit=limit,
                kind=kind,
                dropped=len(owners),
                owners=owners[:MOST_OWNERS],
            )
