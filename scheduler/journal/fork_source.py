"""Read the source of a fork, from a run on the same server or a capsule, and derive the conditions of the new run."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from redis import Redis

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
from cogitate.scheduler.config.facts import changed_settings, check_changeable, check_kept, keep_settings, kept_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tables import TABLES
from cogitate.scheduler.journal.capsule.container import CapsuleError
from cogitate.scheduler.journal.capsule.verifying import Capsule, open_capsule
from cogitate.scheduler.journal.changes import Change, Conditions, Fork, Origin, SetSetting, SetTemplate, WorldChange
from cogitate.scheduler.journal.exported import ExportedEntry, entries_of, steps_of
from cogitate.scheduler.journal.lines import next_chain, pack_line
from cogitate.scheduler.journal.origin import PAGE, check_tick, find_origin, origin_of
from cogitate.scheduler.ledger.recorded_answers import answers_by_question
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.registry import kinds


class ForkSource(NamedTuple):
    """The state with which a fork begins."""

    origin: Origin
    settings: bytes  # that the fork stores, as JSON
    description: dict[str, str]
    latency_prior: bytes | None  # as JSON
    copy: Callable[[RunStore], None]  # copies the source's journal to a fork


def source_of(client: Redis, fork: Fork, settings: Settings) -> ForkSource:
    """Return the source of a fork.

    Args:
        settings: the settings of this machine.

    Raises:
        RunMissing: if no capsule is given and there is no such run.
        LedgerError: if the run has not reached the tick, or is trimmed.
        InputError: if the capsule holds another run.
        OSError, CapsuleError: if the capsule cannot be read, or was altered.
    """
    if fork.capsule is not None:
        with open_capsule(fork.capsule) as capsule:
            return _of_capsule(fork, capsule, settings)
    source = RunStore.open(client, fork.run)
    origin = find_origin(source, fork.run, fork.tick)
    kept, prior, description = source.state("settings", "latency_prior", "describe")
    origin, kept = with_changes(origin, origin_of(source), fork.changes, kept or b"", settings)

    def copy(to: RunStore) -> None:
        _copy_lines(entries_of(client, settings.data_dir, fork.run, origin.last), to)
        recorded = ((field.decode(), raw) for field, raw in source.mapping("recorded").items())
        answers = {key.decode(): raw for key, raw in source.mapping("origin_answers").items()}
        _copy_answers(answers | dict(answers_by_question(recorded)), to, settings)

    return ForkSource(origin, kept, dict(json.loads(description or b"{}")), prior, copy)


def _of_capsule(fork: Fork, capsule: Capsule, settings: Settings) -> ForkSource:
    manifest, hashes = capsule.manifest, ("", "")
    before: Origin | None = None
    if manifest.run != fork.run:
        raise InputError(f"{capsule.path} holds run {manifest.run!r}, not {fork.run!r}: give the name of its run")
    check_tick(manifest.run, fork.tick, manifest.ticks)
    capsule.verify()
    for step in capsule.steps():
        before = step.line.notes.origin or before
        if step.line.core.tick == fork.tick:
            hashes = step.line.digest, step.line.chain
            break
    try:
        conditions = before.conditions if before is not None else ()
        for kept in (capsule.settings, *(msgspec.json.encode(condition.settings) for condition in conditions)):
            check_kept(kept, settings)
    except ValueError as error:
        raise CapsuleError(f"{capsule.path} cannot be forked: its settings: {error}") from error
    origin = Origin(
        run=manifest.run,
        incarnation=manifest.incarnation,
        tick=fork.tick,
        last=manifest.ticks,
        digest=hashes[0],
        chain=hashes[1],
    )
    origin, begun = with_changes(origin, before, fork.changes, capsule.settings, settings)
    prior = msgspec.json.encode(manifest.latency_prior) if manifest.latency_prior is not None else None
    return ForkSource(origin, begun, manifest.description, prior, partial(_copy_capsule, capsule.path, settings))


def _copy_capsule(path: Path, settings: Settings, to: RunStore) -> None:
    with open_capsule(path) as capsule:
        _copy_lines(capsule.entries(), to)
        recorded = ((f"{number:08d}", raw) for number, raw in enumerate(capsule.answer_lines()))
        _copy_answers(dict(answers_by_question(recorded)), to, settings)


def _copy_answers(answers: Mapping[str, bytes], to: RunStore, settings: Settings) -> None:
    """Copy the source's recorded answers, by question; they expire like a record."""
    key = to.key("origin_answers")
    for question, answer in answers.items():
        to.client.hset(key, question, answer)
    to.client.pexpire(key, int(settings.tuning.record_days * 86_400_000))


def _copy_lines(entries: Iterable[ExportedEntry], to: RunStore) -> None:
    """Copy the lines of a journal, verifying them and chaining them anew without the checkpoints between them.

    Raises:
        JournalError: if a line does not follow from those before it, or was removed during the copy.
    """
    chain, page, written = "", list[bytes](), 0
    key = to.key("origin_journal")

    def write() -> None:
        nonlocal written
        with to.client.pipeline() as pipe:  # safe to repeat: it first cuts the list after the earlier pages
            if written:
                pipe.ltrim(key, 0, written - 1)
            else:
                pipe.delete(key)
            pipe.rpush(key, *page)
            pipe.execute()
        written += len(page)
        page.clear()

    def copied() -> Iterator[ExportedEntry]:
        nonlocal chain
        for entry in entries:
            if body := bytes(entry.line):
                chain = next_chain(chain, body)
                page.append(pack_line(chain, body))
            yield entry

    for _ in steps_of(copied()):
        if len(page) >= PAGE:
            write()
    if page:
        write()


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
