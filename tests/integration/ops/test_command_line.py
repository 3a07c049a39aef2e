"""The command line without a run: help, settings, and mistakes, each reported in one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cogitate.ops.cli import COMMANDS, app
from cogitate.simulation import recordings
from tests.integration.command import cogitate, left_behind, typed
from tests.patience import LONGEST

SMALL = Path(next(iter(recordings.__path__))) / "small"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_has_help_with_an_example(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0
    assert "Example:" in shown.output


def test_the_model_client_is_loaded_only_with_a_model() -> None:
    loaded = (
        "import sys, cogitate.ops.cli, cogitate.ops.commands.run, cogitate.workers.celery_app;"
        "import cogitate.workers.jobs.process_lane; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, timeout=LONGEST, check=True)
    assert "cogitate.workers.jobs.process_lane" in done.stdout.split()
    assert not {"openai", "aiohttp", "cogitate.ops.doctor.command"} & set(done.stdout.split())


def test_python_m_ops_is_the_same_program(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("cogitate")
    said = [
        subprocess.run(
            [*start, "--version"], capture_output=True, text=True, timeout=LONGEST, check=True, cwd=tmp_path
        ).stdout
        for start in ([str(script)], [sys.executable, "-m", "cogitate.ops"])
    ]
    assert said[0] == said[1]
    assert said[0].startswith("cogitate ")


def test_config_shows_effective_settings_without_secrets(tmp_path: Path) -> None:
    done = typed(
        "config",
        "--json",
        data_dir=tmp_path / "data",
        COGITATE_WORKERS="4",
        COGITATE_API_KEY="sk-secret",
        COGITATE_REDIS_URL="redis://me:secret@localhost/0",
    )
    shown = json.loads(done.stdout)
    assert shown["workers"] == {"value": 4, "from": "COGITATE_WORKERS", "table": "workers"}
    assert shown["data_dir"] == {"value": str(tmp_path / "data"), "from": "flag", "table": "server"}
    assert shown["model"]["from"] == "default"
    assert "secret" not in done.stdout + done.stderr


def test_config_shows_the_price_of_each_model_in_use_and_its_date(tmp_path: Path) -> None:
    asked = {
        "COGITATE_LLM": "openai",
        "COGITATE_MODEL": "gpt-4o",
        "OPENAI_API_KEY": "any",
        "COGITATE_LIMIT_TOKENS": "9",
    }
    shown = " ".join(typed("config", data_dir=tmp_path / "data", **asked).stdout.split())
    assert re.search(r"Price of gpt-4o: \$2\.5 and \$10 per million tokens .*\(table of \d{4}-\d\d-\d\d\)", shown)
    assert "Price of" not in typed("config", data_dir=tmp_path / "data").stdout


def test_an_error_of_the_installed_command_is_one_line(tmp_path: Path) -> None:
    done = cogitate("run", "--town", 0, data_dir=tmp_path / "data")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


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
        (["run", "--story", "--recorded", str(SMALL)], {}, "give no --town, no --story and no --seed"),
        (["run", "--story", "--town", "3"], {}, "give --town 3 or --story, not both"),
        (["run", "--run", "mine", "--story", "--resume"], {}, "and no --town, --story"),
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
def test_unusable_arguments_are_reported_in_one_line(
    arguments: list[str], environment: dict[str, str], says: str, tmp_path: Path
) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    broken = _recording(tmp_path / "broken")
    given = [part.format(broken=broken) for part in arguments]
    done = typed(*given, data_dir=data_dir, **{"COGITATE_SOCKET_TIMEOUT": "1"} | environment)
    err = done.stderr
    assert done.returncode == 2, err
    assert done.stdout == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("cogitate: ")
    assert says in err
    assert "secret" not in err
    assert not left_behind(data_dir)


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        (b"wrokers = 3\n", "wrokers: there is no such setting in cogitate.toml; did you mean 'workers'?"),
        (b"workers = [\n", "cogitate.toml cannot be read as TOML"),
        (b'model = "caf\xe9"\n', "cogitate.toml is not UTF-8"),
    ],
)
def test_an_unusable_configuration_file_is_reported(toml: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "cogitate.toml").write_bytes(toml)
    done = typed("run", data_dir=tmp_path / "data")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert says in done.stderr
