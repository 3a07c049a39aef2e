"""What the end of a run says of jobs that came to less than was asked, and of what late answers mended."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.ops.formatting.run import degraded_lines
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.summary import ShortfallLine, summarise_run
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.run_lines_case import ANN, decided, lines, store_of

SAYS = "Results of heuristics that a late answer replaced: "


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({}, []),
        ({"act": {"unused": 3}}, []),
        ({"act": {"applied": 1, "unused": 3}, "plan": {"applied": 1}}, [f"{SAYS}2."]),
    ],
)
def test_late_answers_that_replaced_something_are_counted_over_all_kinds(
    ends: dict[str, dict[str, int]], said: list[str]
) -> None:
    refused = decided(JobKey(1, "act", ANN, 0, 0), "dropped", "denied")
    store = store_of(
        lines(ticks=[({"decided": (refused,)}, {})]), settings=keep_settings(PinnedSettings()), digest="d", chain="c"
    )
    summary = msgspec.structs.replace(summarise_run(store.client, "town"), figures={"late_answers": ends})
    assert [line for line in degraded_lines(summary) if "late answer" in line] == said


def test_a_job_without_a_tick_left_does_not_blame_the_model() -> None:
    refusals = enumerate(("too_slow", "run_ends"))
    slow, over = (decided(JobKey(1, "act", ANN, number, 0), "dropped", why) for number, why in refusals)
    store = store_of(
        lines(ticks=[({"decided": (slow, over)}, {})]), settings=keep_settings(PinnedSettings()), digest="d", chain="c"
    )
    said = [line for line in degraded_lines(summarise_run(store.client, "town")) if "too_slow" in line]
    assert [("last tick" in line, "due tick" in line) for line in said] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    ("failure", "because", "said"),
    [
        ("", "", "no answer of default yet, and no call has ended; cogitate status names missing workers"),
        ("connection", "", "no answer of default yet; the last calls failed (connection), see below"),
        ("breaker_open", "connection", "no answer of default yet; the last calls failed (connection), see below"),
        ("unclaimed", "", "no answer of default yet; no worker took the last jobs, see below"),
    ],
)
def test_a_model_that_has_not_answered_is_not_called_slow(failure: str, because: str, said: str) -> None:
    key = JobKey(1, "act", ANN, 0, 0)
    refused = decided(key, "dropped", "too_slow")
    settings = PinnedSettings.tuned(llm="openai", limit_tokens=1_000)
    store = store_of(
        lines(ticks=[({"decided": (refused,)}, {})]), settings=keep_settings(settings), digest="d", chain="c"
    )
    summary = summarise_run(store.client, "town")
    if failure:
        line = ShortfallLine(
            endpoint="default",
            model="default",
            failure=failure,
            because=because,
            first=1,
            first_minute=1,
            last=1,
            last_minute=1,
            kinds={"plan": 1},
        )
        summary = msgspec.structs.replace(summary, shortfalls=[line])
    (reason,) = (line for line in degraded_lines(summary) if "too_slow" in line)
    assert reason.endswith(f"was not called: {said}")
