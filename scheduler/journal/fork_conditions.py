"""The conditions of a fork: its settings and templates by tick, from those of its source and its own changes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.errors import InputError, quoted
from cogitate.prompts.render import check_template
from cogitate.scheduler.budget.settings_checks import (
    check_cadences,
    check_limits,
    check_models,
    check_prices,
    check_spending,
)
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.config.facts import changed_settings, check_changeable, keep_settings, kept_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tables import TABLES
from cogitate.scheduler.journal.changes import Change, Conditions, Origin, SetSetting, SetTemplate, WorldChange
from cogitate.tasks.registry import kinds

LIMITS = ("limits", "limit_tokens", "limit_usd")  # requests change the limits of a run that has begun


def with_changes(
    origin: Origin, before: Origin | None, changes: tuple[Change, ...], kept: bytes, settings: Settings
) -> tuple[Origin, bytes]:
    """Return the origin of a fork with its changes and those of its source, and the settings with which it begins.

    Args:
        before: the origin of the source, where that is a fork itself.
        kept: the settings of the source, as it keeps them now.
        settings: those of this machine.

    Raises:
        InputError: when a change concerns a tick that is repeated, or a template is broken.
        ConfigurationError: when a setting cannot be changed, or cannot have its value.
    """
    for change in changes:
        if isinstance(change, WorldChange) and change.tick <= origin.tick:
            raise InputError(
                f"a fork at tick {origin.tick} cannot change tick {change.tick}, which it repeats: fork at an earlier "
                "tick, or change a later one"
            )
    conditions = before.conditions if before is not None else ()
    begun = msgspec.json.encode(conditions[0].settings) if conditions else kept
    given = [change for change in changes if isinstance(change, SetSetting)]
    templates = {change.name: change.text for change in changes if isinstance(change, SetTemplate)}
    for name, text in templates.items():
        check_template(name, text)
    if given or templates:
        conditions, limits = _changed(origin.tick, conditions, begun, given, templates, settings)
        changes = (*limits, *changes)
    inherited = tuple(before.world_changes) if before is not None else ()
    return msgspec.structs.replace(origin, changes=changes, inherited=inherited, conditions=conditions), begun


def _changed(
    tick: int,
    conditions: tuple[Conditions, ...],
    begun: bytes,
    given: Sequence[SetSetting],
    templates: dict[str, str],
    settings: Settings,
) -> tuple[tuple[Conditions, ...], list[SetLimit]]:
    """Return conditions that change after a tick, in those after it too, and the requests that change limits."""
    first = Conditions(after=0, settings=typed_json.decode(begun))
    past = [one for one in conditions if one.after < tick] or [first]
    now = next((one for one in conditions if one.after == tick), None)
    limits: list[SetLimit] = []
    changed: list[Conditions] = []
    later = [one for one in conditions if one.after > tick]
    for one in (now or Conditions(after=tick, settings=past[-1].settings), *later):
        kept = msgspec.json.encode(one.settings)
        after = changed_settings(kept, _values(given, one.settings), settings)
        check_spending(after)
        check_prices(after)
        for check in (check_limits, check_cadences, check_models):
            check(after, kinds())
        if not changed:
            limits = [*_requests(kept_settings(kept, settings), after)]
        settled = typed_json.decode(keep_settings(after))
        settled |= {name: one.settings[name] for name in LIMITS if name in one.settings}
        texts = one.templates | templates if not changed else one.templates
        changed.append(Conditions(after=one.after, settings=settled, templates=texts))
    return (*past, *changed), limits


def _values(given: Sequence[SetSetting], kept: Mapping[str, Any]) -> dict[str, object]:
    """Return settings by name, from changes that may name a single key of a table, such as "models.default.model".

    Raises:
        ConfigurationError: when a setting cannot change.
        InputError: when a key is given of something that is not a table.
    """
    found: dict[str, Any] = {}
    for change in given:
        name, *keys = change.name.split(".")
        if name in TABLES and keys:
            name, *keys = keys
        check_changeable(name)
        if not keys:
            found[name] = change.value
            continue
        found[name] = table = copy.deepcopy(found.get(name, kept.get(name)))
        keys = [".".join(keys)] if name == LIMITS[0] else keys
        for key in keys[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else None
        if not isinstance(table, dict):
            raise InputError(f"{name} is not a table: it has no {quoted('.'.join(keys))}")
        table[keys[-1]] = change.value
    return found


def _requests(before: Settings, after: Settings) -> Iterable[SetLimit]:
    """Yield the requests that lead from the limits of one table to those of another."""
    was, now = ({name.text(): value for name, value in one.limit_table()} for one in (before, after))
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            yield SetLimit(name, now.get(name))
