"""Read the source of a fork for a new run: from a run on the same server, or from a capsule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from redis import Redis

from cogitate.scheduler.config.facts import check_kept
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.capsule.container import CapsuleError
from cogitate.scheduler.journal.capsule.verifying import Capsule, open_capsule
from cogitate.scheduler.journal.changes import Fork, Origin
from cogitate.scheduler.journal.exported import ExportedEntry, entries_of, steps_of
from cogitate.scheduler.journal.fork_conditions import with_changes
from cogitate.scheduler.journal.lines import next_chain, pack_line
from cogitate.scheduler.journal.origin import PAGE, check_tick, find_origin, origin_of
from cogitate.scheduler.ledger.recorded_answers import answers_by_question
from cogitate.scheduler.ledger.run_store import RunStore


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
