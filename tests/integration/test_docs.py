"""What the documents say can be typed, can be typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scheduler.settings import Settings

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    """The README's examples in one language, in order."""
    return [body for name, body in BLOCKS if name == language]


def run(*command: str, cwd: Path) -> str:
    """What a command prints; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "OPENAI_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), clean.get("PATH", "")])
    done = subprocess.run(
        command, cwd=cwd, env={**clean, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_commands_of_the_first_screen_run_as_typed(tmp_path: Path) -> None:
    script = next(body for body in blocks("sh") if "cogitate run --town 3" in body)
    out = run("bash", "-euc", script, cwd=tmp_path)
    assert "Run first: finished" in out
    assert "rebuilt and agree" in out


def test_the_host_of_the_readme_runs_and_sees_plans(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(next(body for body in blocks("python") if "with TickLoop" in body))
    out = run(sys.executable, "host.py", cwd=tmp_path)
    assert "agent:ada [" in out
    assert "agent:ben [" in out


def test_the_test_of_the_readme_passes_in_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(next(body for body in blocks("python") if "cogitate_loop" in body))
    assert "1 passed" in run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)


def test_the_configuration_file_of_the_readme_can_be_read() -> None:
    for body in blocks("toml"):
        assert Settings(**tomllib.loads(body)).workers == 4


def test_every_command_and_option_that_is_shown_exists(tmp_path: Path) -> None:
    shown = [line for body in blocks("sh") for line in body.splitlines() if re.search(r"\bcogitate \w", line)]
    for name in sorted({re.search(r"\bcogitate (\w+)", line)[1] for line in shown}):  # type: ignore[index]
        known = run(sys.executable, "-m", "ops", name, "--help", cwd=tmp_path)
        for line in shown:
            if re.search(rf"\bcogitate {name}\b", line) and name != "worker":
                assert [
                    option for option in re.findall(r"--[a-z-]+", line.partition("cogitate")[2]) if option not in known
                ] == []


def test_every_variable_that_is_shown_is_a_setting() -> None:
    shown = set(re.findall(r"COGITATE_([A-Z_]+)", README))
    assert {name.lower() for name in shown} <= set(Settings.model_fields)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(((?!https?:)[^)#]+)", README))))
def test_every_page_that_is_linked_exists(target: str) -> None:
    assert (ROOT / target).is_file()


def test_make_without_a_target_lists_the_targets_that_the_readme_names() -> None:
    listed = run("make", "-s", cwd=ROOT)
    assert all(f"make {name} " in listed for name in ("venv", "demo", "test"))


def test_workers_by_hand_serve_a_run_that_starts_none(tmp_path: Path) -> None:
    script = """
        cogitate run --town 2 --ticks 400 --workers 0 --run mine &
        run=$!
        until [ -e .cogitate/server.json ]; do sleep 0.1; done
        cogitate worker --concurrency 2 2> worker.log &
        worker=$!
        wait "$run"
        kill "$worker"
        wait "$worker" || true
    """
    assert re.search(r"plan +│ +2 │ +2 │", run("bash", "-euc", script, cwd=tmp_path))
