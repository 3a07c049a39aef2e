"""Warns of endpoints that do not answer: once per cause during a run, and at its end with the jobs they cost.

The jobs are counted as ticks are committed, so that a host that leaves after an error needs no further read.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

import structlog

from cogitate.hosting.shortfall_lines import shortfall_lines
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.turn import FinishedTick
from cogitate.scheduler.inspection.summary import lines_of_shortfalls
from cogitate.scheduler.journal.shortfalls import Shortfalls, breaker_cause, note_shortfall
from cogitate.workers.gate.verdict import WHAT_TO_CHECK
from cogitate.workers.llm.requests.address import servers_of

#: Any other failure may be one slow call or one forbidden prompt: what is set aside for it reports it.
AT_ONCE = frozenset({"connection", *WHAT_TO_CHECK}) - {"forbidden"}

log = structlog.get_logger()


class EndpointWatch:
    """Watches the ended jobs of a run for endpoints that do not answer.

    Args:
        endpoints: model -> its endpoint.
        said: pairs of endpoint and cause that were warned of already; new warnings are added.
    """

    def __init__(self, run: str, endpoints: Mapping[str, str], said: set[tuple[str, str]]) -> None:
        self._run = run
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
                then = "no room today for such a reservation; smaller calls may still pass until 00:00 UTC"
                self._say("real_day.spent", "", why, tick, then)
            elif opened_by or why in AT_ONCE or why == "breaker_open":
                endpoint = self._endpoints.get(note.model, "")
                then = "jobs go to their heuristic until it answers"
                self._say("endpoint.unreachable", endpoint, why, tick, WHAT_TO_CHECK.get(why, then))

    def tell_shortfalls(self, servers: Mapping[str, str]) -> None:
        """Warn of each endpoint that left jobs without an answer, with the ticks and the number of jobs by kind.

        Args:
            servers: the address of each endpoint.
        """
        for line in shortfall_lines(lines_of_shortfalls(self._shortfalls, self._endpoints), servers):
            log.warning("models.unanswered", run=self._run, tick=self._tick, said=line, since=self._since)

    def _say(self, event: str, endpoint: str, why: str, tick: int, then: str) -> None:
        if (endpoint, why) in self._said:
            return
        self._said.add((endpoint, why))
        log.warning(event, run=self._run, **({"endpoint": endpoint} if endpoint else {}), why=why, tick=tick, then=then)


def watch_endpoints(
    settings: Settings, run: str, said: set[tuple[str, str]], log_warnings: bool, resources: ExitStack
) -> EndpointWatch:
    """Return a watch on the endpoints of the settings, which logs shortfalls at the end if `log_warnings`."""
    watch = EndpointWatch(run, {model.name: model.endpoint for model in settings.asked_models()}, said)
    resources.callback(lambda: watch.tell_shortfalls(servers_of(settings)) if log_warnings else None)
    return watch
