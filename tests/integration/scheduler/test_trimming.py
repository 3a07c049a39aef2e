"""Trimming a journal leaves the run as it is: kept lines are verified, removed lines counted, exported and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import structlog
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import RunReader, summarise_run, usage_by_owner
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.exported import ExportedJournal, journal_folder
from cogitate.scheduler.journal.history import JournalTrimmed, read_journal
from cogitate.scheduler.journal.lines import JournalError, pack_line, unpack_line
from cogitate.scheduler.ledger.errors import Fenced
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import JobKey
from tests.live_redis import empty_redis

RUN, STEP, DAY = "town", 60, 24  # ticks of an hour
TICKS = 4 * DAY
TRIMMED = 2 * DAY  # on the fourth day, with one whole day kept


class Lived(NamedTuple):
    """A finished run."""

    store: RunStore
    digest: str
    exported: ExportedJournal
    unexported: bool = False  # as its loop reports

    @property
    def client(self) -> Redis:
        return self.store.client

    def replayed(self, exported: ExportedJournal | None = None) -> int:
        """Replay the run, compare the digest, and return the first tick that the replay needed."""
        rebuilt = replay(self.client, RUN, empty_redis(), exported)
        assert (rebuilt.ticks, rebuilt.digest) == (TICKS, self.digest)
        return rebuilt.first


def settings_of(folder: Path, keep: int | None, **more: Any) -> Settings:
    """Return settings with small memories, so that many entries are cut."""
    chosen: dict[str, Any] = {"seconds_per_tick": 60 * STEP, "data_dir": folder, "max_observations": 15}
    return Settings.tuned(**(chosen | {"journal_keep": keep} | more))


def live(client: Redis, settings: Settings, *, checkpoint_every: int = 7, upto: int = TICKS) -> Lived:
    """Host the run, or resume it, up to a tick."""
    world = WorldChoice(agents=2, seed=1, recorded=None, minutes_per_tick=STEP).open()
    with TickLoop(
        run=RUN,
        owners=world.owners(),
        settings=settings,
        locations=world.locations,
        brief=world.brief,
        ticks=TICKS,
        inline=True,
        client=client,
        exist="resume" if bool(client.exists(f"cogitate:{{{RUN}}}:incarnation")) else "create",
    ) as loop:
        drive(
            loop,
            world,
            checkpoint_every=checkpoint_every,
            on_tick=lambda tick: loop.stop() if tick.number == upto < TICKS else None,
        )
    folder = journal_folder(settings.data_dir, RUN, loop.ledger.incarnation)
    return Lived(loop.ledger.store, loop.digest, ExportedJournal(folder), loop._loop.unexported)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Host a run whose journal is kept whole."""
    return live(empty_redis(), settings_of(tmp_path_factory.mktemp("whole"), None))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Host the same run with a trimmed journal; tests must not change it."""
    return live(empty_redis(), settings_of(tmp_path_factory.mktemp("trimmed"), 1))


@pytest.fixture
def trimmed(kept: Lived) -> Lived:
    """Copy the trimmed run for a test that changes it."""
    client = empty_redis()
    for key in kept.client.scan_iter():
        client.restore(key, 0, kept.client.dump(key))
    return kept._replace(store=RunStore(client, kept.store.prefix))


def test_a_trimmed_run_has_the_digest_of_an_untrimmed_one(whole: Lived, kept: Lived) -> None:
    assert kept.digest == whole.digest
    assert int(kept.client.hget(kept.store.key("state"), "trimmed") or 0) == TRIMMED
    assert kept.client.llen(kept.store.key("journal")) == TICKS - TRIMMED
    assert audit(kept.client, RUN) == audit(whole.client, RUN) == []


def test_a_trimmed_run_replays_from_its_checkpoint_or_from_its_exported_lines(kept: Lived, whole: Lived) -> None:
    assert kept.replayed() == TRIMMED + 1
    assert kept.replayed(kept.exported) == 1
    assert whole.replayed(kept.exported) == 1, "exported files are not needed for a whole journal"


def test_each_removed_line_and_no_other_is_in_one_exported_file(kept: Lived) -> None:
    files = sorted(path for path in kept.exported.folder.iterdir() if path.is_file())
    entries = [[json.loads(entry) for entry in path.read_text().splitlines()] for path in files]
    assert sum(map(len, entries)) > TRIMMED, "checkpoints are exported as well"
    ticks = [entry["line"]["core"]["tick"] for of_one in entries for entry in of_one if "line" in entry]
    assert ticks == list(range(1, TRIMMED + 1))


def test_every_figure_of_the_summary_includes_trimmed_lines(kept: Lived, whole: Lived) -> None:
    before, after = summarise_run(whole.client, RUN), summarise_run(kept.client, RUN)
    assert (before.trimmed, after.trimmed) == (0, TRIMMED)
    for fact in ("tick", "minute", "agents", "digest", "jobs", "refused", "budget", "memories", "warnings"):
        assert getattr(after, fact) == getattr(before, fact), fact
    assert usage_by_owner(kept.client, RUN) == usage_by_owner(whole.client, RUN)


def test_jobs_that_ended_at_trimmed_ticks_are_unknown(kept: Lived, whole: Lived) -> None:
    everything = JobHistory(whole.client, RUN).newest(0)
    left = JobHistory(kept.client, RUN)
    assert left.newest(0) == [record for record in everything if not record.ended or record.ended > TRIMMED]
    assert {record.id for record in left.all()} == {record.id for record in left.newest(0)}
    for record in left.newest(0):
        assert left.find(JobKey.parse(record.id.removeprefix(f"{RUN}/"))) == record
    gone = next(record for record in everything if record.ended and record.ended < TRIMMED)
    with pytest.raises(InputError, match=f"is unknown.* tick {TRIMMED + 1}"):
        left.find(JobKey.parse(gone.id.removeprefix(f"{RUN}/")))
    with pytest.raises(JournalTrimmed, match=f"up to tick {TRIMMED}"):
        next(read_journal(kept.store, TRIMMED, TICKS))


def test_reading_a_run_during_trimming_counts_nothing_twice(tmp_path: Path, whole: Lived) -> None:
    client = empty_redis()
    live(client, settings_of(tmp_path, 1), upto=DAY + 5)
    reader = RunReader(client, RUN)
    assert reader.read().trimmed == 0
    live(client, settings_of(tmp_path, 1))
    assert reader.read().jobs == summarise_run(whole.client, RUN).jobs


def test_trimming_may_be_switched_on_when_a_run_resumes(tmp_path: Path, whole: Lived) -> None:
    client = empty_redis()
    live(client, settings_of(tmp_path, None), upto=2 * DAY + 5)
    late = live(client, settings_of(tmp_path, 1))
    assert (late.digest, audit(client, RUN)) == (whole.digest, [])
    assert late.replayed() == late.replayed(late.exported) + 2 * DAY + 5


def test_a_world_without_checkpoints_keeps_every_line_that_a_resume_repeats(tmp_path: Path) -> None:
    lived = live(empty_redis(), settings_of(tmp_path, 1), checkpoint_every=TICKS + 1)
    assert lived.client.llen(lived.store.key("journal")) == TICKS
    assert not lived.exported.folder.exists()
    assert lived.replayed() == 1, "the replay passes the journal's checkpoints and agrees with them"
    assert audit(lived.client, RUN) == []


def test_journal_lines_are_kept_if_their_export_fails(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a file where a folder should be")
    with structlog.testing.capture_logs() as logs:
        lived = live(empty_redis(), settings_of(tmp_path, 1))
    warned = [entry["upto"] for entry in logs if entry["event"] == "journal.not_exported"]
    assert warned == [DAY, 2 * DAY]
    assert lived.unexported
    assert not live(empty_redis(), settings_of(tmp_path / "good", 1)).unexported
    assert lived.client.llen(lived.store.key("journal")) == TICKS


def test_without_an_export_trimmed_lines_are_lost(tmp_path: Path) -> None:
    lived = live(empty_redis(), settings_of(tmp_path, 1, journal_export=False))
    assert not lived.exported.folder.exists()
    assert lived.replayed(lived.exported) == TRIMMED + 1
    assert audit(lived.client, RUN) == []


def test_a_changed_byte_in_a_checkpoint_is_found(trimmed: Lived) -> None:
    streams = trimmed.store.checkpoint_streams_key(TRIMMED)
    owner, body = next(iter(sorted(trimmed.client.hgetall(streams).items())))
    trimmed.client.hset(streams, owner, body[:-1])
    with pytest.raises(JournalError, match=f"tick {TRIMMED}: the stream of '{owner.decode()}'"):
        trimmed.replayed()
    assert any(f"tick {TRIMMED}" in finding for finding in audit(trimmed.client, RUN))
    trimmed.client.hset(streams, owner, body)
    entries = trimmed.store.key("journal_checkpoints")
    entry = bytearray(trimmed.client.hget(entries, str(TRIMMED + DAY)))
    entry[entry.index(b'"refused"') + 12] ^= 1
    trimmed.client.hset(entries, str(TRIMMED + DAY), bytes(entry))
    with pytest.raises(JournalError, match=f"tick {TRIMMED + DAY}: the journal's checkpoint"):
        trimmed.replayed()


def test_a_changed_byte_in_an_exported_file_is_found_at_its_tick(trimmed: Lived, tmp_path: Path) -> None:
    copied = ExportedJournal(tmp_path / "copy")
    copied.folder.mkdir()
    for path in trimmed.exported.folder.iterdir():
        copied.folder.joinpath(path.name).write_bytes(path.read_bytes())
    assert trimmed.replayed(copied) == 1
    second = sorted(copied.folder.iterdir())[1]
    lines = second.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"tick":', b'"tick": ', 1)
    second.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match=f"tick {DAY + 4}: the journal was changed"):
        trimmed.replayed(copied)
    second.unlink()
    assert trimmed.replayed(copied) == TRIMMED + 1, "incomplete exports are not used"


@pytest.mark.parametrize(
    "change",
    [
        lambda line: pack_line(unpack_line(line)[0], unpack_line(line)[1].replace(b'"tick":', b'"tick": ', 1)),
        lambda line: line[:-1],
    ],
    ids=["rewritten", "cut short"],
)
def test_a_changed_line_is_not_trimmed(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    client = empty_redis()
    lived = live(client, settings_of(tmp_path, 1), upto=2 * DAY - 1)
    line = client.lindex(lived.store.key("journal"), 10)
    client.lset(lived.store.key("journal"), 10, change(line))
    with pytest.raises(JournalError, match=r"tick 11: .*not removed"):
        live(client, settings_of(tmp_path, 1))
    assert client.llen(lived.store.key("journal")) == 2 * DAY


def test_a_fenced_host_trims_nothing(tmp_path: Path) -> None:
    client = empty_redis()
    lived = live(client, settings_of(tmp_path, None), upto=2 * DAY)
    world = WorldChoice(agents=2, seed=1, recorded=None, minutes_per_tick=STEP).open()
    hosts = [
        TickLoop(
            run=RUN,
            owners={},
            settings=settings_of(tmp_path, 1),
            brief=world.brief,
            ticks=TICKS,
            inline=True,
            client=client,
            exist="resume",
        )
        for _ in range(2)
    ]
    first, second = hosts
    with second, pytest.raises(Fenced), first:
        first.ledger.checkpoint(2 * DAY, {"agent:x": b"{}"})
    assert not [key for key in client.scan_iter() if b"journal_checkpoint" in key]
    assert RunStore.open(client, RUN) == lived.store


def test_the_audit_accepts_deleted_windows_of_past_days(tmp_path: Path) -> None:
    world = WorldChoice(agents=1, seed=1, recorded=None, minutes_per_tick=STEP).open()
    with TickLoop(
        run=RUN,
        owners=world.owners(),
        settings=settings_of(tmp_path, None),
        locations=world.locations,
        brief=world.brief,
        ticks=10 * DAY,
        inline=True,
        client=empty_redis(),
    ) as loop:
        drive(loop, world)
    assert "day:0" not in {window.decode() for window in loop.ledger.client.smembers(loop.ledger.store.key("windows"))}
    assert audit(loop.ledger.client, RUN) == []
