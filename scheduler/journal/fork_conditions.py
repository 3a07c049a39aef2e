"""Derive the conditions of a fork, its settings and templates by tick, from those of its source and its own changes."""

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

LIMITS = ("limits", "limit_tokens", "limit_usd")  # settings whose changes become requests, because the run has begun


def with_changes(
    origin: Origin, before: Origin | None, changes: tuple[Change, ...], kept: bytes, settings: Settings
) -> tuple[Origin, bytes]:
    """Return the origin of a fork with its changes and those of its source, and the settings with which it begins.

    Args:
        before: the origin of the source if the source is a fork itself.
        kept: the current settings of the source, in their stored form.
        settings: the settings of this machine.

    Raises:
        InputError: if a change affects a repeated tick, or a template is broken.
        ConfigurationError: if a setting cannot change, or its value is invalid.
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
    """Change the conditions that begin after a tick, and later ones; return all of them, and requests for limits."""
    first = Conditions(after=0, settings=typed_json.decode(begun))
    past = [old for old in conditions if old.after < tick] or [first]
    now = next((old for old in conditions if old.after == tick), None)
    limits: list[SetLimit] = []
    changed: list[Conditions] = []
    later = [old for old in conditions if old.after > tick]
    for old in (now or Conditions(after=tick, settings=past[-1].settings), *later):
        kept = msgspec.json.encode(old.settings)
        after = changed_settings(kept, _values(given, old.settings), settings)
        check_spending(after)
        check_prices(after)
        for check in (check_limits, check_cadences, check_models):
            check(after, kinds())
        if not changed:
            limits = [*_requests(kept_settings(kept, settings), after)]
        new = typed_json.decode(keep_settings(after))
        new |= {name: old.settings[name] for name in LIMITS if name in old.settings}
        texts = old.templates | templates if not changed else old.templates
        changed.append(Conditions(after=old.after, settings=new, templates=texts))
    return (*past, *changed), limits


def _values(given: Sequence[SetSetting], kept: Mapping[str, Any]) -> dict[str, object]:
    """Return settings by name, from changes that may name a single key of a table, such as "models.default.model".

    Raises:
        ConfigurationError: if a setting cannot change.
        InputError: if a change names a key of a setting that is not a table.
    """
    values: dict[str, Any] = {}
    for change in given:
        name, *keys = change.name.split(".")
        if name in TABLES and keys:
            name, *keys = keys
        check_changeable(name)
        if not keys:
            values[name] = change.value
            continue
        values[name] = table = copy.deepcopy(values.get(name, kept.get(name)))
        keys = [".".join(keys)] if name == LIMITS[0] else keys
        for key in keys[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else None
        if not isinstance(table, dict):
            raise InputError(f"{name} is not a table: it has no {quoted('.'.join(keys))}")
        table[keys[-1]] = change.value
    return values


def _requests(before: Settings, after: Settings) -> Iterable[SetLimit]:
    """Yield the requests that turn the limits of one table into those of another."""
    was, now = ({name.text(): value for name, value in settings.limit_table()} for settings in (before, after))
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            yield SetLimit(name, now.get(name))
