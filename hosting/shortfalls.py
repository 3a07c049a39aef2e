"""Jobs that no model answered: warnings during a run, and sentences that explain why.

They are counted at each commit, so a host that leaves after an error needs no further read.
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
from cogitate.scheduler.journal.ends import OF_KINDS, UNCLAIMED, Shortfalls, breaker_cause, note_shortfall
from cogitate.scheduler.ledger.claims import split_failure
from cogitate.tasks.job import JobKey
from cogitate.workers.gate.endpoint_reports import WHAT_TO_CHECK
from cogitate.workers.llm.replies.failures import STATUS
from cogitate.workers.llm.requests.address import servers_of

#: Failures to warn of immediately. Any other may concern one slow call or one forbidden prompt, which the warning about
#: an endpoint or model that the gate sets aside covers.
AT_ONCE = frozenset({"connection", *WHAT_TO_CHECK}) - {"forbidden"}

#: What to check if workers may be configured unlike the host.
_ON_WORKERS = {
    "connection": "COGITATE_BASE_URL on the workers, or their COGITATE_ENDPOINTS, and whether the server runs",
    "unknown_endpoint": "whether the workers have the host's COGITATE_LLM, COGITATE_BASE_URL, COGITATE_MODEL (or "
    "COGITATE_ENDPOINTS) and key; restart them after a change",
    UNCLAIMED: "whether workers run (cogitate worker starts one), and whether they have a free slot",
}
_CHECKS = WHAT_TO_CHECK | _ON_WORKERS

log = structlog.get_logger()


class EndpointWatch:
    """Finds endpoints that do not answer, from the ends of a run's jobs.

    Args:
        endpoints: model -> its endpoint.
        servers: endpoint -> its address in the host's settings, if known.
        warned: pairs of endpoint and cause already logged; the watch adds its own.
        clock: returns the run's clock, for the times in warnings.
    """

    def __init__(
        self,
        run: str,
        endpoints: Mapping[str, str],
        servers: Mapping[str, str],
        warned: set[tuple[str, str]],
        clock: Callable[[], Clock],
    ) -> None:
        self._run = run
        self._clock = clock
        self._endpoints = endpoints
        self._servers = servers
        self._warned = warned
        self._shortfalls: Shortfalls = {}
        self._models: dict[JobKey, str] = {}  # of the open jobs that this host has admitted
        self._since = 0  # the first examined tick
        self._tick = 0  # the last examined tick

    def committed(self, tick: int, outcome: FinishedTick, _seconds: float) -> None:
        """Examine the jobs that ended at a tick."""
        self._since, self._tick = self._since or tick, tick
        for decided in outcome.core.decided:
            if decided.model:
                self._models[decided.key] = decided.model
        ends = {ended.key: ended for ended in outcome.core.ended}
        for note in outcome.notes.ended:
            if note.key in ends:
                model = self._models.pop(note.key, note.model)
                note_shortfall(self._shortfalls, ends[note.key], note, model, tick, outcome.core.minute)
            opened_by = breaker_cause(note)
            why = opened_by or note.failure
            if why == "real_day_spent":
                then = "today's limit has no room for this call; smaller ones may still pass until 00:00 UTC"
                self._warn_once("real_day.spent", "", why, tick, then)
            elif why == "unknown_endpoint":
                endpoint = self._endpoints.get(note.model, "")
                self._warn_once("endpoint.not_on_worker", endpoint, why, tick, f"check {_CHECKS[why]}")
            elif opened_by or why in AT_ONCE or why == "breaker_open":
                endpoint = self._endpoints.get(note.model, "")
                then = "jobs go to their heuristic until it answers"
                check = f"{then}; check {_CHECKS[why]}" if why in _ON_WORKERS else WHAT_TO_CHECK.get(why, then)
                self._warn_once("endpoint.unreachable", endpoint, why, tick, check)

    def tell_shortfalls(self) -> None:
        """Warn of each endpoint that left jobs without an answer, with the ticks and the number of jobs by kind."""
        if not self._shortfalls:
            return
        with self._clock().in_force():
            for line in shortfall_lines(lines_of_shortfalls(self._shortfalls, self._endpoints), self._servers):
                log.warning("models.unanswered", run=self._run, tick=self._tick, said=line, since=self._since)

    def _warn_once(self, event: str, endpoint: str, why: str, tick: int, then: str) -> None:
        if (endpoint, why) in self._warned:
            return
        self._warned.add((endpoint, why))
        named = {"endpoint": endpoint} if endpoint else {}
        if endpoint in self._servers:
            named["host_address"] = self._servers[endpoint]
        log.warning(event, run=self._run, **named, why=why, tick=tick, then=then)


def watch_endpoints(
    settings: Settings,
    run: str,
    warned: set[tuple[str, str]],
    clock: Callable[[], Clock],
    log_warnings: bool,
    resources: ExitStack,
) -> EndpointWatch:
    """Return a watch on the settings' endpoints; if `log_warnings`, it logs the shortfalls when `resources` closes."""
    endpoints = {model.name: model.endpoint for model in settings.asked_models()}
    watch = EndpointWatch(run, endpoints, servers_of(settings), warned, clock)
    if log_warnings:
        resources.callback(watch.tell_shortfalls)
    return watch


#: Predicates of sentences about an endpoint, by class of failure.
_ENDPOINT = {
    "connection": "could not be reached, or broke off its answers",
    "dns": "could not be found: its host's name has no address",
    "tls": "could not be reached over a trusted TLS connection",
    "proxy": "could not be reached: the proxy refused the worker",
    "blocked": "could not be reached: something on the way answered in its place",
    "timeout": "gave no complete answer before the jobs' deadlines",
    "server": f"failed (status {STATUS['server']})",
    "overloaded": f"was overloaded or unavailable (status {STATUS['overloaded']})",
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
    UNCLAIMED: "No worker took jobs before they were due",
    "real_day_spent": "The limit of the real day was spent (real_day_tokens, real_day_usd; a day begins at 00:00 UTC)",
    "experiment_spent": "The limit of the experiment was spent",
    "real_day_away": "Redis could not check the limit of the real day",
    "real_day_unpriced": "real_day_usd limits spending, but the model has no price",
    "gate_away": "Redis did not answer, and workers call no endpoint without it",
    "stopping": "The worker was stopped",
    "asking_failed": "The worker failed during the call; its log has job.asking_failed",
    "no_time": "The deadline of a job passed, or left too little time, before its request was sent",
    "prompt_too_long": "The prompt was longer than the reservation allows, even without memories",
}
_NO_USE = "gave no usable answer"


class _Cause(NamedTuple):
    """A cause for which jobs had no answer."""

    endpoint: str
    model: str  # "" unless the model itself is the cause
    why: str  # class of the failure; "": an unusable answer


def format_failure(failure: str) -> str:
    """Return a class of failure as a clause, such as "the endpoint refused the key"."""
    if failure in _NOT_CALLED:
        sentence = _NOT_CALLED[failure]
        return sentence[0].lower() + sentence[1:] if sentence.startswith("The ") else sentence
    if failure in OF_KINDS:
        return "the kind's own code failed"
    return f"the endpoint {_ENDPOINT[failure]}" if failure in _ENDPOINT else f"the model {_NO_USE}"


def shortfall_lines(shortfalls: Iterable[ShortfallLine], servers: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each cause, with its first and last tick and the jobs that used their heuristic.

    Args:
        servers: endpoint -> its address in the host's settings, if known; a worker may have called another.
    """
    causes: dict[_Cause, list[ShortfallLine]] = {}
    for shortfall in shortfalls:
        causes.setdefault(_cause(shortfall), []).append(shortfall)
    for cause, group in causes.items():
        first, last = min(group, key=lambda each: each.first), max(group, key=lambda each: each.last)
        kinds: Counter[str] = Counter()
        for shortfall in group:
            kinds.update(shortfall.kinds)
        when = f"at {_moment(first.first, first.first_minute)}"
        if last.last > first.first:
            when = f"first {when}, last at {_moment(last.last, last.last_minute)}"
        jobs = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        line = f"{_subject(cause, servers)} {when}. Heuristic results: {kinds.total():,} ({jobs})"
        if cause.why:
            unasked = sum(shortfall.jobs for shortfall in group if shortfall.because)
            line += f"; the breaker was already open for {unasked:,} of them" if unasked else ""
        else:
            classes: Counter[str] = Counter()
            for shortfall in group:
                classes[shortfall.failure] += shortfall.jobs
            line += f"; faults: {', '.join(f'{_named(name)} {count:,}' for name, count in sorted(classes.items()))}"
        check = _CHECKS.get(cause.why)
        yield line + (f". Check: {check}" if check else "")


def _cause(shortfall: ShortfallLine) -> _Cause:
    why = shortfall.because or shortfall.failure
    if why in _NOT_CALLED:
        return _Cause("", "", why)
    if why == "model_missing":
        return _Cause(shortfall.endpoint, shortfall.model, why)
    return _Cause(shortfall.endpoint, "", why) if why in _ENDPOINT else _Cause("", shortfall.model, "")


def _subject(cause: _Cause, servers: Mapping[str, str]) -> str:
    if cause.why in _NOT_CALLED:
        return _NOT_CALLED[cause.why] + ":"
    if not cause.why:
        return f"Model {cause.model} {_NO_USE}:"
    at = f" ({servers[cause.endpoint]} in the host's settings)" if cause.endpoint in servers else ""
    model = f" {cause.model}" if cause.model else ""
    return f"Endpoint {cause.endpoint}{at} {_ENDPOINT[cause.why]}{model}:"


def _named(failure: str) -> str:
    kind, check = split_failure(failure)
    return f"{kind} ({check.replace('_', ' ')})" if check else kind


def _moment(tick: int, minute: int) -> str:
    return f"tick {tick:,} ({day_and_time(minute)})"
