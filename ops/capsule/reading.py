"""The runs that a command reads: from the server, or from capsules, which need no server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.memory import typed_json
from cogitate.ops.command_options import CAPSULE, is_capsule, open_state
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.capsule_run import restore_run
from cogitate.scheduler.journal.capsule.verifying import open_capsule
from cogitate.scheduler.ledger.recorded_answers import RecordedAnswer
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.jobs.stored_texts import restore_recorded


class ReadRun(NamedTuple):
    """A run, and a client of the Redis that has it."""

    client: Redis
    run: str


@contextmanager
def open_run(settings: Settings, name: str) -> Iterator[ReadRun]:
    """Yield the run that a user names; see `open_runs`."""
    with open_runs(settings, name) as (run,):
        yield run


@contextmanager
def open_runs(settings: Settings, *names: str) -> Iterator[list[ReadRun]]:
    """Yield the runs that a user names, each by its name or by the file of its capsule, which needs no server.

    A capsule's run gets the name of its file; if several files have the same name, further ones get a number.

    Raises:
        OSError, CapsuleError: when a file cannot be read, or was changed since it was written.
        ServerSilent, ConfigurationError: as `open_state`, if a run is on the server.
    """
    server: Redis | None = None
    opened: list[ReadRun] = []
    with ExitStack() as resources:
        for name in names:
            if is_capsule(name):
                path = Path(name)
                same = sum(Path(earlier).name == path.name for earlier in names[: len(opened)])
                opened.append(_read(path, f"{path.stem}-{same + 1}{CAPSULE}" if same else path.name))
                continue
            if server is None:
                server = resources.enter_context(open_state(settings))
            opened.append(ReadRun(server, name))
        yield opened


def _read(path: Path, name: str) -> ReadRun:
    client = redis_in_memory()
    with open_capsule(path) as capsule:
        rebuilt = restore_run(capsule, client, name)
        attempts = ((key, typed_json.decode(raw, RecordedAnswer)) for key, raw in capsule.answers(rebuilt.jobs))
        restore_recorded(RunStore.open(client, name), attempts)
    return ReadRun(client, name)
