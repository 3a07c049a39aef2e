"""Measure the share of jobs that a model answers at an endpoint in trouble, of those that it could answer.

A town at full speed, one worker process with 32 jobs in flight, and a stand-in that takes 0.2 s an answer and refuses
calls by a rule. The host waits up to a minute for a due job, so a model could answer every job except those whose
prompt the rule refuses. The settings say nothing of the trouble.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.completions import FakeResponse, complete, error
from cogitate.ops.fake_llm.server import FakeEndpoint, Rule
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import EndNote

LATENCY = 0.2  # seconds of an answer
AGENTS, TICKS, FIRST_MINUTE = 24, 720, 360
EVERY = 60  # ticks between two plans of an agent
FORBIDDEN = error(403, "forbidden", "That is not possible here.")
LIMITED = error(429, "limited", "Not now.")


def nothing(request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
    """Refuse no request."""
    return None


def flagged(request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
    """Refuse every twelfth prompt, whatever its model."""
    return None if zlib.crc32(repr(request["messages"]).encode()) % 12 else FORBIDDEN


def strong_refused(request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
    """Refuse the strong model."""
    return FORBIDDEN if request["model"] == "strong" else None


class Limited:
    """Accepts ten requests a second, one of them ahead of its time, without a `Retry-After`."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        """Refuse a request that comes too early."""
        now = time.monotonic()
        if now < self._next - 0.1:
            return LIMITED
        self._next = max(now, self._next) + 0.1
        return None


class Flapping:
    """Is up for three seconds and down for three, from the first request on."""

    def __init__(self) -> None:
        self._began = 0.0

    def __call__(self, request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        """Refuse a request in every other three seconds."""
        now = time.monotonic()
        self._began = self._began or now
        return error(503, "unavailable", "Down.") if (now - self._began) // 3 % 2 else None


def two_at_once(request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
    """Refuse a third call in flight."""
    return LIMITED if in_flight > 2 else None


class Quota:
    """Is used up after a number of answers, and returns after some seconds."""

    def __init__(self, answers: int = 60, seconds: float = 10.0) -> None:
        self._left = answers
        self._seconds = seconds
        self._returns = 0.0

    def __call__(self, request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        """Refuse requests while the quota is used up."""
        self._left -= 1
        if self._left >= 0:
            return None
        self._returns = self._returns or time.monotonic() + self._seconds
        return error(429, "insufficient_quota", "No.") if time.monotonic() < self._returns else None


class Reasoning:
    """Thinks at length before each answer, within the cap of the answer."""

    def __init__(self, tokens: int = 2_000) -> None:
        self._tokens = tokens
        self.cut = 0  # answers that ended at their cap

    def __call__(self, request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        """Answer after the reasoning, or stop in the middle of it."""
        cap = request.get("max_completion_tokens") or request.get("max_tokens") or self._tokens
        body = json.loads(complete({**request, "max_tokens": None, "max_completion_tokens": None}, 0, None).body)
        usage, choice = body["usage"], body["choices"][0]
        body["id"] += f"-{cap}"  # of a second attempt, which asks the same with more room
        written = usage["completion_tokens"] + self._tokens
        if written > cap:
            self.cut += 1
            written, choice["finish_reason"], choice["message"]["content"] = cap, "length", ""
        usage["completion_tokens"], usage["total_tokens"] = written, usage["prompt_tokens"] + written
        usage["completion_tokens_details"] = {"reasoning_tokens": min(self._tokens, written)}
        return FakeResponse(status=200, body=json.dumps(body).encode())


class Scenario(NamedTuple):
    """A trouble of an endpoint."""

    label: str
    rule: Callable[[], Rule]  # makes the rule of one run
    changed: Mapping[str, Any] = {}  # settings


SCENARIOS = (
    Scenario("none", lambda: nothing),
    Scenario("every twelfth prompt flagged", lambda: flagged),
    Scenario("strong model refused", lambda: strong_refused, {"tiers": {"routine": "default", "strong": "strong"}}),
    Scenario("ten a second, 429 without a hint", Limited),
    Scenario("three seconds up, three down", Flapping),
    Scenario("two calls at once", lambda: two_at_once),
    Scenario("a quota that returns after ten seconds", Quota),
    Scenario("2,000 tokens of reasoning, no headroom set", Reasoning),
)


def table(only: Annotated[str, "part of the labels of the scenarios to run"] = "") -> Table:
    """Return the jobs of each scenario whose label contains `only`.

    Raises:
        RuntimeError: if the auditor finds something.
    """
    rows = tuple(_row(one) for one in SCENARIOS if only in one.label)
    columns = ("jobs", "possible", "by a model", "share", "of the later half", "failed calls", "s")
    return Table("Jobs that a model answers at an endpoint in trouble", columns, rows, decimals=2)


def _row(scenario: Scenario) -> Row:
    rule = scenario.rule()
    with FakeEndpoint(latency=LATENCY, rule=rule) as endpoint, TemporaryDirectory() as folder:
        began = time.monotonic()
        ends = run(Path(folder), endpoint.url, **scenario.changed)
        took = time.monotonic() - began
        refused = sum(count for status, count in endpoint.stats().by_status.items() if status != "200")
    failed = rule.cut if isinstance(rule, Reasoning) else refused
    possible = [end for end in ends if not (rule is flagged and end.failure == "forbidden")]
    answered = [end.source != "heuristic" for end in possible]
    later = answered[len(answered) // 2 :]
    cells = (len(ends), len(possible), sum(answered), fmean(answered), fmean(later), failed, took)
    return Row(scenario.label, cells)


def run(folder: Path, url: str, *, agents: int = AGENTS, ticks: int = TICKS, **changed: Any) -> list[EndNote]:
    """Run the town with changed settings; return the end of each job that was to ask a model, in their order.

    Raises:
        RuntimeError: if the auditor finds something.
    """
    free = {"input_price": 0, "output_price": 0}
    usual: dict[str, Any] = {
        "data_dir": folder,
        "llm": "openai",
        "limits": {},
        "limit_tokens": 10**9,
        "workers": 1,
        "concurrency": 32,
        "endpoints": {"default": Endpoint(base_url=url, api_key="any")},
        "models": {
            "default": ModelSettings(model="routine", **free),
            "strong": ModelSettings(model="strong", **free),
        },
        "act_interval": 60,
    }
    settings = Settings.tuned(**usual | changed)
    owners = {f"agent:{number}": Profile(name=f"Ada{number} Smith") for number in range(agents)}
    with TickLoop(run="town", owners=owners, settings=settings, ticks=ticks, start_minute=FIRST_MINUTE) as loop:
        for tick in loop:
            if tick.number % EVERY == 1:
                for owner in owners:
                    seen = f"The bell of {owners[owner].name} rang {tick.number} times."
                    loop.observe(owner, Observation(text=seen, minute=tick.minute))
                    loop.request("plan", owner)
        lines = [*read_journal(loop.ledger.store, 1, loop.tick)]
        if wrong := audit(loop.ledger.store.client, "town"):
            raise RuntimeError(f"the auditor finds: {wrong}")
    return [note for line in lines for note in line.notes.ended if note.model or note.failure or note.empty]
