"""A run in which a kind stored unreadable values, as kinds once could, is read without these values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.kinds import Kind, register
from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Archive, Effect, MarkAccessed, Rate, SetCounter, SetPlanStatus
from cogitate.memory.entry import Entry, PlanItem
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.errors import RunUnreadable
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Request
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed

ADA = "agent:ada"
OWNERS = {ADA: Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}
TICKS, ALL = 8, 14


class Dream(Kind):
    """A kind that is due at every tick for Ada, and asks no model."""

    name = "dream"
    order = 90
    latency = 1
    wrong = True

    def due(self, moment: Any) -> Any:
        return [Request(kind=self.name, owner=ADA)] if moment.owner == ADA else []

    def wake(self, moment: Any) -> int:
        return int(moment.tick) + 1

    def heuristic(self, case: Any) -> Any:
        tick, minute = case.job.key.tick, case.job.minute
        good = Append(ADA, Entry(type="observation", text=f"I woke at {tick}.", minute=minute, importance=3))
        if not self.wrong:
            return (good,)
        wrong: Any = {2: {"type": "dream"}, 3: {"source": "gossip"}, 4: {"importance": "high"}, 5: {"type": "dream"}}
        made: list[Any] = [good]
        if tick in wrong:
            fields = {"type": "observation", "text": f"I flew at {tick}.", "minute": minute, "importance": 3}
            made.append(Append(ADA, Entry(**(fields | wrong[tick]))))
        if tick == 6:  # archive earlier entries into the dream of this tick
            made += [
                Append(ADA, Entry(type=wrong[5]["type"], text="All of it.", minute=minute)),
                Archive(ADA, (1, 3), into_appended=True),
            ]
        return tuple(made)


@pytest.fixture
def poisoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Redis]]:
    """Host a run with unreadable entries; return its data folder and a client of its server."""
    data_dir = tmp_path / "data"
    with EmbeddedServer(data_dir) as server, server.client() as client, monkeypatch.context() as unchecked:
        unchecked.setattr("cogitate.scheduler.intake.kind_effects.check_effects", lambda effects: effects)
        live(client, data_dir, Dream(), TICKS)
        unchecked.undo()
        yield data_dir, client


def live(client: Redis, data_dir: Path, kind: Dream, ticks: int, *, resume: bool = False) -> TickLoop:
    register(kind)
    with TickLoop(
        run="town",
        owners=OWNERS,
        settings=Settings(data_dir=data_dir),
        ticks=ticks,
        inline=True,
        client=client,
        exist="resume" if resume else "create",
    ) as loop:
        for _ in loop:
            pass
    return loop


def corrected() -> Dream:
    kind = Dream()
    kind.wrong = False
    return kind


def left_out(client: Redis) -> list[int]:
    """Return the numbers of stored values that cannot be read as entries."""
    raw: Any = client.hgetall(RunStore.open(client, "town").owner_key("entries", ADA))
    raw |= client.hgetall(RunStore.open(client, "town").owner_key("archive", ADA))
    return sorted(int(n) for n, body in raw.items() if not _readable(body))


def _readable(body: bytes) -> bool:
    try:
        typed_json.decode(body, Entry)
    except msgspec.ValidationError:
        return False
    return True


def test_every_command_reads_the_run_and_reports_omissions(poisoned: tuple[Path, Redis]) -> None:
    data_dir, client = poisoned
    wrong = left_out(client)
    assert len(wrong) == 5
    told = [f"Warning: entry {number} of {ADA} cannot be read and is left out: " for number in wrong]
    for command in (
        ("memory", "town", ADA, "--json"),
        ("replay", "town", "--verify", "--json"),
        ("audit", "town", "--json"),
        ("export", "town", "--what", "memories"),
        ("report", "town", "--out", data_dir.parent / "town.html"),
    ):
        done = typed(*command, data_dir=data_dir)
        assert done.returncode == 0, done.stderr
        assert all(line in done.stderr for line in told), (command, done.stderr)
        if "--json" in command:
            assert [one["number"] for one in json.loads(done.stdout.splitlines()[-1])["left_out"]] == wrong
    for command in (("export", "town", "--what", "journal"), ("export", "town", "--what", "jobs"), ("jobs", "town")):
        assert typed(*command, data_dir=data_dir).returncode == 0, command
    exported = typed("export", "town", "--what", "memories", data_dir=data_dir).stdout
    assert "I woke at 2." in exported
    assert "I flew" not in exported
    found = summarise_run(client, "town")
    assert found.warnings["memory.unreadable"] == 5
    assert typed("status", "town", data_dir=data_dir).returncode == 0


def test_a_poisoned_run_resumes_without_its_unreadable_entries(poisoned: tuple[Path, Redis]) -> None:
    data_dir, client = poisoned
    wrong = left_out(client)
    with capture_logs() as logs:
        loop = live(client, data_dir, corrected(), ALL, resume=True)
    told = [entry for entry in logs if entry["event"] == "memory.unreadable"]
    assert sorted(entry["number"] for entry in told) == wrong
    assert loop.tick == ALL
    assert left_out(client) == []
    lines = list(read_journal(RunStore.open(client, "town"), 1, ALL))
    assert [line.core.unread for line in lines if line.core.unread] == [((ADA, tuple(wrong)),)]
    assert lines[TICKS].core.unread, "in the first tick of the host that resumed the run"
    assert audit(client, "town") == []
    assert summarise_run(client, "town").warnings["memory.unreadable"] == 5
    for command in (("replay", "town", "--verify"), ("audit", "town"), ("memory", "town", ADA)):
        done = typed(*command, data_dir=data_dir)
        assert done.returncode == 0, done.stderr
        assert "cannot be read" not in done.stderr
    resumed_again = live(client, data_dir, corrected(), ALL + 2, resume=True)
    assert resumed_again.tick == ALL + 2
    assert audit(client, "town") == []


@pytest.mark.parametrize(
    "damage",
    [
        {"type": "nightmare"},  # the kind wrote another type
        {"number": "two"},
        {"colour": "red"},
        {"tick": 3.5},
    ],
    ids=str,
)
def test_entries_that_were_altered_in_the_store_are_still_refused(
    poisoned: tuple[Path, Redis], damage: dict[str, Any]
) -> None:
    data_dir, client = poisoned
    key = RunStore.open(client, "town").owner_key("entries", ADA)
    number = next(number for number in left_out(client) if client.hexists(key, str(number)))
    kept: Any = client.hget(key, str(number))
    client.hset(key, str(number), json.dumps(json.loads(kept) | damage))
    with pytest.raises(RunUnreadable, match=r"cannot be read: |cannot continue: .*entries of agent:ada"):
        live(client, data_dir, corrected(), ALL, resume=True)
    assert audit(client, "town") != []


class Fidget(Dream):
    """A kind that is due at every tick, and adds effects with invalid values to a memory."""

    name = "fidget"

    def heuristic(self, case: Any) -> Any:
        tick, minute = case.job.key.tick, case.job.minute
        made: list[Any] = [Append(ADA, Entry(type="observation", text=f"I woke at {tick}.", minute=minute))]
        if tick == 1:
            item = PlanItem(id="1-0", description="Sweep.")
            plan = Entry(type="plan", text="Sweep.", minute=minute, importance=5, items=(item,), valid_until=5_000)
            made.append(Append(ADA, plan))
        if self.wrong:
            made += WRONG.get(tick, [])
        return tuple(made)


def wrongly(make: Any, *values: Any) -> Effect:
    """Make an effect without a check of its types."""
    effect: Effect = make(*values)
    return effect


WRONG: dict[int, list[Effect]] = {
    2: [wrongly(SetCounter, ADA, "naps", 1.5), wrongly(SetCounter, ADA, "mood", "high"), SetCounter(ADA, "fine", 3)],
    3: [wrongly(SetPlanStatus, ADA, "1-0", "done", "pending")],
    4: [wrongly(MarkAccessed, ADA, (1,), 7.5), MarkAccessed(ADA, (2,), -40)],
    5: [wrongly(Rate, ADA, (3,), (5.5,))],
}


@pytest.fixture
def fidgety(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Redis]]:
    """Host a run with such effects; return its data folder and a client of its server."""
    data_dir = tmp_path / "data"
    with EmbeddedServer(data_dir) as server, server.client() as client, monkeypatch.context() as unchecked:
        unchecked.setattr("cogitate.scheduler.intake.kind_effects.check_effects", lambda effects: effects)
        live(client, data_dir, Fidget(), TICKS)
        unchecked.undo()
        yield data_dir, client


def test_invalid_values_of_other_effects_are_reported_and_skipped(fidgety: tuple[Path, Redis]) -> None:
    data_dir, _ = fidgety
    told = ("counter 'naps' is 1.5", "counter 'mood' is 'high'", "plan item '1-0' is 'done'", "marks of entry 1")
    for command in (
        ("memory", "town", ADA),
        ("replay", "town", "--verify"),
        ("audit", "town"),
        ("status", "town"),
        ("export", "town", "--what", "memories"),
        ("export", "town", "--what", "journal"),
        ("export", "town", "--what", "jobs"),
        ("report", "town", "--out", data_dir.parent / "town.html"),
    ):
        done = typed(*command, data_dir=data_dir)
        assert done.returncode == 0, (command, done.stderr, done.stdout)
        if command[0] in ("memory", "replay", "audit", "report"):
            assert f"a value of {ADA} cannot be read and is left out" in done.stderr
            assert [what for what in told if what not in done.stderr] == []


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "before seals"])
def test_a_run_with_invalid_values_of_effects_resumes_without_them(fidgety: tuple[Path, Redis], sealed: bool) -> None:
    data_dir, client = fidgety
    if not sealed:
        client.delete(RunStore.open(client, "town").key("seals"))
    kind = Fidget()
    kind.wrong = False
    loop = live(client, data_dir, kind, ALL, resume=True)
    assert loop.tick == ALL
    head = loop.state.streams[ADA].head
    assert head.counters["fine"] == 3
    assert not {"naps", "mood"} & head.counters.keys()
    assert head.plan_status == {}
    assert 1 not in loop.state.streams[ADA].marks
    (left,) = [line.core.unread for line in read_journal(RunStore.open(client, "town"), 1, ALL) if line.core.unread]
    assert left[0][0] == ADA
    assert left[0][1][0] == 0
    assert audit(client, "town") == []
    done = typed("replay", "town", "--verify", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    assert "cannot be read" not in done.stderr
    assert live(client, data_dir, kind, ALL + 2, resume=True).tick == ALL + 2
