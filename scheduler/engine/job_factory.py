"""From a decision to its line in the journal, and to the job that it opens."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from memory.stream import Stream
from scheduler.budget.admission import Decided
from scheduler.budget.rules import Rules
from scheduler.engine.open_jobs import OpenJob
from scheduler.journal.lines import DecidedLine
from scheduler.latency.due_ticks import TOO_SLOW
from tasks.job import Job, Reads, Request


def open_job(
    decided: Decided,
    *,
    run: str,
    minute: int,
    rules: Rules,
    streams: Mapping[str, Stream],
    retired: Collection[str],
    facts: int,
    correction: int,
) -> OpenJob:
    """Return the job of a request that was admitted, or refused and left to its heuristic.

    Args:
        minute: game time of the tick, total minutes.
        retired: owners that have left; nobody may read them any more.
        facts: version of the run's facts.
        correction: of the estimates of the model's tokens, in thousandths.
    """
    key, request = decided.key, decided.request
    kind, head = rules.kind_of(key.kind), streams[key.owner].head
    job = Job(
        run=run,
        key=key,
        minute=minute,
        due=decided.due,
        reads=tuple(_reads(request, streams, retired)),
        params=request.params,
        priority=request.priority,
        model=decided.model,
        prompt_cap=decided.prompt_cap,
        output_cap=kind.output_cap,
        facts=facts,
        correction=correction,
        summary=head.summary,
        summary_version=head.summary_version,
        character=head.character,
        reserved=decided.cost,
        ahead=decided.ahead,
        at=request.at,
        refused=decided.refused if decided.refused == TOO_SLOW else "",
    )
    return OpenJob(job=job, admitted=decided.decision == "admitted", cells=decided.cells)


def line_of(decided: Decided) -> DecidedLine:
    """Return the journal's line of a decision."""
    return DecidedLine(
        key=decided.key,
        decision=decided.decision,
        model=decided.model if decided.decision == "admitted" else "",
        due=decided.due,
        refused=decided.refused,
        successor=decided.successor,
    )


def _reads(request: Request, streams: Mapping[str, Stream], retired: Collection[str]) -> Iterator[Reads]:
    """Yield the parts of streams that a job reads, as of now; of other owners, those that are still here."""
    for reads in (Reads(request.owner, 0, request.numbers), *request.reads):
        if reads.owner in streams and reads.owner not in retired:
            newest = streams[reads.owner].head.last_number
            yield Reads(reads.owner, min(reads.upto or newest, newest), reads.numbers)
