"""The jobs that the ticks of one host end: counted, and what they lost or were refused is logged."""

from __future__ import annotations

from collections import Counter

import structlog

from cogitate.scheduler.engine.turn import FinishedTick
from cogitate.scheduler.intake.kind_effects import PROMPT_FAILED
from cogitate.scheduler.journal.lines import reason_of

log = structlog.get_logger()


class EndedJobs:
    """The jobs of a run that have ended in this process."""

    def __init__(self, run: str) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()  # by kind, source and reason
        self._run = run
        self._refused: set[str] = set()  # kinds whose refused effects the log already has
        self._failed: set[str] = set()  # kinds whose faults when they are asked the log already has

    def note(self, finished: FinishedTick) -> None:
        """Count the jobs that a tick ends, and log what it lost or refused."""
        core, notes = finished.core, finished.notes.ended
        self.counts.update(
            (ended.key.kind, note.source, ended.reason) for ended, note in zip(core.ended, notes, strict=True)
        )
        self.counts.update(
            (decided.key.kind, "none", reason_of(decided.refused))
            for decided in core.decided
            if decided.decision in ("deferred", "dropped")
        )
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
