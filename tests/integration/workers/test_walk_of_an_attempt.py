"""The architecture page names the modules of an attempt in the order in which a traced attempt enters them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import pytest

import cogitate
from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.jobs.runner import Outcome, Runner
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
#: An inline run has neither of the first two, and this one has no other job to pack and no batch files.
NOT_TRACED = {
    "workers/jobs/model_lane.py",
    "workers/jobs/kept_results.py",
    "workers/jobs/packs/request.py",
    "workers/jobs/batches/parking.py",
    "workers/jobs/batches/desk.py",
}


def walk() -> list[str]:
    """Return the modules of the page's rows from the claim to the settling, in their order."""
    part = PAGE[PAGE.index("In a worker, when the hint arrives") : PAGE.index("In the host, at the due tick")]
    rows = [row.split(" | ") for row in part.splitlines() if re.match(r"\| \d+ \|", row)]
    files = [file for row in rows for file in re.findall(r"`([\w/]+\.py)`", row[2])]
    return [file for file in files if file not in NOT_TRACED]


def test_the_walk_is_in_the_order_of_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[list[str]] = []
    entered: list[str] = []
    run = Runner.run

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and "/cogitate/" in frame.f_code.co_filename:
            entered.append(frame.f_code.co_filename.rpartition("/cogitate/")[2])

    def traced(runner: Runner, job_id: str) -> Outcome:
        entered.clear()
        sys.setprofile(note)
        try:
            outcome = run(runner, job_id)
        finally:
            sys.setprofile(None)
        if outcome.source == "llm" and "/reflect/" in job_id:
            walks.append([*entered])
        return outcome

    monkeypatch.setattr(Runner, "run", traced)
    with FakeEndpoint() as endpoint:
        settings = Settings(
            data_dir=tmp_path,
            llm="openai",
            base_url=endpoint.url,
            api_key="any",
            limit_tokens=10**6,
            response_cache=True,
            models={"default": ModelSettings(pack="auto", service_tier="auto")},
        )
        owners = {"agent:ann": cogitate.Profile(name="Ann")}
        with TickLoop(run="walk", owners=owners, settings=settings, inline=True) as loop, loop.next_tick():
            for ship in range(10):
                loop.observe(
                    "agent:ann",
                    cogitate.Observation(text=f"{ship} grain ships lay in the harbour.", minute=0, importance=5),
                )
            loop.request("reflect", "agent:ann")
    (calls,) = walks
    later = iter(calls)
    missing = [file for file in walk() if file not in later]
    assert missing == []
