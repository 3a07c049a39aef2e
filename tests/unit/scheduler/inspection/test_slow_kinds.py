"""Kinds that are too slow for their model: the figures that decided it, as an operator reads them."""

from __future__ import annotations

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.ops.formatting.run import degraded_lines
from cogitate.ops.formatting.vitals import format_slow_kind
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import PinnedSettings, Settings
from cogitate.scheduler.inspection.overview import run_overview
from cogitate.scheduler.inspection.summary import SlowKind, slow_kinds, summarise_run
from cogitate.scheduler.latency.latencies import Known, Latencies, LatencyPrior, Sample
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.run_lines_case import ANN, decided, lines
from tests.unit.scheduler.run_lines_case import store_of as run_store

MODEL = "default"


def settings_of(**changed: object) -> Settings:
    return PinnedSettings.tuned(**({"llm": "openai", "limit_tokens": 1_000} | changed))  # type: ignore[arg-type]


def store_of(*ticks: int, kind: str = "act", model: str = MODEL, rate: float | None = 100.0) -> RunStore:
    """A run whose answers of one kind took so many ticks."""
    client: FakeRedis = FakeRedis()
    known = Known(samples=[Sample(one, 0, 1_000 + at) for at, one in enumerate(ticks)])
    client.hset("run:latencies", f"{kind}/{model}", msgspec.json.encode(known))
    client.hset("run:state", "latency_prior", msgspec.json.encode(LatencyPrior(tick_rate=rate)))
    return RunStore(client, "run:")


def said(store: RunStore, **settings: object) -> list[str]:
    return [format_slow_kind(one) for one in slow_kinds(store, settings_of(**settings), {"act": 4, "plan": 0})]


def test_it_shows_the_answers_duration_and_the_jobs_time() -> None:
    assert said(store_of(*range(111, 131))) == [
        "act: nearly all answers take up to 128 ticks (1.28 s), queue included; 60 (0.6 s) are allowed"
    ]
    assert said(store_of(130), act_interval=50) == [
        "act: nearly all answers take up to 130 ticks (1.3 s), queue included; 25 (0.25 s) are allowed"
    ]
    (line,) = said(store_of(130, rate=None), seconds_per_tick=300)
    assert "; 12 are allowed" in line, "60 game minutes of five a tick; how long these are is not known"


def test_a_fast_kind_was_refused_for_another_reason() -> None:
    assert "; these jobs queued behind others" in said(store_of(60))[0]
    assert "others" not in said(store_of(61))[0]


def test_the_shown_figure_decides() -> None:
    for took in (range(40, 44), range(40, 46), range(1, 65)):
        known = Latencies()
        known.load(store_of(*took), ())
        within = known.nearly_all_within("act", MODEL)
        assert within is not None
        assert [known.is_too_slow("act", MODEL, 0, most) for most in (within - 1, within)] == [True, False]
    assert Latencies().nearly_all_within("act", MODEL) is None


@pytest.mark.parametrize(
    ("store", "settings", "too_slow"),
    [
        (store_of(130), {}, {"act": 0}),
        (store_of(130), {}, {"nobody's": 3}),
        (store_of(130), {"latency": {"act": 9}}, {"act": 3}),
    ],
)
def test_a_kind_without_the_figures_is_left_out(
    store: RunStore, settings: dict[str, object], too_slow: dict[str, int]
) -> None:
    assert slow_kinds(store, settings_of(**settings), too_slow) == []


def test_a_model_without_an_answer_is_not_said_to_be_slow() -> None:
    store = store_of(130, model="another")
    assert said(store) == ["act: no answer of default yet"]
    prior = LatencyPrior(usual={MODEL: 119.5}, tick_rate=100.0)
    store.client.hset("run:state", "latency_prior", msgspec.json.encode(prior))
    assert said(store) == [
        "act: no answer of default yet; 120 ticks (1.2 s) are assumed, 60 (0.6 s) are allowed",
    ]


def test_the_kind_with_most_jobs_comes_first_and_the_routine_model_decides() -> None:
    store = store_of(130, model="small")
    tiers: dict[str, object] = {
        "models": {"small": {"model": "m"}, "big": {"model": "n"}},
        "tiers": {"routine": "small", "strong": "big"},
    }
    found = slow_kinds(store, settings_of(**tiers), {"act": 3, "plan": 5})
    assert found == [
        SlowKind(kind="plan", jobs=5, model="small", ticks=130, most=480, tick_rate=100.0),
        SlowKind(kind="act", jobs=3, model="small", ticks=130, most=60, tick_rate=100.0),
    ]


def test_summary_and_overview_say_it_of_a_run() -> None:
    refused = decided(JobKey(1, "act", ANN, 0, 0), "dropped", "too_slow")
    store = run_store(
        lines(ticks=[({"decided": (refused,)}, {})]),
        settings=keep_settings(settings_of()),
        digest="d",
        chain="c",
        status="stopped",
    )
    known = Known(samples=[Sample(130, 0, 1)])
    store.client.hset(store.key("latencies"), f"act/{MODEL}", msgspec.json.encode(known))
    found = SlowKind(kind="act", jobs=1, model=MODEL, ticks=130, most=60, tick_rate=None)
    summary = summarise_run(store.client, "town")
    assert (summary.slow_kinds, run_overview(store.client, "town").slow_kinds) == ([found], [found])
    assert f"    {format_slow_kind(found)}" in degraded_lines(summary)
