"""Commands that read a run read its capsule too: without a server, and with the same result."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import pytest
from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.capsule.reading import open_run, open_runs
from cogitate.ops.capsule.writing import write_capsule
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.report.minds_reading import MindsReading
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.controls import SetCadence, SetLimit
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.comparison import compare_runs
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.capsule.container import CapsuleError
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import differences, load_streams
from cogitate.scheduler.steering.operators import ask
from cogitate.workers.jobs.stored_texts import all_recorded
from tests.integration.command import summary, typed
from tests.integration.scheduler.test_forks import Visited, opened
from tests.integration.scheduler.test_trimming import live, settings_of
from tests.live_flower import get, started, until
from tests.live_redis import empty_redis
from tests.unit.ops.test_capsules import content_of, rewritten

TICKS = 500
OF_HOST = {"run", "status", "host"}  # the fields of a summary that differ, since a capsule has no host


class Lived(NamedTuple):
    """A run on a server, with its capsule."""

    client: Redis
    run: str
    file: Path

    @property
    def settings(self) -> Settings:
        """Return settings of a machine that has neither the run nor a server."""
        return Settings(data_dir=self.file.parent / "missing")


def lived(folder: Path, run: str, visit: int = 0) -> Lived:
    """Host a town in which an operator changes a limit and a cadence and one agent leaves, and write its capsule."""
    with FakeEndpoint(faults={"429": 0.1, "broken_json": 0.1}) as endpoint:
        return _lived(folder, endpoint, run, visit)


def _lived(folder: Path, endpoint: FakeEndpoint, run: str, visit: int) -> Lived:
    client, town = empty_redis(), Visited(visit)
    gone = max(owner for owner in town.owners() if owner.startswith("agent:"))

    def steer(tick: Any) -> None:
        if tick.number == 200:
            ask(client, run, [SetLimit("day.run.calls", 40), SetCadence("reflect", 500, pinned=True)], wait=0)
        if tick.number == TICKS:
            loop.leave(gone)

    arguments: dict[str, Any] = {"run": run, "ticks": TICKS, "inline": True, "client": client}
    with opened(town, endpoint, folder, {"record": True, "reflection_interval": 60}, **arguments) as loop:
        drive(loop, town, on_tick=steer)
    file = folder / f"{run}.capsule"
    write_capsule(client, run, Settings(data_dir=folder), file)
    return Lived(client, run, file)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    return lived(tmp_path_factory.mktemp("town"), "town")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Return the same town with a stranger who visits it."""
    return lived(tmp_path_factory.mktemp("other"), "other", visit=300)


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("reading a capsule opens no connection")

    monkeypatch.setattr(socket, "socket", refuse)


@pytest.mark.usefixtures("no_sockets")
def test_a_capsule_is_read_without_a_server_or_a_data_folder(town: Lived) -> None:
    with open_run(town.settings, str(town.file)) as (client, run):
        found = summarise_run(client, run)
    assert (found.run, found.state, found.tick) == ("town.capsule", "capsule", TICKS)
    assert not town.settings.data_dir.exists()


def test_the_summary_of_a_capsule_equals_that_of_its_run(town: Lived) -> None:
    of_run = msgspec.to_builtins(summarise_run(town.client, town.run))
    with open_run(town.settings, str(town.file)) as (client, run):
        of_file = msgspec.to_builtins(summarise_run(client, run))
    assert [told["steering"]["host_ms"] is None for told in (of_run, of_file)] == [False, True]
    for told in (of_run, of_file):
        told["budget"] = [{**line, "reserved": 0, "held": 0} for line in told["budget"] if line["spent"]]
        told["steering"] |= {"host_ms": 0, "causes": {}, "pressing": (), "waiting": 0}
    assert {name for name in of_run if of_run[name] != of_file[name]} == OF_HOST
    assert of_file["steering"]["cadence"] == 0.5
    assert {limit["name"]: limit["limit"] for limit in of_file["limits"]}["day.run.calls"] == 40


@pytest.mark.parametrize("trimmed", [False, True])
def test_a_capsule_has_every_memory_job_and_recorded_prompt(town: Lived, tmp_path: Path, trimmed: bool) -> None:
    if trimmed:
        run = live(empty_redis(), settings_of(tmp_path, None))
        town = Lived(run.client, "town", tmp_path / "town.capsule")
        write_capsule(town.client, "town", Settings(data_dir=tmp_path), town.file)
    at_server = RunStore.open(town.client, town.run)
    owners = sorted(name.decode() for name in (*at_server.fields("owners"), *at_server.fields("retired")))
    with open_run(town.settings, str(town.file)) as (client, run):
        at_file = RunStore.open(client, run)
        for name in ("owners", "retired"):
            assert at_file.mapping(name) == at_server.mapping(name)
        kept, said = load_streams(at_file, owners), load_streams(at_server, owners)
        assert [differences(kept[owner], said[owner]) for owner in owners] == [[] for _ in owners]
        assert kept_facts(at_file) == kept_facts(at_server)
        jobs = [
            [msgspec.structs.replace(one, id="", successor="") for one in history.all() if one.ended]
            for history in (JobHistory(client, run), JobHistory(town.client, town.run))
        ]
        assert jobs[0] == jobs[1] != []
        texts = [list(all_recorded(store, town.settings)) for store in (at_file, at_server)]
        assert texts[0] == texts[1]
        assert trimmed or texts[0]


def minds_of(reading: MindsReading, run: str) -> list[Any]:
    """Return the data that the served page of minds shows of a run."""
    owner = "agent:amara-okafor"
    mind = reading.answer("owner", run, {"owner": owner})
    thought = next(one for one in mind["entries"] if one["lane"] == 3)
    asked = {"owner": owner, "number": str(thought["n"]), "tick": str(thought["tick"]), "day": "0"}
    parts = [reading.answer(part, run, asked | {"text": "a", "query": "bread"}) for part in ("writing", "search")]
    parts += [reading.answer(part, run, asked | {"query": "bread"}) for part in ("promises", "heuristics", "recall")]
    past = reading.answer("owner", run, asked | {"at": "300"})
    return [mind, *parts, past]


def test_the_served_minds_of_a_capsule_equal_those_of_its_run(town: Lived, other: Lived) -> None:
    with open_runs(town.settings, str(town.file), str(other.file)) as (one, second):
        reading = MindsReading(one.client, town.settings, {one.run: one.client, second.run: second.client})
        for lived_run, run in ((town, one.run), (other, second.run)):
            told = json.dumps(minds_of(reading, run)).replace(run, lived_run.run)
            assert told == json.dumps(minds_of(MindsReading(lived_run.client, lived_run.settings), lived_run.run))
        assert json.loads(told)[1]["texts"], "recorded prompts are included"


def test_the_page_of_minds_is_made_from_a_capsule_without_a_data_folder(town: Lived, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    told = summary("minds", town.file, "--at", "400", "--out", tmp_path / "minds.html", data_dir=folder)
    assert (told["run"], told["tick"]) == ("town.capsule", 400)
    with started("minds", town.file, data_dir=folder, log=tmp_path / "log") as serving:
        until(lambda: serving.poll() is not None or "/minds\n" in (tmp_path / "log").read_text(), "the page's address")
        address = (tmp_path / "log").read_text().split()[0]
        assert get(address)[0] == 200
        status, text = get(f"{address}/owner?{urlencode({'owner': 'agent:amara-okafor'})}")
        assert (status, bool(json.loads(text)["entries"])) == (200, True)
    assert not folder.exists()


def test_runs_and_capsules_are_compared_in_any_mix(town: Lived, other: Lived) -> None:
    plain = compare_runs(town.client, "town", "other", town.settings.data_dir, of_b=other.client)
    assert plain.difference is not None
    assert (plain.difference.cause, plain.difference.tick) == ("observation", 300)
    with open_runs(town.settings, str(town.file), str(other.file)) as (one, second):
        for a, b in ((one, second), (one, other), (town, second)):
            found = compare_runs(a.client, a.run, b.run, town.settings.data_dir, of_b=b.client)
            assert msgspec.structs.replace(found, a="town", b="other") == plain


def test_the_capsule_of_a_fork_names_its_source(tmp_path: Path) -> None:
    client, owners = redis_in_memory(), {"agent:ada": Profile(name="Ada")}
    for run, fork in (("source", None), ("fork", Fork(run="source", tick=6))):
        with TickLoop(run=run, owners=owners, ticks=10, inline=True, client=client, fork=fork) as loop:
            for tick in loop:
                if tick.number == 8:
                    loop.observe("agent:ada", {"text": f"The {run} runs dry."})
        write_capsule(client, run, Settings(data_dir=tmp_path), tmp_path / f"{run}.capsule")
    found = summary("compare", "source.capsule", "fork.capsule", data_dir=tmp_path / "missing")
    assert (found["origins"]["b"]["run"], found["origins"]["b"]["tick"]) == ("source", 6)
    assert [found["difference"][name] for name in ("tick", "cause")] == [8, "observation"]


def test_two_capsules_with_one_name_are_distinguished(town: Lived, other: Lived, tmp_path: Path) -> None:
    same = tmp_path / "town.capsule"
    same.write_bytes(other.file.read_bytes())
    found = summary("compare", town.file, same, data_dir=tmp_path / "missing")
    assert (found["a"], found["b"], found["difference"]["tick"]) == ("town.capsule", "town-2.capsule", 300)


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("report", "--out", "report.html"),
        ("memory", "agent:amara-okafor", "--query", "bread"),
        ("plan", "agent:amara-okafor"),
        ("jobs", "--state", "late"),
        ("export", "--what", "memories"),
        ("export", "--what", "jobs", "--format", "parquet", "--out", "jobs.parquet"),
        ("export", "--what", "journal"),
    ],
    ids=" ".join,
)
def test_each_reading_command_reads_a_capsule(town: Lived, tmp_path: Path, command: tuple[str, ...]) -> None:
    found = typed(command[0], town.file, *command[1:], data_dir=tmp_path / "missing", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    if command[-2:] == ("--what", "memories"):
        assert found.stdout.encode() == content_of(town.file)["memories.jsonl"]


def test_a_job_of_a_capsule_is_found_by_its_listed_id(town: Lived, tmp_path: Path) -> None:
    listed = summary("jobs", town.file, "--kind", "reflect", "--last", "1", data_dir=tmp_path / "missing")["jobs"]
    job = summary("job", f"{town.file.parent}/{listed[0]['id']}", "--prompt", data_dir=tmp_path / "missing")
    assert (job["id"], job["kind"]) == (listed[0]["id"], "reflect")


@pytest.mark.parametrize(
    "command",
    [("audit",), ("replay",), ("pause",), ("drain",), ("budget",), ("throttle", "reflect", "0.5"), ("delete", "--yes")],
    ids=" ".join,
)
def test_commands_that_need_a_server_name_those_that_read_files(
    town: Lived, tmp_path: Path, command: tuple[str, ...]
) -> None:
    found = typed(command[0], town.file, *command[1:], data_dir=tmp_path / "missing")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1), found.stderr
    assert "status, report, minds, compare, memory, plan, jobs, job, export and verify read files" in found.stderr


def damaged(members: dict[str, bytes], **kept: Any) -> dict[str, bytes]:
    settings = json.loads(members["settings.json"]) | kept
    return members | {"settings.json": json.dumps(settings).encode()}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda members: damaged(members, redis_url="redis://elsewhere.example"),
            "does not keep the setting 'redis_url'",
        ),
        (lambda members: damaged(members, kinds=["antigravity"]), "does not keep the setting 'kinds'"),
        (lambda members: damaged(members, max_observations=10**400), "its settings"),
        (lambda members: damaged(members, models={"\x1b[2J": {"endpoint": "x", "model": "m"}}), "its settings"),
        (lambda members: damaged(members, models=[1]), "its settings"),
        (lambda members: damaged(members, models={"a": {"endpoint": {}, "model": "m"}}), "its settings"),
        (lambda members: members | {"settings.json": b"[" * 100_000}, "cannot be read"),
        (lambda members: members | {"memories.jsonl": b"{}\n"}, "its memories differ from those"),
        (
            lambda members: (
                members | {"answers.jsonl": members["answers.jsonl"].replace(b'"attempt":1', b'"attempt":-')}
            ),
            "cannot be read",
        ),
    ],
)
def test_a_hostile_capsule_is_refused_in_one_line(
    town: Lived, tmp_path: Path, change: Callable[[dict[str, bytes]], dict[str, bytes]], match: str
) -> None:
    file = rewritten(tmp_path / "hostile.capsule", change(content_of(town.file)))
    with pytest.raises(CapsuleError, match=match) as found, open_run(town.settings, str(file)):
        pass
    assert str(found.value).isprintable()


def test_the_models_of_a_capsule_need_no_endpoint_here(town: Lived, tmp_path: Path) -> None:
    members = damaged(content_of(town.file), models={"large": {"endpoint": "theirs", "model": "m"}})
    file = rewritten(tmp_path / "theirs.capsule", members)
    with open_run(town.settings, str(file)) as (client, run):
        assert summarise_run(client, run).tick == TICKS
