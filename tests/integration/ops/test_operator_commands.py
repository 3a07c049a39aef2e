"""The operator's commands runs, jobs, job, plan, retry, export and delete."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from redis import Redis

from cogitate.ops.command_options import SharedOptions
from cogitate.ops.commands import runs as delete_command
from cogitate.scheduler.config.controls import read_asked
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobQuery
from cogitate.scheduler.ledger.keys import RUNS
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import command, summary, typed
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, settle, worker
from tests.patience import LONGEST

RUN = "town-1"
TICKS = 480


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("operated") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def lived(server: EmbeddedServer) -> Path:
    """Return a data folder with a finished run whose budget covered one plan of three."""
    summary(
        "run",
        "--town",
        3,
        "--ticks",
        TICKS,
        "--workers",
        1,
        data_dir=server.data_dir,
        COGITATE_LIMITS='{"tick.run.jobs": 1}',
    )
    return server.data_dir


@pytest.fixture
def client(server: EmbeddedServer, lived: Path) -> Iterator[Redis]:
    with server.client() as client:
        yield client


@pytest.fixture
def small(client: Redis) -> Iterator[Host]:
    """Yield a run that the test drives beside the finished one, and remove it at the end."""
    yield Host(client, run="small")
    _remove(client)


@pytest.fixture
def asking(client: Redis) -> Iterator[Host]:
    """Yield such a run whose jobs call a model."""
    yield Host(client, run="small", model="m", cost=Cost(calls=1, tokens=30))
    _remove(client)


def _remove(client: Redis) -> None:
    for key in client.scan_iter("cogitate:{small}:*"):
        client.delete(key)
    client.srem(RUNS, "small")


Typed = Callable[..., CompletedProcess[str]]


@pytest.fixture
def cogitate(lived: Path) -> Typed:
    """Return a function that runs a command on the data folder in this process."""
    return partial(typed, data_dir=lived)


Facts = Callable[..., dict[str, Any]]


@pytest.fixture
def facts_of(cogitate: Typed) -> Facts:
    """Return a function that runs a command with `--json` and returns the JSON object that it prints."""

    def typed(*arguments: object) -> dict[str, Any]:
        done = cogitate(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    return typed


@pytest.fixture
def plans(facts_of: Facts) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = facts_of("jobs", RUN, "--kind", "plan")["jobs"]
    return found


def test_runs_and_status_list_each_run_with_its_state(facts_of: Facts, cogitate: Typed) -> None:
    (run,) = facts_of("runs")["runs"]
    assert list(run) == ["run", "status", "held", "tick", "minute", "agents", "jobs", "spent", "host", "digest"]
    assert (run["run"], run["status"], run["tick"], run["agents"]) == (RUN, "finished", TICKS, 3)
    assert run["spent"] == {"calls": 0, "tokens": 0, "usd_micros": 0}, "no model was called"
    assert run["host"].startswith(socket.gethostname())
    shown = cogitate("runs").stdout
    assert f"│ {RUN}" in shown
    assert cogitate("status").stdout == shown


def test_jobs_are_filtered_by_state_kind_and_owner(
    facts_of: Facts, cogitate: Typed, plans: list[dict[str, Any]]
) -> None:
    def asked(*options: object) -> list[str]:
        return [one["id"] for one in facts_of("jobs", RUN, *options)["jobs"]]

    everything = facts_of("jobs", RUN, "--last", 0)["jobs"]
    assert {one["kind"] for one in plans} == {"plan"}
    assert sorted(one["decision"] for one in plans) == ["admitted", "heuristic", "heuristic"]
    denied = asked("--state", "denied")
    assert denied == [one["id"] for one in plans if one["decision"] == "heuristic"]
    owner = plans[0]["owner"]
    assert asked("--owner", owner) == [one["id"] for one in everything if one["owner"] == owner]
    assert asked("--last", 2) == [one["id"] for one in everything[:2]]
    ends = [one["ended"] for one in everything if one["ended"]]
    assert ends == sorted(ends, reverse=True)
    assert asked("--state", "late") == []
    refused = cogitate("jobs", RUN, "--state", "lost")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    shown = cogitate("jobs", RUN, "--state", "denied").stdout.splitlines()
    assert [line.split()[:3] for line in shown[1:]] == [[job, "applied", "365"] for job in denied]


def test_a_job_shows_its_whole_life(facts_of: Facts, cogitate: Typed, plans: list[dict[str, Any]]) -> None:
    one = next(one for one in plans if one["decision"] == "heuristic")
    shown = cogitate("job", one["id"])
    life = dict(line.split(maxsplit=1) for line in reversed(shown.stdout.splitlines()))
    assert life["decision"] == "heuristic: refused by tick 360 run jobs = 1"
    assert life["end"] == "applied at tick 365"
    assert life["reason"].startswith("denied: ")
    assert life["effects"].startswith(f"{one['owner']}: append ")
    assert f"entry {one['appended'][0]}, provisional: Plan for day 1:" in life["effects"]
    facts = facts_of("job", one["id"])
    assert {name: facts[name] for name in one} == one
    assert facts["effects"][0]["entry"]["type"] == "plan"

    served = facts_of("job", next(one["id"] for one in plans if one["decision"] == "admitted"))
    assert (served["claims"], served["usage"]["calls"], served["reserved"]["calls"]) == (1, 0, 0), "no model was asked"
    assert "tick:360 run" in served["cells"]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (f"{RUN}/360/plan/agent:nobody/0/0", "run 'town-1' has no job 'town-1/360/plan/agent:nobody/0/0'"),
        (f"{RUN}/9999/plan/agent:nobody/0/0", "has no job"),
        ("nowhere/360/plan/agent:nobody/0/0", "'nowhere'; there are: town-1"),
        ("plan", "run/tick/kind/owner/ordinal/trial"),
    ],
)
def test_an_unknown_job_is_reported_in_one_line(cogitate: Typed, job: str, message: str) -> None:
    done = cogitate("job", job)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr


def test_a_job_shows_its_late_answer(client: Redis, cogitate: Typed, facts_of: Facts, asking: Host) -> None:
    (job,) = asking.turn(("think", OWNER))
    claim = claimed(worker(client), job)
    asking.until(job.due + 1)
    settle(worker(client), claim, used=Cost(calls=1, tokens=9))
    asking.until(job.due + 3)
    shown = cogitate("job", job.id).stdout
    life = [(name, text) for line in shown.splitlines() for name, _, text in [line.partition(" ")]]
    late = life.index(next(line for line in life if line[0] == "late"))
    assert life[late][1].endswith(f"at tick {job.due + 2}")
    effect = next(text for name, text in life[late:] if name == "effects")
    assert "entry 2" in effect
    assert "entry 1: a thought" in effect
    assert facts_of("job", job.id)["late"]["usage"] == {"calls": 1, "tokens": 9, "usd_micros": 0}
    (brief,) = facts_of("jobs", "small")["jobs"]
    assert "effects" not in brief["late"]


def test_open_jobs_come_from_the_ledger_and_end_in_the_journal(client: Redis, small: Host) -> None:
    first, second, third = small.turn(("think", OWNER), ("think", OTHER), ("muse", OTHER))
    claims = worker(client, "w1")
    settle(claims, claimed(claims, first))
    claimed(claims, second)
    history = JobHistory(client, "small")
    found = {one.id: one for one in history.newest(0)}
    assert {key: one.state for key, one in found.items()} == {first.id: "staged", second.id: "open", third.id: "open"}
    assert (found[second.id].claims, found[second.id].workers) == (1, ("w1",))
    assert (found[third.id].claims, found[third.id].workers) == (0, ())
    assert history.find(second.key) == found[second.id]
    assert [one.id for one in history.newest(0, JobQuery(state="staged"))] == [first.id]
    small.until(first.due + 1)
    ended = {one.id: (one.state, one.reason, one.source) for one in history.newest(0)}
    assert ended[first.id] == ("applied", "none", "llm")
    assert ended[second.id] == ("applied", "late", "heuristic")
    assert [one.id for one in history.newest(1, JobQuery(state="late", owner=second.key.owner))] == [second.id]
    assert [one.id for one in history.all()] == [one.id for one in sorted(history.newest(0), key=lambda o: o.ended)]


def test_a_dropped_deferral_names_its_successor(cogitate: Typed, client: Redis) -> None:
    host = Host(client, run="tight", limits={"tick.run.jobs": 1})
    host.turn(("think", OWNER), ("muse", OWNER), ("doze", OWNER))
    history = JobHistory(client, "tight")
    put_off = {one.kind: one for one in history.newest(0, JobQuery(state="denied"))}
    assert {kind: one.state for kind, one in put_off.items()} == {"muse": "deferred", "doze": "dropped"}
    assert put_off["muse"].successor.startswith("tight/")
    shown = cogitate("job", put_off["muse"].id).stdout
    assert f"next try   {put_off['muse'].successor}" in shown
    assert cogitate("delete", "tight", "--yes", "--force").returncode == 0


def test_a_plan_is_shown_with_the_status_of_its_items(
    facts_of: Facts, cogitate: Typed, plans: list[dict[str, Any]]
) -> None:
    owner = plans[0]["owner"]
    facts = facts_of("plan", RUN, owner)
    statuses = [item["status"] for item in facts["plan"]["items"]]
    assert 5 <= len(statuses) <= 8
    assert statuses[-1] == "pending", "at eight in the morning going to bed is pending"
    assert set(statuses) - {"pending"}, "at eight in the morning getting up is not"
    shown = cogitate("plan", RUN, owner).stdout
    assert f"{owner} of run {RUN}: day 1, 8:00 AM" in shown
    assert "pending" in shown
    assert "no owner 'agent:nobody'" in cogitate("plan", RUN, "agent:nobody").stderr


def test_a_denied_job_can_be_retried_after_a_resume(
    facts_of: Facts, cogitate: Typed, plans: list[dict[str, Any]]
) -> None:
    denied = [one["id"] for one in plans if one["decision"] == "heuristic"]
    asked = cogitate("retry", *denied, "--json")
    requests = json.loads(asked.stdout.splitlines()[-1])["requests"]
    assert (asked.returncode, [one["state"] for one in requests]) == (3, ["waits", "waits"])
    assert [f"{RUN}/{one['asked']['job']}" for one in requests] == denied
    assert "finished" in asked.stderr
    assert f"cogitate run --run {RUN} --resume" in asked.stderr
    assert "--days N" in asked.stderr
    assert facts_of("status", RUN)["steering"]["asked"] == 2
    served = next(one["id"] for one in plans if one["decision"] == "admitted")
    refused = cogitate("retry", served)
    assert (refused.returncode, served in refused.stderr) == (2, True)
    mixed = cogitate("retry", served, denied[0], "--json")
    (sent,) = json.loads(mixed.stdout.splitlines()[-1])["requests"]
    assert (mixed.returncode, f"{RUN}/{sent['asked']['job']}") == (1, denied[0])
    assert f"not sent: job {served} has the requested result" in mixed.stderr


def test_all_matching_jobs_are_retried_with_a_reason(
    facts_of: Facts, cogitate: Typed, client: Redis, plans: list[dict[str, Any]]
) -> None:
    denied = [one for one in plans if one["decision"] == "heuristic"]
    chosen = ("retry", RUN, "--kind", "plan", "--state", "denied", "--owner", denied[0]["owner"])
    store = RunStore.open(client, RUN)
    before = store.length("controls")
    for wrong, why in (
        (chosen, "--reason"),
        ((*chosen, "--reason", "back"), "--yes"),
        ((*chosen, "--reason", "x" * 201, "--yes"), "at most 200"),
        (("retry", denied[0]["id"], "--kind", "plan"), "instead of ids"),
        (("retry", RUN, "--kind", "hum", "--reason", "back", "--yes"), "Of 0 matches"),
    ):
        done = cogitate(*wrong)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    assert store.length("controls") == before
    sent = cogitate(*chosen, "--reason", "the model is back", "--yes", "--json")
    (request,) = json.loads(sent.stdout.splitlines()[-1])["requests"]
    assert (sent.returncode, f"{RUN}/{request['asked']['job']}") == (3, denied[0]["id"])
    newest = read_asked(store.items("controls"))[-1]
    assert newest is not None
    assert newest.reason == "the model is back"


@pytest.mark.parametrize(
    ("options", "matches"),
    [
        (("--from", 365, "--to", 370), lambda one: 365 <= one["ended"] <= 370),
        (("--from", 481), lambda one: not one["ended"]),
        (("--model", "none"), lambda one: False),
        (("--minutes", 60), lambda one: True),
    ],
)
def test_jobs_are_filtered_by_tick_and_model(
    facts_of: Facts, options: tuple[object, ...], matches: Callable[[dict[str, Any]], bool]
) -> None:
    everything = facts_of("jobs", RUN, "--last", 0)["jobs"]
    found = facts_of("jobs", RUN, "--last", 0, *options)["jobs"]
    assert [one["id"] for one in found] == [one["id"] for one in everything if matches(one)]


def test_jobs_are_filtered_by_the_worker_that_returned_their_result(facts_of: Facts) -> None:
    everything = facts_of("jobs", RUN, "--last", 0)["jobs"]
    worker = next(one["worker"] for one in everything if one["worker"])
    found = facts_of("jobs", RUN, "--last", 0, "--worker", worker)["jobs"]
    assert [one["id"] for one in found] == [one["id"] for one in everything if one["worker"] == worker]
    assert len(found) < len(everything), "no worker ran the denied jobs"


def test_an_owner_without_a_plan_is_reported(cogitate: Typed, small: Host) -> None:
    small.turn()
    assert "no plan" in cogitate("plan", "small", OWNER).stdout


@pytest.mark.parametrize("what", ["memories", "jobs", "journal"])
def test_an_export_is_reproducible_json_lines(facts_of: Facts, cogitate: Typed, tmp_path: Path, what: str) -> None:
    done = cogitate("export", RUN, "--what", what)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    written = tmp_path / "out.jsonl"
    again = cogitate("export", RUN, "--what", what, "--out", written)
    assert written.stat().st_mode & 0o777 == 0o600, "memories are private"
    assert (again.stdout, written.read_text()) == ("", done.stdout)
    assert f"{len(lines):,} lines of {what}" in again.stderr
    (run,) = facts_of("runs")["runs"]
    if what == "journal":
        assert [line["tick"] for line in lines] == list(range(1, TICKS + 1))
        assert lines[-1]["digest"] == run["digest"]
    elif what == "jobs":
        assert sum(line["ended"] > 0 for line in lines) == run["jobs"]
        assert len({line["id"] for line in lines}) == len(lines)
    else:
        assert [line["owner"] for line in lines] == sorted(line["owner"] for line in lines)
        assert sum(entry["type"] == "plan" for line in lines for entry in line["entries"]) == 3


@pytest.mark.parametrize("what", ["memories", "jobs", "journal"])
def test_an_export_as_parquet_has_a_row_for_each_entry_job_and_tick(
    facts_of: Facts, cogitate: Typed, tmp_path: Path, what: str
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the format needs pyarrow")
    lines = [json.loads(line) for line in cogitate("export", RUN, "--what", what).stdout.splitlines()]
    file = tmp_path / "out.parquet"
    done = cogitate("export", RUN, "--what", what, "--format", "parquet", "--out", file)
    assert done.returncode == 0, done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    rows = parquet.read_table(file).to_pylist()
    assert f"{len(rows):,} rows of {what}" in done.stderr
    if what == "memories":
        entries = {(line["owner"], entry["number"]): entry for line in lines for entry in line["entries"]}
        assert {(row["owner"], row["number"]): row["text"] for row in rows} == {
            key: entry["text"] for key, entry in entries.items()
        }
        assert all(row["subjects"] == entries[row["owner"], row["number"]].get("subjects", []) for row in rows)
        gone = {(line["owner"], int(number)) for line in lines for number in line["archived"]}
        assert {(row["owner"], row["number"]) for row in rows if not row["live"]} == gone
    elif what == "jobs":
        columns = ("id", "kind", "owner", "tick", "due", "ended", "state", "decision", "source", "reason", "model")
        assert [{name: row[name] for name in columns} for row in rows] == [
            {name: line[name] for name in columns} for line in lines
        ]
        assert [row["tokens"] for row in rows] == [line["spent"]["tokens"] for line in lines]
    else:
        assert [(row["tick"], row["digest"], json.loads(row["core"])) for row in rows] == [
            (line["tick"], line["digest"], line["core"]) for line in lines
        ]
        assert [row["observed"] for row in rows] == [len(line["core"].get("observed", [])) for line in lines]


def test_an_export_as_parquet_requires_a_file(cogitate: Typed) -> None:
    refused = cogitate("export", RUN, "--what", "jobs", "--format", "parquet")
    assert (refused.returncode, "give --out FILE" in refused.stderr) == (2, True)


def test_a_closed_pipe_ends_an_export_silently(lived: Path) -> None:
    started = subprocess.Popen(
        command("export", RUN, "--what", "journal", data_dir=lived), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.readline()
    started.stdout.close()
    said = started.stderr.read()
    started.stderr.close()
    assert started.wait(LONGEST) == 0
    assert b"Broken pipe" not in said
    assert b"Traceback" not in said


def test_delete_asks_for_confirmation_and_leaves_nothing(
    facts_of: Facts, cogitate: Typed, client: Redis, small: Host
) -> None:
    small.turn(("think", OWNER))
    small.ledger.finish("stopped")
    unasked = cogitate("delete", "small")
    assert (unasked.returncode, len(unasked.stderr.splitlines())) == (2, 1)
    assert "give --yes" in unasked.stderr
    assert facts_of("delete", "small", "--yes")["keys"] > 5
    assert not [key for key in client.scan_iter(count=1000) if b"{small}" in key]
    assert [run["run"] for run in facts_of("runs")["runs"]] == [RUN]
    twice = cogitate("delete", "small", "--yes")
    assert (twice.returncode, "'small'" in twice.stderr) == (2, True)


@pytest.mark.parametrize("typed", ["n\n", "", "perhaps\nn\n"])
def test_delete_keeps_the_run_if_the_operator_does_not_confirm(
    facts_of: Facts, lived: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    answers = io.StringIO(typed)
    monkeypatch.setattr(answers, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", answers)
    assert delete_command.delete(RUN, options=SharedOptions(data_dir=lived)) == 1
    assert [run["run"] for run in facts_of("runs")["runs"]] == [RUN]
