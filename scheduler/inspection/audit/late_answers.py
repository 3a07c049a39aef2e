"""Audit of late answers: the jobs whose answers are awaited, and the answers that arrived."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cogitate.memory import typed_json
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.late_answers import MOST, Awaited
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import JobKey


def wrong_late_answers(ledger: AccountsSnapshot, ended: Collection[JobKey], streams: Mapping[str, Stream]) -> list[str]:
    """Return the awaited jobs that are still open or have nothing left to replace, and the answers not awaited.

    Args:
        ended: the ended jobs in the untrimmed journal.
        streams: of the present owners, as of the tick of the snapshot.
    """
    found = []
    for text, raw in sorted(ledger.awaited.items()):
        key = JobKey.parse(text)
        if text in ledger.jobs or (key.tick > ledger.trimmed and key not in ended):
            found.append(f"job {text}: its late answer is awaited, but the job has not ended")
        if not typed_json.decode(raw, Awaited).stands(streams):
            found.append(f"job {text}: its late answer is awaited, but nothing is left for it to replace")
    if len(ledger.awaited) > MOST:
        found.append(f"the answers of {len(ledger.awaited)} jobs are awaited, more than {MOST}")
    for text, raw in sorted(ledger.offered.items()):
        if text not in ledger.awaited:
            found.append(f"job {text}: has a late answer that is not awaited")
        try:
            source = typed_json.decode(raw, Result).source
        except ValueError as error:
            found.append(f"job {text}: its late answer cannot be read: {error}")
        else:
            if source not in ("llm", "cached"):
                found.append(f"job {text}: its late answer has the source {source}, not a model")
    return found
