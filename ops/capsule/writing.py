"""Writes a run as a capsule: its journal unchanged, the resulting memories, and the answers, settings and prompts."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import msgspec
from redis import Redis

from cogitate.hosting.opening import description_of
from cogitate.memory import typed_json
from cogitate.ops.capsule.secrets import Secrets
from cogitate.ops.estimate.estimates import KEPT
from cogitate.prompts.render import FOLDER, VALUES
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.overview import RESUME
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.capsule.container import ContainerWriter
from cogitate.scheduler.journal.capsule.manifest import (
    ANSWERS,
    JOURNAL,
    MANIFEST,
    MEMORIES,
    PROMPTS,
    RECORDING,
    SETTINGS,
    Manifest,
)
from cogitate.scheduler.journal.capsule.verifying import Rebuilt, Verified, verify_capsule
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.journal.exported import ExportedEntry, entries_of, exported_journal, steps_of
from cogitate.scheduler.journal.origin import origin_of
from cogitate.scheduler.journal.private_files import private_file
from cogitate.scheduler.latency.latencies import LatencyPrior
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.recorded.files import recording_lines
from cogitate.tasks.job import JobKey
from cogitate.workers.jobs.stored_texts import all_recorded

_OF_MACHINE = {RESUME, KEPT}  # parts of a run's description that stay here: a command with folders, and the estimate


def write_capsule(client: Redis, run: str, settings: Settings, out: Path) -> Verified:
    """Write a run's capsule, verify it, and return the result.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: when its journal was changed.
        InputError: when the run has no tick, a part of its journal is gone, or it holds a secret.
        CapsuleError: when the capsule is too large.
    """
    store = RunStore.open(client, run)
    tick = store.tick()
    if not tick:
        raise InputError(f"run {run!r} has no tick yet: there is nothing to verify")
    trimmed = trimmed_tick(store)
    if not exported_journal(client, settings.data_dir, run).covers(trimmed):
        raise InputError(
            f"the journal of run {run!r} was trimmed up to tick {trimmed}, and its files are not in "
            f"{settings.data_dir}: give the --data-dir of the host that ran it"
        )
    secrets = Secrets(settings)
    prior = store.field("state", "latency_prior")
    with tempfile.TemporaryFile(dir=out.absolute().parent) as draft, ContainerWriter(draft) as container:
        rebuilt = Rebuilt()
        with container.member(JOURNAL) as add:
            for step in steps_of(_added(entries_of(client, settings.data_dir, run, tick), add, secrets)):
                rebuilt.add(step)
        _write_lines(container, MEMORIES, rebuilt.memories(), secrets)
        answers = [*_answers(store, settings, rebuilt.jobs)]
        if answers:
            _write_lines(container, ANSWERS, answers, secrets)
        described = description_of(client, run)
        if described.get("world") == "recorded":
            _write_lines(container, RECORDING, recording_lines(Path(described["path"])), secrets)
        kept = json.loads(store.state_field("settings"))
        _write_lines(container, SETTINGS, [json.dumps(secrets.without(kept), indent=1).encode()], secrets)
        for name in sorted(VALUES):
            own = settings.prompts / f"{name}.j2" if settings.prompts is not None else FOLDER
            text = (own if own.is_file() else FOLDER / f"{name}.j2").read_bytes()
            _refuse(secrets, text, f"the prompt template {name}.j2")
            with container.member(f"{PROMPTS}{name}.j2") as add:
                add(text)
        manifest = Manifest(
            run=run,
            incarnation=store.incarnation,
            ticks=rebuilt.ticks,
            digest=rebuilt.digest,
            chain=rebuilt.chain,
            versions={"cogitate": version("cogitate"), "python": platform.python_version()},
            description=secrets.without({name: text for name, text in described.items() if name not in _OF_MACHINE}),
            origin=origin_of(store),
            latency_prior=typed_json.decode(prior, LatencyPrior) if prior else None,
            members=container.members,
        )
        _write_lines(container, MANIFEST, [msgspec.json.format(msgspec.json.encode(manifest))], secrets)
        with private_file(out) as file:
            container.finish(file)
    return verify_capsule(out)


def _write_lines(container: ContainerWriter, name: str, lines: Iterable[bytes], secrets: Secrets) -> None:
    with container.member(name) as add:
        for number, line in enumerate(lines, 1):
            _refuse(secrets, line, f"line {number} of {name}")
            add(line + b"\n")


def _added(entries: Iterable[ExportedEntry], add: Callable[[bytes], None], secrets: Secrets) -> Iterator[ExportedEntry]:
    """Yield these entries, after adding each to the container's member."""
    for number, entry in enumerate(entries, 1):
        raw = entry.raw()
        _refuse(secrets, raw, f"entry {number} of its journal")
        add(raw + b"\n")
        yield entry


def _answers(store: RunStore, settings: Settings, ended: set[JobKey]) -> Iterator[bytes]:
    """Yield the recorded attempts of these jobs, in their order."""
    for key, attempt in all_recorded(store, settings):
        if key in ended:
            yield msgspec.json.encode({"job": key.text()} | msgspec.to_builtins(attempt))


def _refuse(secrets: Secrets, data: bytes, where: str) -> None:
    """Check that a text holds no secret.

    Raises:
        InputError: naming the place, not the secret.
    """
    if found := secrets.found_in(data):
        raise InputError(
            f"{where} holds {found}: a capsule would publish it, and a journal cannot be changed; if it is a secret, "
            "replace it where it is in use, and export a run without it"
        )
