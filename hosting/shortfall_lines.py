"""Sentences that explain why no model answered: the endpoint's behaviour, or why workers did not call it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cogitate.memory.clock import day_and_time
from cogitate.scheduler.inspection.summary import ShortfallLine
from cogitate.scheduler.journal.shortfalls import OF_KINDS
from cogitate.scheduler.ledger.claims import split_failure
from cogitate.workers.gate.verdict import WHAT_TO_CHECK
from cogitate.workers.llm.replies.failures import STATUS

#: Behaviour of an endpoint by class of failure; the endpoint precedes it in the sentence.
_ENDPOINT = {
    "connection": "could not be reached",
    "timeout": "did not answer in time",
    "server": f"failed (status {STATUS['server']})",
    "overloaded": f"was overloaded or not available (status {STATUS['overloaded']})",
    "rate_limited": f"limited the rate (status {STATUS['rate_limited']})",
    "conflict": f"had a conflict (status {STATUS['conflict']})",
    "auth": "refused the key",
    "forbidden": "forbade the calls",
    "quota_exhausted": "said that the account has nothing left",
    "model_missing": "did not know the model",
    "breaker_open": "was not asked, since its breaker was open",
    "rate_limited_here": "was not asked: its requests or tokens a minute left no time before the job's deadline",
    "no_slot": "was not asked: no call in flight ended before the job's deadline",
    "unknown_endpoint": "is not configured where the worker runs, or its key is not",
}
#: Reasons why workers called no endpoint.
_NOT_CALLED = {
    "real_day_spent": "The limit of the real day was spent (real_day_tokens, real_day_usd; a day begins at 00:00 UTC)",
    "real_day_away": "Redis could not say whether the limit of the real day has room",
    "real_day_unpriced": "The worker limits the money of the real day (real_day_usd), and the model has no price",
    "gate_away": "Redis did not answer, and without it no endpoint is asked",
    "stopping": "The worker was stopped",
    "asking_failed": "The worker failed while it asked, as its log says with job.asking_failed",
    "prompt_too_long": "The prompt was too long for what was reserved, even without memories",
}
_NO_USE = "gave no usable answer"


class _Cause(NamedTuple):
    """A cause that left jobs without an answer."""

    endpoint: str
    model: str  # only if the model itself is the cause
    why: str  # class of the failure; "": an unusable answer


def format_failure(failure: str) -> str:
    """Return the predicate of a sentence about a class of failure."""
    if failure in _NOT_CALLED:
        said = _NOT_CALLED[failure]
        return said[0].lower() + said[1:] if said.startswith("The ") else said
    if failure in OF_KINDS:
        return "the kind's own code failed"
    return f"the endpoint {_ENDPOINT[failure]}" if failure in _ENDPOINT else f"the model {_NO_USE}"


def shortfall_lines(shortfalls: Iterable[ShortfallLine], servers: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each cause, with its first and last tick and the jobs that used their heuristic.

    Args:
        servers: the addresses of the endpoints, where known.
    """
    causes: dict[_Cause, list[ShortfallLine]] = {}
    for one in shortfalls:
        causes.setdefault(_cause(one), []).append(one)
    for cause, found in causes.items():
        first, last = min(found, key=lambda one: one.first), max(found, key=lambda one: one.last)
        kinds: Counter[str] = Counter()
        for one in found:
            kinds.update(one.kinds)
        when = f"at {_moment(first.first, first.first_minute)}"
        if last.last > first.first:
            when = f"first {when}, last at {_moment(last.last, last.last_minute)}"
        jobs = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        line = f"{_subject(cause, servers)} {when}. {kinds.total():,} by heuristic for that: {jobs}"
        if cause.why:
            unasked = sum(one.jobs for one in found if one.because)
            line += f"; the breaker was already open for {unasked:,} of them" if unasked else ""
        else:
            classes: Counter[str] = Counter()
            for one in found:
                classes[one.failure] += one.jobs
            line += f" ({', '.join(f'{_named(name)} {count:,}' for name, count in sorted(classes.items()))})"
        check = WHAT_TO_CHECK.get(cause.why)
        yield line + (f". Look: {check}" if check else "")


def _cause(one: ShortfallLine) -> _Cause:
    why = one.because or one.failure
    if why in _NOT_CALLED:
        return _Cause("", "", why)
    if why == "model_missing":
        return _Cause(one.endpoint, one.model, why)
    return _Cause(one.endpoint, "", why) if why in _ENDPOINT else _Cause("", one.model, "")


def _subject(cause: _Cause, servers: Mapping[str, str]) -> str:
    if cause.why in _NOT_CALLED:
        return _NOT_CALLED[cause.why] + ":"
    if not cause.why:
        return f"Model {cause.model} {_NO_USE}:"
    at = f" ({servers[cause.endpoint]})" if cause.endpoint in servers else ""
    model = f" {cause.model}" if cause.model else ""
    return f"Endpoint {cause.endpoint}{at} {_ENDPOINT[cause.why]}{model}:"


def _named(failure: str) -> str:
    kind, check = split_failure(failure)
    return f"{kind} ({check.replace('_', ' ')})" if check else kind


def _moment(tick: int, minute: int) -> str:
    return f"tick {tick:,} ({day_and_time(minute)})"
