"""The command line as a user sees it: its output, its exit codes, and the files and processes it leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cogitate.simulation import recordings
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import cogitate, command, left_behind, summary, tick_of, typed
from tests.patience import LONGEST

Eventually = Callable[..., None]

NAMES = [
    "run",
    "days",
    "ticks",
    "agents",
    "digest",
    "chain",
    "wall_s",
    "jobs",
    "late_answers",
    "shortfalls",
    "prices",
    "budget",
    "memories",
    "tick_ms",
    "warnings",
]
SMALL = Path(next(iter(recordings.__path__))) / "small"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """Return a data folder with one finished run, the run's JSON object, and its standard error."""
    data_dir = tmp_path_factory.mktemp("finished") / "data"
    done = cogitate("run", "--town", 3, "--ticks", 480, "--workers", 1, "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    return data_dir, json.loads(done.stdout), done.stderr


def test_a_run_prints_one_json_object_with_stable_names(finished: tuple[Path, dict[str, Any], str]) -> None:
    _, report, _ = finished
    assert list(report) == NAMES
    assert (report["run"], report["days"], report["ticks"], report["agents"]) == ("town-1", 0.3333, 480, 3)
    assert set(report["jobs"]["plan"]) == {"decision", "end", "source", "reason"}
    assert report["jobs"]["plan"]["end"] == {"applied": 3}
    assert list(report["tick_ms"]) == ["p50", "p99", "max"]
    assert set(report["memories"]["plan"]) == {"live", "archived"}
    for line in report["budget"]:
        assert list(line) == [
            "window",
            "scope",
            "unit",
            "limit",
            "reserved",
            "spent",
            "overrun",
            "for_retries",
            "retried",
            "held",
        ]
    everybody = [line for line in report["budget"] if (line["window"], line["scope"]) == ("day:0", "run")]
    assert everybody[0]["spent"] == sum(sum(facts["decision"].values()) for facts in report["jobs"].values())


def test_progress_and_summary_report_results_and_next_steps(finished: tuple[Path, dict[str, Any], str]) -> None:
    said = finished[2]
    assert re.search(r"tick 480/480  .*plan 3 heuristic", said)
    assert "Run town-1: finished at tick 480" in said
    assert "degraded" in said
    assert "--llm openai --limit-usd" in said
    assert "replay town-1 --verify --data-dir" in said


def test_a_finished_run_leaves_no_server_file_and_no_process(
    finished: tuple[Path, dict[str, Any], str], eventually: Eventually
) -> None:
    assert not (finished[0] / "server.json").exists()
    eventually(lambda: not left_behind(finished[0]), "its processes to exit")


def test_status_and_replay_agree_with_the_run(finished: tuple[Path, dict[str, Any], str]) -> None:
    data_dir, report, _ = finished
    shown = summary("status", "town-1", data_dir=data_dir)
    assert {name: shown[name] for name in ("digest", "chain", "jobs", "memories", "budget")} == {
        name: report[name] for name in ("digest", "chain", "jobs", "memories", "budget")
    }
    assert [run["run"] for run in summary("status", data_dir=data_dir)["runs"]] == ["town-1"]
    replayed = summary("replay", "town-1", "--verify", data_dir=data_dir)
    assert (replayed["ticks"], replayed["digest"], replayed["chain"]) == (480, report["digest"], report["chain"])


def test_the_summary_goes_to_stdout_without_json(finished: tuple[Path, dict[str, Any], str]) -> None:
    done = cogitate("status", "town-1", data_dir=finished[0])
    assert "Run town-1: finished" in done.stdout
    assert done.stderr == ""


def test_a_recorded_run_is_played(tmp_path: Path) -> None:
    report = summary("run", "--recorded", SMALL, "--ticks", 480, "--workers", 1, data_dir=tmp_path / "data")
    assert report["run"] == "recorded-1"
    assert report["jobs"]["plan"]["end"] == {"applied": report["agents"]}


def test_a_run_resumed_after_ctrl_c_reaches_the_same_digest(
    finished: tuple[Path, dict[str, Any], str], tmp_path: Path, eventually: Eventually
) -> None:
    data_dir = tmp_path / "data"
    arguments = ("run", "--town", 3, "--ticks", 480, "--workers", 1, "--tick-rate", 60, "--wait", 60, "--run", "mine")
    with EmbeddedServer(data_dir):
        host = _start(*arguments, data_dir=data_dir)
        try:
            eventually(lambda: tick_of(data_dir, "mine") > 100, "the run to be past its 100th tick")
            host.send_signal(signal.SIGINT)
            out, err = host.communicate(timeout=LONGEST)
        finally:
            host.kill()
            host.wait()
        assert host.returncode == 130, err
        assert "stopping" in err
        assert re.search(rf"run --run mine --resume .*--data-dir {re.escape(str(data_dir))}", out)
        assert "Traceback" not in err
        assert summary("status", "mine", data_dir=data_dir)["status"] == "stopped"
        assert not [words for words in left_behind(data_dir) if "celery" in words]
    resumed = summary("run", "--run", "mine", "--resume", data_dir=data_dir)
    assert resumed["digest"] == finished[1]["digest"]
    longer = summary("run", "--run", "mine", "--resume", "--ticks", 500, data_dir=data_dir)
    assert longer["ticks"] == 500


def test_a_second_signal_ends_a_run_at_once(tmp_path: Path, eventually: Eventually) -> None:
    data_dir = tmp_path / "data"
    host = _start("run", "--town", 3, "--tick-rate", 0.5, "--wait", 60, "--run", "mine", data_dir=data_dir)
    try:
        eventually(lambda: tick_of(data_dir, "mine") > 0, "the run to have begun")
        host.send_signal(signal.SIGTERM)
        assert host.stderr is not None
        said = ""
        while "stopping after this tick" not in said:
            said += host.stderr.readline()
        host.send_signal(signal.SIGTERM)
        _, err = host.communicate(timeout=LONGEST)
    finally:
        host.kill()
        host.wait()
    assert host.returncode == 143, said + err
    assert "Traceback" not in said + err
    eventually(lambda: not left_behind(data_dir), "its processes to be gone")


def test_the_loss_of_the_server_ends_the_run_with_one_line(tmp_path: Path, eventually: Eventually) -> None:
    data_dir = tmp_path / "data"
    with EmbeddedServer(tmp_path / "server") as server:
        away = {"COGITATE_REDIS_URL": server.url, "COGITATE_OUTAGE_WAIT": "0.1"}
        host = _start(
            "run",
            "--town",
            3,
            "--tick-rate",
            50,
            "--wait",
            60,
            "--workers",
            1,
            "--run",
            "mine",
            data_dir=data_dir,
            **away,
        )
        try:
            eventually(lambda: tick_of(tmp_path / "server", "mine") > 0, "the run to have begun")
            os.kill(int(json.loads((tmp_path / "server" / "server.json").read_text())["pid"]), signal.SIGKILL)
            _, err = host.communicate(timeout=LONGEST)
        finally:
            host.kill()
            host.wait()
    assert host.returncode == 1, err
    last = err.strip().splitlines()[-1]
    assert last.startswith("cogitate: run 'mine': Redis stopped answering and was not back within 0.1 s")
    assert " --resume" in last
    assert "Traceback" not in err
    eventually(lambda: not left_behind(data_dir), "its processes to be gone")


def test_the_suggested_command_for_a_users_model_is_complete(
    finished: tuple[Path, dict[str, Any], str], tmp_path: Path
) -> None:
    shown = re.search(r"or one of your own +(.*) \S+ -m cogitate.ops run (.*)", finished[2])
    assert shown is not None
    model = dict(pair.split("=") for pair in shown[1].split()) | {"COGITATE_BASE_URL": "http://127.0.0.1:9/v1"}
    short = ("run", "--town", 1, "--ticks", 3, "--workers", 1)
    done = typed(*short, *shown[2].split(), data_dir=tmp_path / "data", **model)
    assert (done.returncode, done.stderr.count("model.unused")) == (0, 0), done.stderr
    without = typed(*short, data_dir=tmp_path / "data", **model)
    assert (without.returncode, without.stderr.count("model.unused")) == (0, 1), without.stderr


def test_the_demo_shows_degradation_and_the_limit_that_caused_it(tmp_path: Path) -> None:
    (demo,) = re.findall(
        r"COGITATE_LIMITS='(.*)' \$\(BIN\)/cogitate run --town 25 --days 1\n", Path("Makefile").read_text()
    )
    done = typed("run", "--town", 25, "--days", 1, data_dir=tmp_path / "data", COGITATE_LIMITS=demo)
    assert done.returncode == 0, done.stderr
    share = re.search(r"jobs \(([\d.]+)%\) were degraded", done.stdout)
    assert share is not None
    assert float(share[1]) >= 5
    assert re.search(r"\d+ denied: refused by a limit of the budget \(.*tick\.run\.jobs = \d+, \d+×", done.stdout)


def test_an_existing_run_cannot_be_created_again(finished: tuple[Path, dict[str, Any], str]) -> None:
    done = typed("run", "--run", "town-1", data_dir=finished[0])
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "'town-1'" in done.stderr


def test_a_key_in_the_environment_is_used_only_on_request(tmp_path: Path) -> None:
    report = summary(
        "run", "--town", 2, "--ticks", 400, "--workers", 1, data_dir=tmp_path / "data", OPENAI_API_KEY="sk-something"
    )
    assert {source for facts in report["jobs"].values() for source in facts["source"]} == {"heuristic"}


def _start(*arguments: object, data_dir: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a command whose output goes to pipes."""
    return subprocess.Popen(
        command(*arguments, data_dir=data_dir),
        cwd=data_dir.parent,
        text=True,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
