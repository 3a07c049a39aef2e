"""Checks of configured endpoints: whether they answer, know their models and support structured output."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import structlog
from redis import Redis

from cogitate.hosting.finding import Finding, failed, ok, warning
from cogitate.memory import typed_json
from cogitate.ops.formatting.vitals import format_breaker, format_counts
from cogitate.scheduler.config.endpoints import Endpoint, Model
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.engine.token_estimates import HEADROOMS
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals, vitals_at
from cogitate.scheduler.inspection.vitals import run_heads
from cogitate.scheduler.ledger.errors import NewerSchema, OlderSchema, RunMissing, RunUnreadable
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.scheduler.tick.doubts import unasked_settings
from cogitate.workers.llm.requests.address import Address, Unlisted, address_of, offered_models, servers_of
from cogitate.workers.llm.requests.dialect import KnownDialect, known_dialects

TIMEOUT = 10.0  # seconds
MUCH = 0.2  # share of failed calls that causes a warning
SET_LLM = "set COGITATE_LLM=openai and COGITATE_LIMIT_TOKENS or COGITATE_LIMIT_USD"
CHECK_THERE = (
    "check its workers' COGITATE_BASE_URL, COGITATE_MODEL (or COGITATE_ENDPOINTS) and key: run this again with them "
    "and COGITATE_LLM=openai"
)


def examine_endpoints(settings: Settings, client: Redis) -> Iterator[Finding]:
    """Check each endpoint that a run with these settings would call, without calling a model.

    If there is none, report what runs with other settings observed at their endpoints.
    """
    here = {model.endpoint for model in settings.asked_models()}
    elsewhere = {run: asked - here for run, asked in _asked_by_hosted_runs(settings, client).items() if asked - here}
    if settings.llm != "openai":
        if names := unasked_settings(settings):
            found = f"llm is heuristic, so {', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect"
            yield warning("endpoints", found, f"{SET_LLM}; or unset {', '.join(names)}")
        elif not elsewhere:
            yield ok("endpoints", "these settings use none: llm is heuristic")
    for run, names_there in elsewhere.items():
        found = f"asks models at {', '.join(sorted(names_there))}, which these settings do not use"
        yield warning(f"run {run}", found, CHECK_THERE)
    if settings.llm != "openai":
        urgent = {endpoint for asked in elsewhere.values() for endpoint in asked}
        yield from (_of_other_runs(one, one.endpoint in urgent) for one in endpoint_vitals(client))
        yield from (_of_reasoning(*learned) for learned in sorted(learned_headrooms(client).items()))
        return
    known = known_dialects(client)
    vitals = {one.endpoint: one for one in vitals_at(client, servers_of(settings))}
    asked, learned = settings.asked_models(), learned_headrooms(client)
    for name, endpoint in sorted(settings.endpoint_table().items()):
        models = sorted((model for model in asked if model.endpoint == name), key=lambda model: model.name)
        if not models:
            continue
        yield from _examine(name, endpoint, models, known)
        yield from (
            _of_reasoning(one.name, learned[one.name]) for one in models if learned.get(one.name, 0) > one.headroom
        )
        if name in vitals and vitals[name].breaker != "closed":
            yield warning(
                f"endpoint {name} breaker",
                format_breaker(vitals[name]),
                "jobs go to their heuristic until a call succeeds; see `cogitate status`",
            )


def _asked_by_hosted_runs(settings: Settings, client: Redis) -> dict[str, set[str]]:
    """Return the endpoints of each run that has a host and asks a model."""
    asked: dict[str, set[str]] = {}
    for head in run_heads(client):
        with contextlib.suppress(RunMissing, NewerSchema, OlderSchema, RunUnreadable, ConfigurationError, ValueError):
            kept = RunStore.open(client, head.run).field("state", "settings") if head.held else None
            if kept is not None and (models := kept_settings(kept, settings).asked_models()):
                asked[head.run] = {model.endpoint for model in models}
    return asked


def learned_headrooms(client: Redis) -> dict[str, int]:
    """Return, for each model, the most tokens that any run on this server learned to add to an answer for reasoning."""
    most: dict[str, int] = {}
    for run in run_names(client):
        with contextlib.suppress(RunMissing, NewerSchema, OlderSchema, RunUnreadable, ValueError):
            learned = RunStore.open(client, run).field("state", HEADROOMS)
            for model, tokens in typed_json.decode(learned or b"{}", dict[str, int]).items():
                most[model] = max(tokens, most.get(model, 0))
    return most


def _of_reasoning(model: str, tokens: int) -> Finding:
    found = f"reasons at length: a run learned to add {tokens:,} tokens to each answer"
    return warning(f"model {model}", found, "set its headroom to that number, so that the next run begins with it")


def _of_other_runs(one: EndpointVitals, urgent: bool) -> Finding:
    """Return the failures of an endpoint that runs of this server have observed.

    Args:
        urgent: whether a run that has a host asks it now.
    """
    failures = sum(one.failures.values())
    where = f", last at {one.server}" if one.server else ""
    found = f"of all runs{where}: breaker {format_breaker(one)}; {failures:,} of {one.calls:,} calls failed"
    found += f" ({format_counts(one.failures)})" if failures else ""
    if one.breaker == "closed" and not one.set_aside and failures <= MUCH * one.calls:
        return ok(f"endpoint {one.endpoint}", found)
    is_down = urgent and one.breaker != "closed"
    return (failed if is_down else warning)(f"endpoint {one.endpoint}", found, CHECK_THERE)


def _examine(
    name: str, endpoint: Endpoint, models: Sequence[Model], known: Sequence[KnownDialect]
) -> Iterator[Finding]:
    what = f"endpoint {name}"
    try:
        address = address_of(endpoint)
    except ConfigurationError as error:
        yield failed(what, str(error), "correct the settings; `cogitate config` shows them")
        return
    try:
        offered = offered_models(address, TIMEOUT)
    except Unlisted as error:
        if error.status in (401, 403):
            yield failed(what, f"{address.server} refuses the key ({error.status})", "set another key")
        elif error.status is not None:  # some servers list no models
            yield warning(
                what,
                f"{address.server} answers {error.status} to a request for its models",
                "its models cannot be checked before the first call",
            )
        else:
            yield failed(what, f"{address.server}: {error}", "start the server, or correct base_url")
        return
    yield ok(what, f"{address.server} answers with {len(offered)} models")
    for model in models:
        yield from _model(model, offered, address, known)


def _model(
    model: Model, offered: Collection[str], address: Address, known: Sequence[KnownDialect]
) -> Iterator[Finding]:
    what = f"model {model.name}"
    if offered and model.model not in offered:
        few = ", ".join(sorted(offered)[:5])
        yield failed(
            what, f"{address.server} does not offer {model.model!r}", f"name a model that it offers, such as {few}"
        )
        return
    forms = [one.dialect.form for one in known if (one.server, one.model) == (address.server, model.model)]
    if not forms:
        yield ok(what, f"{model.model}; its form of request is learned at the first call")
    elif forms[0] == "json_schema":
        yield ok(what, f"{model.model} takes a JSON schema")
    else:
        yield warning(
            what,
            f"{model.model} takes no JSON schema: requests use {forms[0]}",
            "expect more unusable answers; use a server with structured output",
        )


START_TIMEOUT = 3.0  # seconds; the most by which each endpoint delays a run's start

log = structlog.get_logger()


def warn_of_missing_models(settings: Settings) -> None:
    """Warn of each model of a run that is missing from its endpoint's list, if the endpoint has one."""
    endpoints, models_of = settings.endpoint_table(), defaultdict[str, list[Model]](list)
    for model in settings.asked_models():
        models_of[model.endpoint].append(model)
    for name, models in sorted(models_of.items()):
        try:
            address = address_of(endpoints[name])
            offered = offered_models(address, START_TIMEOUT)
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
