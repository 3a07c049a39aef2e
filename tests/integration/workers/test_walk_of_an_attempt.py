"""A traced attempt: it enters the modules that the architecture page lists, and few functions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from fakeredis import FakeRedis

import cogitate
from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.jobs.runner import Outcome, Runner
from tests.repository import ROOT

PACKAGE = f"{Path(cogitate.__file__).parent}/"
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
#: Modules that an inline run with one job does not enter: lanes, kept results, packs and batch files.
NOT_TRACED = {
    "workers/jobs/model_lane.py",
    "workers/jobs/kept_results.py",
    "workers/jobs/packs/request.py",
    "workers/jobs/batches/parking.py",
    "workers/jobs/batches/desk.py",
}
BOUNDS = re.compile(
    r"enters at most (\d+) functions in (\d+) files,.*?at most (\d+) functions in (\d+) files are in `workers`",
    re.DOTALL,
)


def walk() -> list[str]:
    """Return the modules in the page's rows from the claim to the settlement, in order."""
    part = PAGE[PAGE.index("In a worker, when the hint arrives") : PAGE.index("In the host, at the due tick")]
    rows = [row.split(" | ") for row in part.splitlines() if re.match(r"\| \d+ \|", row)]
    files = [file for row in rows for file in re.findall(r"`([\w/]+\.py)`", row[2])]
    return [file for file in files if file not in NOT_TRACED]


def module_of(code: CodeType) -> str:
    """Return the file of a function of the product, or "" for other code and the server in memory."""
    module = code.co_filename.removeprefix(PACKAGE)
    return "" if module in (code.co_filename, "hosting/redis_in_memory.py") else module


@contextmanager
def traced_attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[CodeType]]]:
    """Collect the functions that each attempt at a reflection by a model enters, in order."""
    attempts: list[list[CodeType]] = []
    entered: list[CodeType] = []
    run = Runner.run

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and module_of(frame.f_code):
            entered.append(frame.f_code)

    def traced(runner: Runner, job_id: str) -> Outcome:
        entered.clear()
        sys.setprofile(note)
        try:
            outcome = run(runner, job_id)
        finally:
            sys.setprofile(None)
        if outcome.source == "llm" and "/reflect/" in job_id:
            attempts.append([*entered])
        return outcome

    monkeypatch.setattr(Runner, "run", traced)
    yield attempts


def reflect(folder: Path, ticks: int, **options: Any) -> None:
    """Run an agent that reflects at each tick, inline."""
    with FakeEndpoint() as endpoint:
        settings = Settings(
            data_dir=folder, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=10**6, **options
        )
        owners = {"agent:ann": cogitate.Profile(name="Ann")}
        client = FakeRedis() if "real_day_tokens" in options else None  # this limit belongs to a server, not to a run
        with TickLoop(run="walk", owners=owners, settings=settings, inline=True, client=client) as loop:
            for tick in range(ticks):
                with loop.next_tick():
                    for ship in range(10):
                        seen = f"{ship} grain ships lay in the harbour at {tick}."
                        loop.observe("agent:ann", cogitate.Observation(text=seen, minute=0, importance=5))
                    loop.request("reflect", "agent:ann")


def test_the_walk_is_in_the_order_of_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = {"default": ModelSettings(pack="auto", service_tier="auto")}
    with traced_attempts(monkeypatch) as attempts:
        reflect(tmp_path, 1, models=models, response_cache=True, record=True, real_day_tokens=10**6)
    (entered,) = attempts
    later = map(module_of, entered)
    missing = [file for file in walk() if file not in later]
    assert missing == []


def test_an_attempt_enters_no_more_functions_than_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced_attempts(monkeypatch) as attempts:
        reflect(tmp_path, 2)
    entered = attempts[-1]  # the first attempt of a process also loads shared resources
    # A comprehension is part of its function.
    functions = {code for code in entered if not code.co_name.startswith("<")}
    own = {code for code in functions if module_of(code).startswith(("workers/", "scheduler/"))}
    counted = [number for codes in (functions, own) for number in (len(codes), len({*map(module_of, codes)}))]
    bounds = BOUNDS.search(PAGE)
    assert bounds is not None
    assert all(count <= int(bound) for count, bound in zip(counted, bounds.groups(), strict=True))
