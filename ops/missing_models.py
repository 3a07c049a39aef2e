"""Models of a run that their endpoints do not offer, found before the first tick."""

from __future__ import annotations

from collections import defaultdict

import structlog

from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.workers.llm.requests.address import Unlisted, address_of, offered_models

TIMEOUT = 3.0  # seconds for each endpoint, the most that this delays a run's start

log = structlog.get_logger()


def warn_of_missing_models(settings: Settings) -> None:
    """Warn of each model of a run that is missing from its endpoint's list, if the endpoint has one."""
    endpoints, asked = settings.endpoint_table(), defaultdict[str, list[Model]](list)
    for model in settings.asked_models():
        asked[model.endpoint].append(model)
    for name, models in sorted(asked.items()):
        try:
            address = address_of(endpoints[name])
            offered = offered_models(address, TIMEOUT)
        except (ConfigurationError, Unlisted):  # workers may have the key; if not, their calls report it
            continue
        for model in models:
            if offered and model.model not in offered:
                log.warning(
                    "model.missing",
                    model=model.name,
                    endpoint=name,
                    asked=model.model,
                    server=address.server,
                    offers=sorted(offered)[:5],
                )
