"""Warn about input that is valid but probably a mistake. Each warning is logged once and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from itertools import product

import structlog

from cogitate.memory.entry import Entry
from cogitate.memory.profile import PlaceIndex, Profile
from cogitate.memory.routines import read_routine
from cogitate.memory.routing.scopes import location_owner
from cogitate.scheduler.budget.budget import BudgetView, amounts, figure_of
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.budget.settings_checks import strangers
from cogitate.scheduler.config.facts import KEPT, keep_settings
from cogitate.scheduler.config.limits import PERIODS, UNITS, LimitName
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.settings_faults import misspelt_variables
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.intake.checks import near_owners
from cogitate.scheduler.tick.arguments import Arguments

log = structlog.get_logger()

_MOST_DOUBTS = 1_000  # warnings that one host remembers
_NAMED = 3  # owners that one warning names
_SHARED = ("group:", "location:")  # owners that stand for several agents
_SCOPES = ("agent:", "npc:", "group:", "location:")
_LEAST_PRICE = 1_000  # micro-dollars per million tokens: a tenth of a cent, below every paid model
_LISTED = 5  # names that one log line lists
UNUSED_OWNER = "owners: "  # prefix of an unused argument about an owner


def _meant(owners: list[str]) -> str:
    return f"did you mean {' or '.join(map(repr, owners))}?"


class Doubts:
    """Warns about a host's reports with unknown names, or with tick numbers as game time.

    Args:
        is_here: returns whether an owner is in the run, or joins with the present tick.
    """

    def __init__(self, state: RunState, is_here: Callable[[str], bool]) -> None:
        self._state, self._is_here = state, is_here
        self._logged: set[str] = set()

    def look(self, owner: str, entry: Entry, tick: int, minute: int, *, of_event: bool = False) -> None:
        """Check an observation of a tick.

        Args:
            of_event: whether it is the part of an event that this owner remembers.
        """
        state = self._state
        if owner.startswith(_SHARED) and not of_event:
            then = "observe it for each of them too, or broadcast an event whose subjects they are"
            self._tell("observation.for_one_owner", owner, owner=owner, why="no agent remembers it", then=then)
        if entry.minute == tick != minute:
            self._tell(
                "observation.dated_by_tick",
                "",
                owner=owner,
                minute=entry.minute,
                now=minute,
                then="leave minute out, or give tick.minute",
            )
        if entry.location and not self._is_place(entry.location):
            places = [location.id for location in state.facts.locations]
            self._unknown("observation.unknown_location", entry.location, places)
        for subject in entry.subjects:
            if subject.startswith(_SCOPES) and subject not in state.retired and not self._is_here(subject):
                self._unknown("observation.unknown_subject", subject, list(state.streams))
            elif f"event.unknown_name {subject}" not in self._logged and (called := self._called(subject)):
                self._tell("observation.unknown_subject", subject, what=subject, then=_meant(called))

    def look_at_owners(self, joining: Collection[str]) -> None:
        """Warn, at the end of a tick, about a run that has never had an owner."""
        if not (self._state.profiles or self._state.retired or joining):
            then = "nobody remembers or thinks: give owners={…}, or loop.join(owner, profile)"
            self._tell("run.no_owners", "", then=then)

    def look_at_names(self, names: Iterable[str]) -> None:
        """Check the names in an event, and warn about unknown ones."""
        for name in names:
            if not name.startswith(_SCOPES):  # `look` checks the others with each observation
                called = self._called(name) or near_owners(name, self._state.streams)
                self._tell("event.unknown_name", name, what=name, then=_meant(called) if called else "kept as it is")

    def _called(self, name: str) -> list[str]:
        """Return the owners with this display name; none if it is itself an owner."""
        if self._is_here(name):
            return []
        return sorted(owner for owner, profile in self._state.profiles.items() if profile.name == name)[:_NAMED]

    def look_at_profiles(self, profiles: Mapping[str, Profile]) -> None:
        """Check homes, workplaces, places of habits, and groups; a run without locations accepts every place."""
        places = PlaceIndex(self._state.facts.locations)
        known = [*places.order, *places.kinds]
        for owner, profile in sorted(profiles.items()):
            for field, place in (("home", profile.home), ("work", profile.work)):
                if place and not self._is_place(place):
                    self._unknown(f"profile.unknown_{field}", place, known, owner=owner)
            if profile.group and profile.group not in profiles and not self._is_here(profile.group):
                self._unknown("profile.unknown_group", profile.group, profiles, owner=owner)
            named = {habit.place for habit in read_routine(profile.routine)} - {"", "home", "work"}
            for place in sorted(named) if places.order else ():
                if not places.called(place) and not places.of_kind(place):
                    self._unknown("profile.unknown_place", place, known, owner=owner)

    def _is_place(self, place: str) -> bool:
        places = self._state.facts.locations
        return not places or any(place == known.id for known in places) or self._is_here(location_owner(place))

    def _unknown(self, event: str, name: str, known: Iterable[str], **more: str) -> None:
        near = get_close_matches(name, list(known), 1)
        self._tell(event, name, what=name, **more, then=f"did you mean {near[0]!r}?" if near else "kept as it is")

    def _tell(self, event: str, name: str, **fields: object) -> None:
        doubt = f"{event} {name}"
        if doubt not in self._logged and len(self._logged) < _MOST_DOUBTS:
            self._logged.add(doubt)
            log.warning(event, run=self._state.run, **fields)


def tell_low_prices(run: str, settings: Settings) -> None:
    """Warn about stated prices that are probably in dollars."""
    for price in settings.prices() if settings.llm == "openai" else ():
        given = (("input_price", price.input), ("output_price", price.output))
        low = {name: value for name, value in given if value is not None and 0 < value < _LEAST_PRICE}
        if low and price.origin == "stated":
            name, value = next(iter(low.items()))
            log.warning(
                "price.too_low",
                run=run,
                model=price.model,
                prices=low,
                then=(
                    f"prices are micro-dollars per million tokens: if you mean ${value}, set {name} = "
                    f"{value * 1_000_000:_}"
                ),
            )


def tell_small_limits(run: str, rules: Rules, view: BudgetView) -> None:
    """Warn about each limit that refuses every job of a kind, because a single job reserves more than its room."""
    too_small: dict[LimitName, dict[str, int]] = {}  # limit -> kind -> least reservation of one job
    for kind in rules.kinds:
        options = [offer for offer in rules.offers_of(kind, "routine") if offer.model]
        if not options or kind.name in rules.disabled:
            continue
        for number, unit in enumerate(UNITS):
            reserved = min(amounts(offer.cost)[number] for offer in options)
            for period, scope in product(PERIODS, ("run", f"kind:{kind.name}", "owner:*")):
                room = view.room(period, scope, unit)
                if room is not None and 0 < room < reserved:  # 0 forbids spending on purpose
                    too_small.setdefault(LimitName(period, scope, unit), {})[kind.name] = reserved
    for limit, kinds in too_small.items():
        least, figure = min(kinds, key=lambda name: (kinds[name], name)), figure_of(limit.unit)
        log.warning(
            "limit.too_small",
            run=run,
            limit=limit.text(),
            room=figure(view.room(*limit) or 0),
            kinds=sorted(kinds),
            reserved=f"{figure(kinds[least])} by one {least}",
            then="each of these jobs is refused: raise the limit, or lower the kind's prompt_cap or output_cap",
        )


def unused_settings(kept: bytes | str, given: Settings) -> list[str]:
    """Return the settings given for a resumed run that differ from its original ones."""
    began, now = json.loads(kept), json.loads(keep_settings(given))
    names = sorted(KEPT & given.model_fields_set & began.keys())
    return [f"settings: {name}" for name in names if began[name] != now[name]]


def unused_arguments(state: RunState, given: Arguments, described: Mapping[str, str]) -> list[str]:
    """Return the arguments that a resumed run ignores because they differ from its original ones."""
    profiles = state.profiles
    has_begun = profiles or state.retired  # otherwise the given owners join with the first tick
    ignored = [
        f"{UNUSED_OWNER}{owner} (join it in the loop's body)"
        for owner in sorted(given.owners)
        if has_begun and owner not in profiles and owner not in state.retired
    ]
    ignored += [
        f"{UNUSED_OWNER}profile of {owner}"
        for owner, profile in sorted(given.owners.items())
        if owner in profiles and profiles[owner] != profile
    ]
    if given.locations and given.locations != state.facts.locations:
        ignored.append("locations")
    if given.start_minute and given.start_minute != state.facts.start_minute:
        ignored.append("start_minute")
    if given.describe and given.describe != described:
        ignored.append("describe")
    return ignored


def tell_ignored(state: RunState, ignored: Iterable[str]) -> None:
    """Warn about arguments that a resumed run ignores."""
    if names := list(ignored):
        log.warning("resume.ignored", run=state.run, what=_listed(names), why="a run keeps its original values")
        state.warnings["resume.ignored"] += len(names)


def tell_strangers(state: RunState, settings: Settings, owners: Iterable[str]) -> None:
    """Warn about owners that limits and policies name but the run does not have; they may still join."""
    known = {*owners, *state.profiles, *state.retired}
    if names := strangers(settings, known):
        log.warning(
            "settings.unknown_owner", run=state.run, what=_listed(names), why="the run has no owner of this name yet"
        )
        state.warnings["settings.unknown_owner"] += len(names)


def tell_misspelt_variables(run: str) -> None:
    """Warn about environment variables that look like misspelt settings."""
    for variable, near in misspelt_variables(Settings.model_fields):
        log.warning("settings.unknown_variable", run=run, variable=variable, then=f"did you mean {near}?")


def tell_unasked(run: str, settings: Settings, given: Settings) -> None:
    """Warn about a model or an endpoint that a host sets for a run that asks no model."""
    names = unasked_settings(given)
    if names and settings.llm == "heuristic":
        log.warning(
            "model.unused",
            run=run,
            what=_listed(names),
            why='llm is "heuristic"',
            then='set llm = "openai" (COGITATE_LLM=openai) and limit_tokens or limit_usd',
        )


def unasked_settings(given: Settings) -> list[str]:
    """Return the given settings that have no effect on a run that asks no model."""
    return [name for name in ("base_url", "model", "embeddings") if name in given.model_fields_set]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "; ".join(names[:_LISTED]) + more
