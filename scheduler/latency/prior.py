"""What a host knows of its models' latencies before a run begins: how long calls to their endpoints usually take."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.config.endpoints import Endpoint
from scheduler.config.settings import Settings
from scheduler.latency.latencies import LatencyPrior

ASSUMED = 2.0  # seconds that a call to an endpoint takes of which nothing is known: about what hosted models take


def prior_of(settings: Settings, usual: Mapping[str, float], tick_rate: float | None = None) -> LatencyPrior:
    """Return what a run with these settings goes by until it has seen answers; it is kept with the run.

    Args:
        usual: endpoint -> seconds that a call to it usually takes, of those that were called before; others are taken
            to need `ASSUMED`.
        tick_rate: ticks a second; None: as the settings say.
    """
    slots = settings.concurrency * max(1, settings.workers)
    rate = settings.tick_rate if tick_rate is None else tick_rate
    if rate is None:
        return LatencyPrior(slots=slots)  # no tick has a length
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
