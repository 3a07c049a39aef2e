"""From a decision to its line in the journal and to the job that it opens, and from a job to what it works from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from memory.entry import as_known
from memory.profile import Profile
from memory.stream import Stream
from scheduler.budget.admission import Decided
from scheduler.budget.rules import Rules
from scheduler.journal.lines import DecidedLine
from scheduler.latency.due_ticks import TOO_SLOW
from tasks.job import Job, Reads, Request
from tasks.kind import Case, WorldFacts


def job_of(
    decided: Decided,
    *,
    run: str,
    minute: int,
    rules: Rules,
    streams: Mapping[str, Stream],
    retired: Collection[str],
    facts: int,
    correction: int,
) -> Job:
    """The job of a request that was admitted, or refused and left to its heuristic.

    Args:
        minute: game time of the tick, total minutes.
        retired: owners that have left; nobody may read them any more.
        facts: version of the run's facts.
        correction: of the estimates of the model's tokens, in thousandths.
    """
    key, request = decided.key, decided.request
    kind, head = rules.kind_of(key.kind), streams[key.owner].head
    return Job(
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


def line_of(decided: Decided) -> DecidedLine:
    """What the journal says of a decision."""
    return DecidedLine(
        key=decided.key,
        decision=decided.decision,
        model=decided.model if decided.decision == "admitted" else "",
        due=decided.due,
        refused=decided.refused,
        successor=decided.successor,
    )


def case_of(job: Job, streams: Mapping[str, Stream], profile: Profile, world: WorldFacts) -> Case:
    """What a job works from: the same that a worker would be given.

    Args:
        profile: its owner's.
        world: as it was when the job was made.
    """
    memories = {}
    for reads in job.reads:
        stream = streams[reads.owner]
        if reads.numbers is None:
            memories[reads.owner] = stream.as_of(reads.upto, job.key.tick)
        else:
            wanted = sorted(n for n in {*reads.numbers} if n <= reads.upto)
            found = (stream.entries[n] for n in wanted if n in stream.entries)
            memories[reads.owner] = [as_known(entry, job.key.tick) for entry in found]
    return Case(job=job, profile=profile, world=world, memories=memories)


def _reads(request: Request, streams: Mapping[str, Stream], retired: Collection[str]) -> Iterator[Reads]:
    """What a job reads, as of now; of others, those that are still here."""
    for reads in (Reads(request.owner, 0, request.numbers), *request.reads):
        if reads.owner in streams and reads.owner not in retired:
            newest = streams[reads.owner].head.last_number
            yield Reads(reads.owner, min(reads.upto or newest, newest), reads.numbers)
