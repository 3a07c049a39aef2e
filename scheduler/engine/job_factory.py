"""The jobs that decisions open."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import Decided
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.tasks.job import Correction, Cost, Job, Reads, Request


def open_job(
    decided: Decided,
    *,
    run: str,
    minute: int,
    rules: Rules,
    streams: Mapping[str, Stream],
    retired: Collection[str],
    facts: int,
    correction: Correction,
) -> OpenJob:
    """Return the job of a request that was admitted, or refused and left to its heuristic.

    Args:
        minute: game time of the tick, total minutes.
        retired: owners that have left; nobody may read them any more.
        facts: version of the run's facts.
        correction: of the estimates of the model's tokens.
    """
    line, request, offer, grant, ahead = decided
    kind, head = rules.kind_of(request.kind), streams[request.owner].head
    job = Job(
        run=run,
        key=line.key,
        minute=minute,
        due=line.due,
        reads=tuple(_reads(request, streams, retired)),
        params=request.params,
        priority=request.priority,
        model=offer.model,
        prompt_cap=offer.prompt_cap,
        output_cap=kind.output_cap + offer.headroom,
        facts=facts,
        correction=correction.plain,
        correction_others=correction.others,
        summary=head.summary,
        summary_version=head.summary_version,
        character=head.character,
        reserved=grant.reserved if grant is not None else Cost(),
        ahead=ahead,
        at=request.at,
        refused=line.refused,
    )
    return OpenJob(job=job, grant=grant)


def _reads(request: Request, streams: Mapping[str, Stream], retired: Collection[str]) -> Iterator[Reads]:
    """Yield the parts of streams that a job reads, as of now; of other owners, those that are still here."""
    for reads in (Reads(request.owner, 0, request.numbers), *request.reads):
        if reads.owner in streams and reads.owner not in retired:
            newest = streams[reads.owner].head.last_number
            yield Reads(reads.owner, min(reads.upto or newest, newest), reads.numbers)
