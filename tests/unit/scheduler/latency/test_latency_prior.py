"""What a host goes by before its run has seen a model's answer."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.latency.due_ticks import ASSUMED, prior_of
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.answer_times import Timed
from cogitate.tasks.job import JobKey

MODEL = "default"


def settings_of(**changed: Any) -> Settings:
    return Settings.tuned(**({"llm": "openai", "limit_tokens": 1_000, "tick_rate": 20.0} | changed))


@pytest.mark.parametrize("rate", [1.0, 20.0])
def test_a_known_endpoint_is_expected_to_take_as_long_as_before(rate: float) -> None:
    prior = prior_of(settings_of(tick_rate=rate, workers=2, concurrency=16), {"default": 0.8})
    assert (prior.usual, prior.slots, prior.assumed) == ({MODEL: 0.8 * rate}, 32, [])
    assert prior.queue == {MODEL: 0.8 * rate / 32}


@pytest.mark.parametrize("rate", [1.0, 20.0])
def test_the_guess_for_an_uncalled_model_is_kept_and_marked(rate: float) -> None:
    known = Latencies()
    known.prior = prior_of(settings_of(tick_rate=rate), {"another": 0.8})
    assert known.prior.usual == {MODEL: ASSUMED * rate}
    assert known.is_assumed(MODEL)
    key = JobKey(5, "act", "agent:ann", 0, 0)
    known.take([Timed(key, MODEL, 0, 3)], 8, {key: None})
    assert not known.is_assumed(MODEL), "one answer says more"


def test_a_rate_limit_makes_a_queue() -> None:
    limited = {"default": {"requests_per_minute": 30}}
    assert prior_of(settings_of(endpoints=limited), {"default": 0.8}).queue == {MODEL: 40.0}


def test_an_unpaced_run_has_no_prior() -> None:
    prior = prior_of(settings_of(tick_rate=None), {"default": 0.8})
    assert (prior.usual, prior.queue, prior.assumed) == ({}, {}, [])


def test_a_host_that_chooses_its_own_pace_guesses_by_that() -> None:
    assert prior_of(settings_of(tick_rate=20.0), {"default": 0.8}, 5.0).usual == {MODEL: 4.0}
    assert prior_of(settings_of(tick_rate=None), {"default": 0.8}, 5.0).tick_rate == 5.0


@pytest.mark.parametrize(("concurrency", "slots"), [(None, 32), (4, 4), (32, 32), (99, 32)])
def test_an_endpoints_own_limit_of_calls_in_flight_makes_the_queue_longer(concurrency: int | None, slots: int) -> None:
    settings = settings_of(endpoints={"default": {"concurrency": concurrency}}, workers=2, concurrency=16)
    prior = prior_of(settings, {"default": 0.8})
    assert (prior.queue, prior.slots) == ({MODEL: 16.0 / slots}, 32)


def test_the_slower_of_two_limits_makes_the_queue() -> None:
    for per_minute, ticks in ((30, 40.0), (6_000, 4.0)):
        limited = {"default": {"requests_per_minute": per_minute, "concurrency": 4}}
        assert prior_of(settings_of(endpoints=limited), {"default": 0.8}).queue == {MODEL: ticks}


def test_the_prior_assumes_at_least_one_worker() -> None:
    assert prior_of(settings_of(workers=0, concurrency=16), {}).slots == 16
    assert prior_of(settings_of(workers=3, concurrency=16, tick_rate=None), {}).slots == 48
