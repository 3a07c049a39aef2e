"""Compute the prior of latencies from the usual duration of calls to the endpoints, before a run begins."""

from __future__ import annotations

from collections.abc import Mapping

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.latency.latencies import LatencyPrior

ASSUMED = 2.0  # seconds of a call to an unknown endpoint, about the latency of hosted models


def prior_of(settings: Settings, usual: Mapping[str, float], tick_rate: float | None = None) -> LatencyPrior:
    """Return the latencies that a run with these settings assumes until it has samples; the run stores them.

    Args:
        usual: endpoint -> usual seconds of a call, for endpoints that were called before; others get `ASSUMED`.
        tick_rate: ticks per second; None: the setting.
    """
    slots = settings.concurrency * max(1, settings.workers)
    rate = settings.tick_rate if tick_rate is None else tick_rate
    if rate is None:
        return LatencyPrior(slots=slots)  # ticks have no real duration
    ticks, queue, assumed = {}, {}, []
    endpoints = settings.endpoint_table()
    for model in settings.asked_models():
        endpoint = endpoints.get(model.endpoint, Endpoint())
        paces = []
        if endpoint.requests_per_minute is not None:
            paces.append(60 * rate / endpoint.requests_per_minute)
        if model.endpoint not in usual:
            assumed.append(model.name)
        ticks[model.name] = usual.get(model.endpoint, ASSUMED) * rate
        paces.append(ticks[model.name] / min(slots, endpoint.concurrency or slots))
        queue[model.name] = max(paces)
    return LatencyPrior(usual=ticks, queue=queue, slots=slots, assumed=assumed, tick_rate=rate)
