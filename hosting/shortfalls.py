"""Jobs that no model answered: warnings during a run, and sentences that explain why.

The jobs are counted as ticks are committed, so that a host that leaves after an error needs no further read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import NamedTuple

import structlog

from cogitate.memory.clock import Clock, day_and_time
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.inspection.summary import ShortfallLine, lines_of_shortfalls
from cogitate.scheduler.journal.ends import OF_KINDS, Shortfalls, breaker_cause, note_shortfall
from cogitate.scheduler.ledger.claims import split_failure
from cogitate.workers.gate.endpoint_reports import WHAT_TO_CHECK
from cogitate.workers.llm.replies.failures import STATUS
from cogitate.workers.llm.requests.address import servers_of

#: Failures that are reported immediately. Any other may be one slow call or one forbidden prompt, which the report of
#: what was set aside covers.
AT_ONCE = frozenset({"connection", *WHAT_TO_CHECK}) - {"forbidden"}

log = structlog.get_logger()


class EndpointWatch:
    """Watches the ended jobs of a run for endpoints that do not answer.

    Args:
        endpoints: model -> its endpoint.
        said: pairs of endpoint and cause that were warned of already; new warnings are added.
    """

    def __init__(
        self, run: str, endpoints: Mapping[str, str], said: set[tuple[str, str]], clock: Callable[[], Clock]
    ) -> None:
        self._run = run
        self._clock = clock  # of the run, by which warnings tell the time
        self._endpoints = endpoints
        self._said = said
        self._shortfalls: Shortfalls = {}
        self._since = 0  # the first tick examined
        self._tick = 0  # the last

    def committed(self, tick: int, outcome: FinishedTick, _seconds: float) -> None:
        """Examine the jobs that ended at a tick."""
        self._since, self._tick = self._since or tick, tick
        ends = {ended.key: ended for ended in outcome.core.ended}
        for note in outcome.notes.ended:
            if note.key in ends:
                note_shortfall(self._shortfalls, ends[note.key], note, note.model, tick, outcome.core.minute)
            opened_by = breaker_cause(note)
            why = opened_by or note.failure
            if why == "real_day_spent":
                then = "today's limit has no room for this call; smaller ones may still pass until 00:00 UTC"
                self._say("real_day.spent", "", why, tick, then)
            elif opened_by or why in AT_ONCE or why == "breaker_open":
                endpoint = self._endpoints.get(note.model, "")
                then = "jobs go to their heuristic until it answers"
                self._say("endpoint.unreachable", endpoint, why, tick, WHAT_TO_CHECK.get(why, then))

    def tell_shortfalls(self, servers: Mapping[str, str]) -> None:
        """Warn of each endpoint that left jobs without an answer, with the ticks and the number of jobs by kind."""
        if not self._shortfalls:
            return
        with self._clock().in_force():
            for line in shortfall_lines(lines_of_shortfalls(self._shortfalls, self._endpoints), servers):
                log.warning("models.unanswered", run=self._run, tick=self._tick, said=line, since=self._since)

    def _say(self, event: str, endpoint: str, why: str, tick: int, then: str) -> None:
        if (endpoint, why) in self._said:
            return
        self._said.add((endpoint, why))
        log.warning(event, run=self._run, **({"endpoint": endpoint} if endpoint else {}), why=why, tick=tick, then=then)


def watch_endpoints(
    settings: Settings,
    run: str,
    said: set[tuple[str, str]],
    clock: Callable[[], Clock],
    log_warnings: bool,
    resources: ExitStack,
) -> EndpointWatch:
    """Return a watch on the endpoints of the settings, which logs shortfalls at the end if `log_warnings`."""
    watch = EndpointWatch(run, {model.name: model.endpoint for model in settings.asked_models()}, said, clock)
    resources.callback(lambda: watch.tell_shortfalls(servers_of(settings)) if log_warnings else None)
    return watch


#: Behaviour of an endpoint by class of failure; the endpoint precedes it in the sentence.
_ENDPOINT = {
    "connection": "could not be reached, or broke off its answers",
    "dns": "could not be found: its host's name has no address",
    "tls": "could not be reached over a trusted TLS connection",
    "proxy": "could not be reached: the proxy refused the worker",
    "blocked": "could not be reached: something on the way answered in its place",
    "timeout": "gave no complete answer before the deadline of jobs",
    "server": f"failed (status {STATUS['server']})",
    "overloaded": f"was overloaded or not available (status {STATUS['overloaded']})",
    "rate_limited": f"limited the rate (status {STATUS['rate_limited']})",
    "conflict": f"reported a conflict (status {STATUS['conflict']})",
    "auth": "refused the key",
    "forbidden": "forbade the calls",
    "quota_exhausted": "reported an exhausted quota",
    "model_missing": "did not know the model",
    "breaker_open": "received no request: its breaker was open",
    "rate_limited_here": "received no request: its limit per minute left no time before the job's deadline",
    "no_slot": "received no request: no slot became free before the job's deadline",
    "unknown_endpoint": "or its key is not configured on the worker",
}
#: Reasons why workers called no endpoint.
_NOT_CALLED = {
    "real_day_spent": "The limit of the real day was spent (real_day_tokens, real_day_usd; a day begins at 00:00 UTC)",
    "experiment_spent": "The limit of the experiment was spent",
    "real_day_away": "Redis could not check the limit of the real day",
    "real_day_unpriced": "real_day_usd limits spending, but the model has no price",
    "gate_away": "Redis did not answer, and workers call no endpoint without it",
    "stopping": "The worker was stopped",
    "asking_failed": "The worker failed during the call; its log has job.asking_failed",
    "no_time": "The deadline of a job passed, or left too little time, before its request was sent",
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
        line = f"{_subject(cause, servers)} {when}. Heuristic results: {kinds.total():,} ({jobs})"
        if cause.why:
            unasked = sum(one.jobs for one in found if one.because)
            line += f"; the breaker was already open for {unasked:,} of them" if unasked else ""
        else:
            classes: Counter[str] = Counter()
            for one in found:
                classes[one.failure] += one.jobs
            line += f"; faults: {', '.join(f'{_named(name)} {count:,}' for name, count in sorted(classes.items()))}"
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
