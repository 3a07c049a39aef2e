"""The command line as a user meets it: what it prints, how it ends, what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from command import cogitate, command, summary, tick_of

from ops.cli import main
from simulation import recordings
from workers.embedded import EmbeddedServer

Eventually = Callable[..., None]
InProcess = Callable[[list[str], dict[str, str]], tuple[int, str, str]]

NAMES = [
    "run", "days", "ticks", "agents", "digest", "chain", "wall_s", "jobs", "late_answers", "budget", "memories",
    "tick_ms", "warnings",
]  # fmt: skip
SMALL = Path(next(iter(recordings.__path__))) / "small"


def left_behind(data_dir: Path) -> list[str]:
    """Processes that still have something to do with a data folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                here = str((entry / "cwd").readlink())
            except OSError:
                continue
            if words and (str(data_dir) in words or here == str(data_dir)):
                found.append(words)
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """A data folder with one finished run, its JSON object, and what was said on stderr."""
    data_dir = tmp_path_factory.mktemp("finished") / "data"
    done = cogitate("run", "--town", 3, "--ticks", 480, "--workers", 1, "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    return data_dir, json.loads(done.stdout), done.stderr


def test_a_run_ends_with_one_json_object_of_stable_names(finished: tuple[Path, dict[str, Any], str]) -> None:
    _, report, _ = finished
    assert list(report) == NAMES
    assert (report["run"], report["days"], report["ticks"], report["agents"]) == ("town-1", 0.3333, 480, 3)
    assert set(report["jobs"]["plan"]) == {"decision", "end", "source", "reason"}
    assert report["jobs"]["plan"]["end"] == {"applied": 3}
    assert list(report["tick_ms"]) == ["p50", "p99", "max"]
    assert set(report["memories"]["plan"]) == {"live", "archived"}
    for line in report["budget"]:
        assert list(line) == ["window", "scope", "unit", "limit", "reserved", "spent", "overrun"]
    everybody = [line for line in report["budget"] if (line["window"], line["scope"]) == ("day:0", "run")]
    assert everybody[0]["spent"] == sum(sum(facts["decision"].values()) for facts in report["jobs"].values())


def test_progress_and_summary_say_what_happened_and_what_to_try(finished: tuple[Path, dict[str, Any], str]) -> None:
    said = finished[2]
    assert re.search(r"tick 480/480  .*plan 3 heuristic", said)
    assert "Run town-1: finished at tick 480" in said
    assert "were degraded" in said
    assert "--llm openai --limit-usd" in said
    assert "replay town-1 --verify --data-dir" in said


def test_nothing_is_left_behind(finished: tuple[Path, dict[str, Any], str], eventually: Eventually) -> None:
    assert not (finished[0] / "server.json").exists()
    eventually(lambda: not left_behind(finished[0]), "its processes to be gone")


def test_status_and_replay_agree_with_the_run(finished: tuple[Path, dict[str, Any], str]) -> None:
    data_dir, report, _ = finished
    shown = summary("status", "town-1", data_dir=data_dir)
    assert {name: shown[name] for name in ("digest", "chain", "jobs", "memories", "budget")} == {
        name: report[name] for name in ("digest", "chain", "jobs", "memories", "budget")
    }
    assert [run["run"] for run in summary("status", data_dir=data_dir)["runs"]] == ["town-1"]
    replayed = summary("replay", "town-1", "--verify", data_dir=data_dir)
    assert (replayed["ticks"], replayed["digest"], replayed["chain"]) == (480, report["digest"], report["chain"])


def test_without_json_the_summary_is_on_stdout(finished: tuple[Path, dict[str, Any], str]) -> None:
    done = cogitate("status", "town-1", data_dir=finished[0])
    assert "Run town-1: finished" in done.stdout
    assert done.stderr == ""


def test_a_recording_is_played_and_named(tmp_path: Path) -> None:
    report = summary("run", "--recorded", SMALL, "--ticks", 480, "--workers", 1, data_dir=tmp_path / "data")
    assert report["run"] == "recorded-1"
    assert report["jobs"]["plan"]["end"] == {"applied": report["agents"]}


def test_ctrl_c_leaves_a_run_that_goes_on_to_the_same_digest(
    finished: tuple[Path, dict[str, Any], str], tmp_path: Path, eventually: Eventually
) -> None:
    data_dir = tmp_path / "data"
    arguments = ("run", "--town", 3, "--ticks", 480, "--workers", 1, "--tick-rate", 60, "--wait", 60, "--run", "mine")
    with EmbeddedServer(data_dir):
        host = _start(*arguments, data_dir=data_dir)
        try:
            eventually(lambda: tick_of(data_dir, "mine") > 100, "the run to be past its 100th tick")
            host.send_signal(signal.SIGINT)
            out, err = host.communicate(timeout=90)
        finally:
            host.kill()
            host.wait()
        assert host.returncode == 130, err
        assert "stopping after this tick" in err
        assert f"run --run mine --resume --data-dir {data_dir}" in out
        assert "Traceback" not in err
        assert summary("status", "mine", data_dir=data_dir)["status"] == "stopped"
        assert not [words for words in left_behind(data_dir) if "celery" in words]
    resumed = summary("run", "--run", "mine", "--resume", data_dir=data_dir)
    assert resumed["digest"] == finished[1]["digest"]
    longer = summary("run", "--run", "mine", "--resume", "--ticks", 500, data_dir=data_dir)
    assert longer["ticks"] == 500


def test_a_second_signal_ends_it_at_once(tmp_path: Path, eventually: Eventually) -> None:
    data_dir = tmp_path / "data"
    host = _start("run", "--town", 3, "--tick-rate", 0.5, "--workers", 1, "--run", "mine", data_dir=data_dir)
    try:
        eventually(lambda: tick_of(data_dir, "mine") > 0, "the run to have begun")
        host.send_signal(signal.SIGTERM)
        assert host.stderr is not None
        said = ""
        while "stopping after this tick" not in said:
            said += host.stderr.readline()
        host.send_signal(signal.SIGTERM)
        _, err = host.communicate(timeout=90)
    finally:
        host.kill()
        host.wait()
    assert host.returncode == 143, said + err
    assert "Traceback" not in said + err
    eventually(lambda: not left_behind(data_dir), "its processes to be gone")


def test_a_server_that_goes_away_ends_the_run_with_one_line(tmp_path: Path, eventually: Eventually) -> None:
    data_dir = tmp_path / "data"
    with EmbeddedServer(tmp_path / "server") as server:
        away = {"COGITATE_REDIS_URL": server.url, "COGITATE_OUTAGE_WAIT": "0.1"}
        host = _start("run", "--town", 3, "--tick-rate", 50, "--workers", 1, "--run", "mine", data_dir=data_dir, **away)
        try:
            eventually(lambda: tick_of(tmp_path / "server", "mine") > 0, "the run to have begun")
            os.kill(int(json.loads((tmp_path / "server" / "server.json").read_text())["pid"]), signal.SIGKILL)
            _, err = host.communicate(timeout=120)
        finally:
            host.kill()
            host.wait()
    assert host.returncode == 1, err
    last = err.strip().splitlines()[-1]
    assert last.startswith("cogitate: run 'mine': Redis stopped answering and was not back within 0.1 s")
    assert "go on with: " in last
    assert "Traceback" not in err
    eventually(lambda: not left_behind(data_dir), "its processes to be gone")


def test_a_mistake_in_a_process_of_its_own_is_one_line_too(tmp_path: Path) -> None:
    done = cogitate("run", "--town", 0, data_dir=tmp_path / "data")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


@pytest.mark.parametrize("name", ["run", "worker", "replay", "audit", "status", "memory", "config"])
def test_every_command_has_help_with_an_example(name: str, in_process: InProcess) -> None:
    code, out, _ = in_process([name, "--help"], {})
    assert code == 0
    assert "Example: " in out


def test_config_shows_what_is_in_force_and_no_secret(tmp_path: Path, in_process: InProcess) -> None:
    _, out, err = in_process(
        ["config", "--json", "--data-dir", str(tmp_path / "data")],
        {
            "COGITATE_WORKERS": "4",
            "COGITATE_API_KEY": "sk-secret",
            "COGITATE_REDIS_URL": "redis://me:secret@localhost/0",
        },
    )
    shown = json.loads(out)
    assert shown["workers"] == {"value": 4, "from": "COGITATE_WORKERS"}
    assert shown["data_dir"] == {"value": str(tmp_path / "data"), "from": "flag"}
    assert shown["model"]["from"] == "default"
    assert "secret" not in out + err


@pytest.fixture
def in_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[InProcess]:
    """The same program without a process of its own, for what ends before anything is started."""

    def run(arguments: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        for name in [name for name in os.environ if name.startswith(("COGITATE_", "OPENAI_"))]:
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["cogitate", *arguments])
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    yield run
    structlog.reset_defaults()


def _recording(folder: Path) -> Path:
    folder.mkdir()
    (folder / "meta.json").write_text('{"start_date": "the day before yesterday"}')
    return folder


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (["run", "--days", "x"], {}, "--days"),
        (["run", "--nope"], {}, "--nope"),
        (["run", "--town", "0"], {}, "--town 0"),
        (["run", "--town", "3", "--recorded", str(SMALL)], {}, "--recorded"),
        (["run", "--days", "1", "--ticks", "3"], {}, "not both"),
        (["run", "--recorded", "nowhere"], {}, "nowhere: there is no such folder"),
        (["run", "--recorded", "{broken}"], {}, "the day before yesterday"),
        (["run", "--run", "a b"], {}, "'a b' is not a run name"),
        (["run", "--resume"], {}, "--run NAME"),
        (["run", "--resume", "--run", "lost"], {}, "there is no run 'lost'"),
        (["run", "--resume", "--run", "lost", "--apply", "due"], {}, "keeps its --llm"),
        (["run", "--llm", "openai"], {"OPENAI_API_KEY": "sk-x"}, "--limit-usd"),
        (["run", "--llm", "openai", "--limit-tokens", "9"], {}, "set COGITATE_API_KEY or OPENAI_API_KEY"),
        (["run", "--llm", "oracle"], {}, "'oracle' is not one of"),
        (["run", "--limit-usd", "-1"], {}, "--limit-usd: -1.0: "),
        (["run", "--limit-tokens", "0"], {}, "--limit-tokens: 0: "),
        (["run", "--tick-rate", "fast"], {}, "--tick-rate: 'fast': "),
        (["run"], {"COGITATE_LIMITS": '{"day.run.calls": -4}'}, "'day.run.calls': -4 is not between"),
        (["run"], {"COGITATE_LIMITS": "many"}, "COGITATE_LIMITS='many'"),
        (["run"], {"COGITATE_WORKERS": "many"}, "COGITATE_WORKERS): 'many'"),
        (["run"], {"COGITATE_REDIS_URL": "http://localhost"}, "'http://localhost' is not a Redis URL"),
        (["run"], {"COGITATE_REDIS_URL": "redis://:secret@127.0.0.1:1/0"}, "redis://:***@127.0.0.1:1/0"),
        (["run"], {"COGITATE_REDIS_URL": "redis://localhost:port/0"}, "redis://localhost:port/0"),
        (["run"], {"COGITATE_PROMPTS": "nowhere"}, "nowhere does not exist"),
        (["worker"], {}, "cogitate run"),
        (["worker"], {"COGITATE_REDIS_URL": "redis://127.0.0.1:1/0"}, "127.0.0.1:1"),
        (["replay", "lost"], {}, "there is no run 'lost'"),
        (["replay"], {}, "RUN"),
        (["status", "lost"], {}, "there is no run 'lost'"),
        (["think"], {}, "think"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_what_cannot_be_used_is_said_in_one_line(
    arguments: list[str], environment: dict[str, str], says: str, tmp_path: Path, in_process: InProcess
) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    broken = _recording(tmp_path / "broken")
    given = [part.format(broken=broken) for part in arguments]
    code, out, err = in_process([*given, "--data-dir", str(data_dir)], {"COGITATE_SOCKET_TIMEOUT": "1"} | environment)
    assert code == 2, err
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("cogitate: ")
    assert says in err
    assert "secret" not in err
    assert not left_behind(data_dir)


@pytest.mark.parametrize(
    ("toml", "says"), [("wrokers = 3\n", "'wrokers'"), ("workers = [\n", "cogitate.toml cannot be read")]
)
def test_a_configuration_file_that_cannot_be_used_is_named(
    toml: str, says: str, tmp_path: Path, in_process: InProcess
) -> None:
    (tmp_path / "cogitate.toml").write_text(toml)
    code, _, err = in_process(["run"], {})
    assert (code, len(err.splitlines())) == (2, 1)
    assert says in err


def test_the_demo_shows_degradation_and_which_limit_it_was(tmp_path: Path) -> None:
    done = cogitate("run", "--town", 25, "--days", 1, data_dir=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    share = re.search(r"jobs \(([\d.]+)%\) were degraded", done.stdout)
    assert share is not None
    assert float(share[1]) >= 5
    assert re.search(r"\d+ denied: refused by a limit of the budget \(.*tick\.run\.calls \d+×", done.stdout)


def test_a_run_cannot_be_made_twice(finished: tuple[Path, dict[str, Any], str]) -> None:
    done = cogitate("run", "--run", "town-1", data_dir=finished[0])
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "'town-1' exists already" in done.stderr


def test_a_key_in_the_environment_is_not_used_unless_asked_for(tmp_path: Path) -> None:
    report = summary(
        "run", "--town", 2, "--ticks", 400, "--workers", 1, data_dir=tmp_path / "data", OPENAI_API_KEY="sk-something"
    )
    assert {source for facts in report["jobs"].values() for source in facts["source"]} == {"heuristic"}


def _start(*arguments: object, data_dir: Path, **environment: str) -> subprocess.Popen[str]:
    """The command while it runs; its standard output is buffered as in a pipe."""
    return subprocess.Popen(
        command(*arguments, data_dir=data_dir), cwd=data_dir.parent, text=True, env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_python_m_ops_is_the_same_program(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("cogitate")
    said = [
        subprocess.run(
            [*start, "--version"], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path
        ).stdout
        for start in ([str(script)], [sys.executable, "-m", "ops"])
    ]
    assert said[0] == said[1]
    assert said[0].startswith("cogitate ")
