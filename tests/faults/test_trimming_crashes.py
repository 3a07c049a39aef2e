"""Hosts killed at every call of the journal's checkpoint, export and removal: the next host finishes the trimming.

As in `test_crash_points`, a killed host leaves only what the server holds; here also the files of its data folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.exported import ExportedJournal, journal_folder
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.tick import trimming
from cogitate.simulation.town.town import Town
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.faults.attacked import LATENCY
from tests.faults.dropped_anywhere import watched_client
from tests.faults.test_crash_points import Database, database, fingerprint, restore
from tests.live_redis import empty_redis

STEP, DAY = 60, 24  # ticks of an hour
TICKS = 3 * DAY + 2  # trimmed twice


class Point(NamedTuple):
    """The data that a killed host leaves."""

    database: Database
    files: dict[str, bytes]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Yield a Valkey that does not wait for the disk, since no test here kills it."""
    with EmbeddedServer(tmp_path_factory.mktemp("trimming")) as server, server.client() as client:
        client.config_set("appendfsync", "no")
        yield server


def live(client: Redis, folder: Path) -> TickLoop:
    """Run the town to its end."""
    town = Town(agents=2, seed=3, minutes_per_tick=STEP)
    settings = Settings(
        seconds_per_tick=60 * STEP, latency=LATENCY, max_observations=10, journal_keep=1, data_dir=folder
    )
    with TickLoop(
        run="town",
        owners=town.owners(),
        settings=settings,
        locations=town.locations,
        brief=town.brief,
        ticks=TICKS,
        inline=True,
        client=client,
        exist="resume" if bool(client.exists(incarnation_key("town"))) else "create",
    ) as loop:
        drive(loop, town, checkpoint_every=5)
    return loop


class Watched:
    """A watch that saves a crash point at every call of trimming."""

    def __init__(self, client: Redis, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: list[Point] = []
        self._client = client
        self._folder = folder
        self._trimming = False
        trim = trimming.JournalTrimmer.trim

        def watched(*arguments: Any) -> str:
            self._trimming = True
            chain = trim(*arguments)
            self._trimming = False
            return chain

        monkeypatch.setattr(trimming.JournalTrimmer, "trim", watched)

    def note(self, when: str) -> None:
        """Save a crash point; called before and after each call to the server."""
        if self._trimming:
            found = [path for path in self._folder.rglob("*.jsonl") if path.is_file()]
            files = {str(path.relative_to(self._folder)): path.read_bytes() for path in found}
            self.points.append(Point(database(self._client), files))

    def states(self) -> list[Point]:
        """Return the distinct points."""
        named = {
            fingerprint({**point.database, **{name.encode(): body for name, body in point.files.items()}}): point
            for point in self.points
        }
        return list(named.values())


def test_trimming_survives_a_host_killed_at_every_call(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trimming, "STEP_BYTES", 1)  # makes each stream a step of its own
    with server.client() as client:
        client.flushall()
        with monkeypatch.context() as patched:
            watched = Watched(client, tmp_path / "first", patched)
            digest = live(watched_client(server, watched.note), tmp_path / "first").digest
        states = watched.states()
        assert len(states) >= 3 * 3 + 2 * 2, "steps of three checkpoints, two files, two removals"
        for number, point in enumerate(states):
            folder = tmp_path / str(number)
            for name, body in point.files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(body)
            restore(client, point.database)
            again = live(client, folder)
            assert again.digest == digest
            assert client.llen(again.ledger.store.key("journal")) == TICKS - 2 * DAY
            files = ExportedJournal(journal_folder(folder, "town", again.ledger.incarnation))
            assert replay(client, "town", empty_redis(), files).first == 1
            assert audit(client, "town") == []
    print(f"{len(watched.points)} crash points of trimming, which leave {len(states)} states")
