"""The digest of a run does not depend on workers, hash seeds, completion order, crashes or lost messages."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import command, summary, summary_of_process, tick_of, typed
from tests.patience import LONGEST

Eventually = Callable[..., None]

UNDISTURBED = "7212dde5ad3626a62e4ddf8192405221"  # of TOWN: whatever changes it changes what agents think
TOWN = ("run", "--town", 5, "--ticks", 575, "--run", "town", "--audit")  # plans, reflections, cuts and prunes of a day


def new_home(folder: Path) -> Path:
    """Return a data folder for runs whose ticks last two minutes."""
    folder.mkdir(exist_ok=True)
    (folder / "cogitate.toml").write_text("[time]\nseconds_per_tick = 120\n")
    return folder / "data"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Run the town undisturbed with one worker; return its data folder and its summary."""
    data_dir = new_home(tmp_path_factory.mktemp("reference"))
    return data_dir, summary_of_process(*TOWN, "--workers", 1, data_dir=data_dir, PYTHONHASHSEED="1")


def test_more_workers_and_another_hash_seed_give_the_same_digest(
    reference: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    other = summary_of_process(*TOWN, "--workers", 2, data_dir=new_home(tmp_path), PYTHONHASHSEED="2")
    assert other["digest"] == reference[1]["digest"] == UNDISTURBED
    assert other["jobs"] == reference[1]["jobs"]
    assert other["memories"] == reference[1]["memories"]


def test_a_replay_agrees_and_one_changed_byte_fails_at_its_tick(
    reference: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    data_dir = reference[0]
    replayed = summary("replay", "town", "--verify", data_dir=data_dir)
    assert replayed["digest"] == reference[1]["digest"]
    with EmbeddedServer(data_dir) as server, server.client() as client:
        key = RunStore.open(client, "town").key("journal")
        line = bytearray(client.lindex(key, 499))
        spot = len(line) // 2
        line[spot] ^= 1
        client.lset(key, 499, bytes(line))
        try:
            failed = typed("replay", "town", "--verify", data_dir=data_dir)
        finally:
            line[spot] ^= 1
            client.lset(key, 499, bytes(line))
    assert failed.returncode == 1
    assert "tick 500" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_host_killed_at_midday_resumes_to_the_same_digest(
    reference: tuple[Path, dict[str, Any]], tmp_path: Path, eventually: Eventually
) -> None:
    data_dir = new_home(tmp_path)
    host = subprocess.Popen(command(*TOWN, "--workers", 2, data_dir=data_dir), stderr=subprocess.DEVNULL, cwd=tmp_path)
    try:
        eventually(lambda: tick_of(data_dir, "town") > 300, "the run to be past its 300th tick")
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait()
    assert tick_of(data_dir, "town") < TOWN[4]
    resumed = summary("run", "--run", "town", "--resume", data_dir=data_dir)
    assert resumed["digest"] == reference[1]["digest"]
    assert resumed["ticks"] == TOWN[4]


def test_a_wiped_broker_changes_nothing(
    reference: tuple[Path, dict[str, Any]], tmp_path: Path, eventually: Eventually
) -> None:
    data_dir = new_home(tmp_path)
    with EmbeddedServer(data_dir) as server, server.client() as state, server.client(1) as broker:
        host = subprocess.Popen(command(*TOWN, data_dir=data_dir), stdout=subprocess.DEVNULL, cwd=tmp_path)
        try:
            for tick in (150, 181, 183, 350, 500):
                eventually(
                    lambda at=tick: tick_of(data_dir, "town") >= at or host.poll() is not None,
                    f"tick {tick}",
                )
                broker.flushdb()
            assert host.wait(LONGEST) == 0
        finally:
            host.kill()
            host.wait()
        assert state.hget(RunStore.open(state, "town").key("state"), "digest").decode() == reference[1]["digest"]
        assert audit(state, "town") == []


def test_workers_killed_in_mid_job_leave_one_end_per_job(tmp_path: Path, eventually: Eventually) -> None:
    data_dir = new_home(tmp_path)
    with FakeEndpoint(latency=LONGEST) as endpoint, EmbeddedServer(data_dir) as server:
        host = subprocess.Popen(
            command(*TOWN, "--llm", "openai", "--limit-tokens", 10_000_000, "--workers", 2, data_dir=data_dir),
            env={**os.environ, "COGITATE_BASE_URL": endpoint.url, "COGITATE_TUNING": '{"lease": 2}'},
            stdout=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        try:
            endpoint.wait_for_request(2)
            for child in _children(host.pid, "worker"):
                os.kill(child, signal.SIGKILL)
            endpoint.change(latency=0.3)
            assert host.wait(LONGEST) == 0
        finally:
            host.kill()
            host.wait()
        with server.client() as client:
            assert audit(client, "town") == []
            store = RunStore.open(client, "town")
            lines = list(read_journal(store, 1, tick_of(data_dir, "town")))
            ends = [end.key for line in lines for end in line.core.ended]
            assert len(ends) == len(set(ends))
            plans = [end for line in lines for end in line.core.ended if end.key.kind == "plan"]
            assert [plan.end for plan in plans] == ["applied"] * 5
            assert any(note.attempts > 1 for line in lines for note in line.notes.ended)


def test_a_model_with_jitter_gives_the_same_digest_in_another_order(tmp_path: Path) -> None:
    town = ("run", "--town", 8, "--ticks", 300, "--run", "town", "--audit")
    asking = ("--llm", "openai", "--limit-tokens", 10_000_000)
    digests, orders = set(), []
    for workers, jitter in ((1, 0.0), (3, 0.5)):
        data_dir = new_home(tmp_path / f"{workers} workers")
        with FakeEndpoint(latency=0.05, jitter=jitter, seed=7) as endpoint:
            done = summary(*town, *asking, "--workers", workers, data_dir=data_dir, COGITATE_BASE_URL=endpoint.url)
            served = endpoint.stats()
        digests.add(done["digest"])
        spent = {line["unit"]: line["spent"] for line in done["budget"] if line["window"] == "run:0"}
        assert spent["calls"] - _heuristic_calls(done) == served.requests
        assert spent["tokens"] == served.prompt_tokens + served.completion_tokens
        assert done["jobs"]["plan"]["source"] == {"llm": 8}
        with EmbeddedServer(data_dir) as server, server.client() as client:
            lines = list(read_journal(RunStore.open(client, "town"), 1, 300))
            assert audit(client, "town") == []
        notes = [note for line in lines for note in line.notes.ended if note.source == "llm"]
        orders.append([note.key for note in sorted(notes, key=lambda note: note.arrival)])
    assert len(digests) == 1
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1], "both runs settled their jobs in the same order, so the test shows nothing"


def _heuristic_calls(done: dict[str, Any]) -> int:
    """Return the number of calls of jobs that never ask a model."""
    return sum(facts["decision"].get("admitted", 0) for kind, facts in done["jobs"].items() if kind == "prune")


def _children(pid: int, word: str) -> list[int]:
    """Return the ids of child processes whose command line contains a word."""
    found = []
    for task in Path("/proc").glob("[0-9]*"):
        try:
            stat = (task / "stat").read_text()
            parent = int(stat.rpartition(")")[2].split()[1])
            line = (task / "cmdline").read_bytes().decode()
        except OSError:
            continue
        if parent == pid and word in line:
            found.append(int(task.name))
    return found
