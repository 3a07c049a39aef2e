"""Validate the arguments of a tick loop before it starts anything; its `Terms` follow from them and the settings.

Each check returns a valid value, or raises `InputError` or `ConfigurationError` with the argument and its value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

from redis import Redis

from cogitate.memory.errors import InputError, quoted
from cogitate.memory.language.truncation import Content
from cogitate.memory.profile import Profile
from cogitate.memory.routing.routing import EventRule, Routing, Strategy
from cogitate.scheduler.budget.briefs import Brief, no_brief
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.settings import ConfigurationError, Settings, check_run_name
from cogitate.scheduler.config.tiers import TierRule, usual_tier
from cogitate.scheduler.intake.checks import (
    MAX_LABEL,
    MAX_MINUTE,
    check_integer,
    check_locations,
    check_owner,
    check_profile,
    check_text,
)
from cogitate.scheduler.journal.changes import Conditions

MAX_TICKS = 1_000_000_000_000
MAX_DESCRIPTION = 1_000_000  # bytes of JSON
_STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


class Arguments:
    """The validated arguments of a loop."""

    def __init__(
        self,
        *,
        run: object,
        owners: object,
        settings: object,
        locations: object,
        brief: object,
        tier_of: object,
        event_types: object,
        ticks: object,
        start_minute: object,
        describe: object,
        inline: object,
        client: object,
    ) -> None:
        self.run = check_run_name(run)
        self.owners = check_present(owners)
        self.settings = check_settings(settings)
        self.locations = check_locations(locations)
        self.brief: Brief = check_function("brief", brief) or no_brief
        self.tier_of: TierRule = check_function("tier_of", tier_of) or usual_tier
        self.event_types = check_event_types(event_types)
        self.ticks = None if ticks is None else check_integer("ticks", ticks, 0, MAX_TICKS)
        self.start_minute = check_integer("start_minute", start_minute, 0, MAX_MINUTE)
        self.describe = check_description(describe)
        self.inline = check_flag("inline", inline)
        self.client = check_client(client, inline=bool(inline))


def check_settings(settings: object) -> Settings:
    """Return the settings after validating them; for None, read them from the environment."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise ConfigurationError(f"settings are {quoted(settings)}: give a Settings(…)")
    return settings


def check_present(owners: object) -> dict[str, Profile]:
    """Check the owners at the start, and return them."""
    if not isinstance(owners, Mapping):
        raise InputError(f"owners are {quoted(owners)}: give a dict such as {{'agent:ada': Profile(name='Ada')}}")
    return {check_owner(owner): check_profile(owner, profile) for owner, profile in owners.items()}


def check_flag(what: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{what} is {quoted(value)}: give True or False")
    return value


def check_function(what: str, value: object) -> Callable[..., Any] | None:
    if value is not None and not callable(value):
        raise InputError(f"{what} is {quoted(value)}: give a function")
    return value


def check_client(client: object, *, inline: bool) -> Redis | None:
    """Return the Redis client for a run in this process, after validating it."""
    if client is None:
        return None
    if not isinstance(client, Redis):
        raise InputError(f"client is {quoted(client)}: give a redis.Redis or a fakeredis.FakeRedis")
    if not inline:
        raise InputError("client is for inline=True: otherwise name the server in the settings (redis_url)")
    if client.get_connection_kwargs().get("decode_responses"):
        raise InputError("client turns replies into strings: make it with decode_responses=False")
    return client


def check_description(describe: object) -> dict[str, str]:
    """Return a host's description of a new run, after validating it."""
    if describe is None:
        return {}
    if not isinstance(describe, Mapping):
        raise InputError(f"describe is {quoted(describe)}: give a dict of strings")
    description = {
        check_text("describe: one of its names", name, MAX_LABEL): check_text(
            f"describe: {quoted(name)}", value, MAX_DESCRIPTION, blank=True
        )
        for name, value in describe.items()
    }
    if (size := len(json.dumps(description))) > MAX_DESCRIPTION:
        raise InputError(f"describe has {size:,} bytes of JSON, at most {MAX_DESCRIPTION:,} fit")
    return description


def check_event_types(types: object) -> dict[str, Strategy | EventRule]:
    """Return the rules for the host's own types of events, after validating them."""
    if types is None:
        return {}
    if not isinstance(types, Mapping):
        raise InputError(f"event_types are {quoted(types)}: give a dict such as {{'treaty_signed': 'integrate'}}")
    for name, rule in types.items():
        check_text("one of event_types", name, 100)
        what = f"event_types: {quoted(name)}"
        if isinstance(rule, EventRule):
            _check_rule(what, rule)
        elif not isinstance(rule, str) or rule not in _STRATEGIES:
            raise InputError(f"{what} is {quoted(rule)}: give {' or '.join(map(repr, _STRATEGIES))}, or an EventRule")
    return dict(types)


def _check_rule(what: str, rule: EventRule) -> None:
    for field in ("strategy", "with_consensus"):
        value = getattr(rule, field)
        if value not in _STRATEGIES and (field == "strategy" or value is not None):
            raise InputError(f"{what}: {field} is {quoted(value)}: give {' or '.join(map(repr, _STRATEGIES))}")
    contents = get_args(Content)
    if rule.content not in contents:
        raise InputError(f"{what}: content is {quoted(rule.content)}: give one of {', '.join(map(repr, contents))}")
    check_text(f"{what}: verb", rule.verb, MAX_LABEL, blank=True)
    check_integer(f"{what}: importance", rule.importance, 0, 10)


class Terms(NamedTuple):
    """The rules, limits and constants that follow from a run's settings."""

    rules: Rules
    view: BudgetView
    routing: Routing
    facts: Callable[[Facts], Facts]  # returns the run's new constants, given the old ones


TermsOf = Callable[[Conditions], Terms]
