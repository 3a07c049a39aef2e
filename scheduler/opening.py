"""From a decision to the job that it opens: what it may read, and what it is told of its owner, as of now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from memory.stream import Stream
from scheduler.admission import Decided
from scheduler.turn import Rules
from tasks.job import Job, Reads, Request


def job_of(
    decided: Decided,
    *,
    run: str,
    minute: int,
    rules: Rules,
    streams: Mapping[str, Stream],
    retired: Collection[str],
    facts: int,
) -> Job:
    """The job of a request that was admitted, or refused and left to its heuristic.

    Args:
        minute: game time of the tick, total minutes.
        retired: owners that have left; nobody may read them any more.
        facts: version of the run's facts.
    """
    key, request = decided.key, decided.request
    kind, head = rules.kind_of(key.kind), streams[key.owner].head
    return Job(
        run=run,
        key=key,
        minute=minute,
        due=key.tick + rules.latency(key.kind),
        reads=tuple(_reads(request, streams, retired)),
        params=request.params,
        priority=request.priority,
        model=rules.model_of(kind),
        prompt_cap=kind.prompt_cap,
        output_cap=kind.output_cap,
        facts=facts,
        summary=head.summary,
        summary_version=head.summary_version,
        character=head.character,
        reserved=decided.cost,
    )


def _reads(request: Request, streams: Mapping[str, Stream], retired: Collection[str]) -> Iterator[Reads]:
    """What a job reads, as of now; of others, those that are still here."""
    for reads in (Reads(request.owner, 0, request.numbers), *request.reads):
        if reads.owner in streams and reads.owner not in retired:
            newest = streams[reads.owner].head.last_number
            yield Reads(reads.owner, min(reads.upto or newest, newest), reads.numbers)
