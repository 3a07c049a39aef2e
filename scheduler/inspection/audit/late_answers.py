"""The auditor's look at answers that come after their job's end: who is awaited, and what lies there to be taken."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cogitate.memory import typed_json
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.late_answers import MOST, Awaited
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import JobKey


def wrong_late_answers(ledger: AccountsSnapshot, ended: Collection[JobKey], streams: Mapping[str, Stream]) -> list[str]:
    """Return awaited jobs that have no end or nothing left to replace, and answers that nobody awaits.

    Args:
        ended: the jobs with an end, as far as the journal has not been trimmed.
        streams: of those who are here, as of the tick of the snapshot.
    """
    found = []
    for text, raw in sorted(ledger.awaited.items()):
        key = JobKey.parse(text)
        if text in ledger.jobs or (key.tick > ledger.trimmed and key not in ended):
            found.append(f"job {text}: its answer is awaited, but it has no end")
        if not typed_json.decode(raw, Awaited).stands(streams):
            found.append(f"job {text}: its answer is awaited, but there is nothing left that it could replace")
    if len(ledger.awaited) > MOST:
        found.append(f"the answers of {len(ledger.awaited)} jobs are awaited, more than {MOST}")
    for text, raw in sorted(ledger.offered.items()):
        if text not in ledger.awaited:
            found.append(f"job {text}: a late answer lies there that nobody awaits")
        try:
            source = typed_json.decode(raw, Result).source
        except ValueError as error:
            found.append(f"job {text}: its late answer cannot be read: {error}")
        else:
            if source not in ("llm", "cached"):
                found.append(f"job {text}: its late answer is not a model's, but of source {source}")
    return found
