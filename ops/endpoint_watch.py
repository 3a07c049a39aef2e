"""Warnings of endpoints that do not answer: once for each cause while a run goes on, and at its end what that cost."""

from __future__ import annotations

from collections.abc import Mapping

import structlog
from redis import Redis
from redis.exceptions import RedisError

from ops.shortfall_words import shortfall_lines
from scheduler.ledger_errors import LedgerError
from scheduler.settings import Settings
from scheduler.summary import summarise_run
from scheduler.turn import Outcome
from workers.llm_address import servers_of
from workers.verdict import WHAT_TO_CHECK

AT_ONCE = frozenset({"connection", *WHAT_TO_CHECK})  # the rest may be one slow call: told when the breaker opens

log = structlog.get_logger()


class EndpointWatch:
    """Looks through a run's ended jobs for endpoints that do not answer.

    Args:
        endpoints: model -> its endpoint.
        said: endpoints of which something was said already, and why; what is said here is added.
    """

    def __init__(self, run: str, endpoints: Mapping[str, str], said: set[tuple[str, str]]) -> None:
        self._run = run
        self._endpoints = endpoints
        self._said = said

    def committed(self, tick: int, outcome: Outcome, _seconds: float) -> None:
        """Look through the jobs that ended at a tick."""
        for note in outcome.notes:
            why = note.because or note.failure
            if why == "real_day_spent":
                self._say("real_day.spent", "", why, tick, "no model is asked by any run before 00:00 UTC")
            elif note.because or why in AT_ONCE or why == "breaker_open":
                endpoint = self._endpoints.get(note.model, "")
                then = "jobs go to their heuristic until it answers"
                self._say("endpoint.unreachable", endpoint, why, tick, WHAT_TO_CHECK.get(why, then))

    def _say(self, event: str, endpoint: str, why: str, tick: int, then: str) -> None:
        if (endpoint, why) in self._said:
            return
        self._said.add((endpoint, why))
        log.warning(event, run=self._run, **({"endpoint": endpoint} if endpoint else {}), why=why, tick=tick, then=then)


def tell_shortfalls(client: Redis, run: str, settings: Settings) -> None:
    """Warn of each endpoint that left jobs without an answer: since when, and what it cost in thoughts."""
    try:
        shortfalls = summarise_run(client, run).shortfalls
    except (RedisError, LedgerError):
        return  # who leaves a run without a ledger has been told so
    for line in shortfall_lines(shortfalls, servers_of(settings)):
        log.warning("models.unanswered", run=run, said=line)
