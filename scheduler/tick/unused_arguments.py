"""Warn about arguments of a host that its run does not use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import structlog

from cogitate.scheduler.budget.settings_checks import strangers
from cogitate.scheduler.config.kept_settings import KEPT, keep_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.tick.arguments import Arguments

log = structlog.get_logger()

OWNERS = "owners: "  # how the name of an unused argument for an owner begins
_MOST = 5  # names that one line of a log lists


def unused_settings(kept: bytes | str, given: Settings) -> list[str]:
    """Return the settings that were given for a resumed run, and that differ from those it began with."""
    began, now = json.loads(kept), json.loads(keep_settings(given))
    names = sorted(KEPT & given.model_fields_set & began.keys())
    return [f"settings: {name}" for name in names if began[name] != now[name]]


def unused_arguments(state: RunState, given: Arguments, described: Mapping[str, str]) -> list[str]:
    """Return the arguments that a resumed run does not use, since they differ from those it began with.

    Args:
        described: the description that the run was created with.
    """
    profiles = state.profiles
    has_begun = profiles or state.retired  # else the given owners join with the first tick
    found = [
        f"{OWNERS}{owner} (join it in the loop's body)"
        for owner in sorted(given.owners)
        if has_begun and owner not in profiles and owner not in state.retired
    ]
    found += [
        f"{OWNERS}profile of {owner}"
        for owner, profile in sorted(given.owners.items())
        if owner in profiles and profiles[owner] != profile
    ]
    if given.locations and given.locations != state.facts.locations:
        found.append("locations")
    if given.start_minute and given.start_minute != state.facts.start_minute:
        found.append("start_minute")
    if given.describe and given.describe != described:
        found.append("describe")
    return found


def tell_ignored(state: RunState, ignored: Iterable[str]) -> None:
    """Warn of arguments that a resumed run does not use."""
    if names := list(ignored):
        log.warning("resume.ignored", run=state.run, what=_listed(names), why="a run keeps what it began with")
        state.warnings["resume.ignored"] += len(names)


def tell_strangers(state: RunState, settings: Settings, owners: Iterable[str]) -> None:
    """Warn of owners that limits and policies name and the run does not have; they may join yet."""
    known = {*owners, *state.profiles, *state.retired}
    if names := strangers(settings, known):
        log.warning(
            "settings.unknown_owner", run=state.run, what=_listed(names), why="nobody in the run is called so yet"
        )
        state.warnings["settings.unknown_owner"] += len(names)


def tell_unasked(run: str, settings: Settings, given: Settings) -> None:
    """Warn of a model or an endpoint that a host sets for a run in which no model thinks."""
    names: list[str] = [name for name in ("base_url", "model") if name in given.model_fields_set]
    if given.embeddings is not None:
        names = [name for name in names if name != "base_url"]  # which embeddings may use
    if names and settings.llm == "heuristic":
        log.warning(
            "model.unused",
            run=run,
            what=_listed(names),
            why='llm is "heuristic"',
            then='set llm = "openai" and limit_tokens or limit_usd',
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return "; ".join(names[:_MOST]) + more
