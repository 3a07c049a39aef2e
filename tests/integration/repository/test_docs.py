"""The commands, options and examples of the documents work as shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cogitate.ops.cli import app
from cogitate.scheduler.config.settings import Settings
from tests.named_tests import pages
from tests.patience import LONGEST
from tests.process_environment import shell_environment
from tests.repository import ROOT
from tests.unit.ops.foreign_agents import write_each

README = (ROOT / "README.md").read_text()
PAGES = {str(page.relative_to(ROOT)): page.read_text() for page in pages(ROOT)}


def blocks(language: str, page: str = "README.md") -> list[str]:
    """Return a page's code blocks in one language, in order."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    return [body for name, body in found if name == language]


def commands(page: str) -> list[str]:
    """Return the calls of `cogitate` that a page shows, in code blocks and between backticks."""
    lines = [line.partition("#")[0] for body in blocks("sh", page) for line in body.splitlines()]
    text = re.sub(r"^```.*?^```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    shown = [*lines, *re.findall(r"`([^`\n]+)`", text)]
    return [found[0] for line in shown if (found := re.search(r"(?<!-[Ap] )\bcogitate [a-z]\w+.*", line))]


def run(*command: str, cwd: Path) -> str:
    """Run a command with one worker, which starts soonest, check that it succeeds, and return its output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=shell_environment(COGITATE_WORKERS="1"),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def times(example: str) -> range:
    """Return how often to run an example: twice, to meet the first run's state, unless it is inline and has none."""
    return range(1 if "inline=True" in example else 2)


def test_the_commands_of_the_first_screen_run_as_typed(tmp_path: Path) -> None:
    script = next(body for body in blocks("sh") if "cogitate run --town 3" in body)
    out = run("bash", "-euc", script, cwd=tmp_path)
    assert "Run first: finished" in out
    assert "rebuilt and agree" in out
    assert "Run first: finished" in run("bash", "-euc", script.splitlines()[0], cwd=tmp_path)  # the script deleted it


def test_the_host_of_the_readme_runs_and_sees_plans(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(next(body for body in blocks("python") if "with TickLoop" in body))
    for _ in range(2):
        out = run(sys.executable, "host.py", cwd=tmp_path)
        assert "agent:ada [" in out
        assert "agent:ben [" in out


def test_the_test_of_the_readme_passes_in_a_separate_project(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(next(body for body in blocks("python") if "cogitate_loop" in body))
    (tmp_path / "cogitate.toml").write_text(
        '[model]\nllm = "openai"\n[budget]\nlimit_usd = 1.0\n'
    )  # applies to runs, not to tests
    assert "1 passed" in run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)


def test_the_configuration_file_of_the_readme_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for body in blocks("toml"):
        Path("cogitate.toml").write_text(body)
        assert Settings().workers == 4


# Pages whose examples need more than to be run by themselves:
PLOTTING = "docs/how-to/plotting.md"  # its example reads files that its commands write
COMPARING = "docs/how-to/comparing.md"
IMPORTING = "docs/how-to/importing.md"  # as for plotting
HOSTING = "docs/how-to/hosting.md"  # each of its hosts prints something
EXPERIMENTS = ("docs/how-to/experiments.md", "docs/tutorial/an-experiment.md")  # as for plotting
CONCORDIA = "docs/how-to/concordia.md"  # needs Python 3.12
ROUNDS, WORLDS = "docs/how-to/rounds.md", "docs/tutorial/three-worlds.md"  # the pages show their examples' output


@pytest.mark.parametrize(
    ("page", "number"),
    [
        (page, number)
        for page in PAGES
        if page not in ("README.md", PLOTTING, IMPORTING, CONCORDIA, COMPARING, ROUNDS, WORLDS, *EXPERIMENTS)
        for number, body in enumerate(blocks("python", page))
        if "import watches" not in body and 'run="kepler"' not in body  # another test compares their output
    ],
)
def test_the_examples_of_the_other_pages_run(page: str, number: int, tmp_path: Path) -> None:
    example = blocks("python", page)[number]
    (tmp_path / "example.py").write_text(example)
    shown = PAGES[page].partition(f"{example}```\n\n```text\n")[2].partition("```")[0]
    for _ in times(example):
        printed = run(sys.executable, "-W", "error", "example.py", cwd=tmp_path)
        assert printed or page != HOSTING
        assert shown in ("", printed)


def test_a_concordia_agent_resumes(tmp_path: Path) -> None:
    pytest.importorskip("concordia", reason="needs gdm-concordia, as `make check-adapters` installs it")
    (tmp_path / "agent.py").write_text(blocks("python", CONCORDIA)[0])
    for _ in range(2):
        said = run(sys.executable, "agent.py", cwd=tmp_path)
    assert said == ""  # in the second process the run is already finished


def test_a_day_is_plotted_from_the_files_of_earlier_commands(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the page needs pyarrow")
    pytest.importorskip("matplotlib", reason="the page needs matplotlib")
    install, script = blocks("sh", PLOTTING)[0].split("\n", 1)
    assert install.startswith("pip install")
    run("bash", "-euc", script, cwd=tmp_path)
    (tmp_path / "plot.py").write_text(blocks("python", PLOTTING)[0])
    out = run(sys.executable, "-W", "error", "plot.py", cwd=tmp_path)
    memories, jobs = map(int, re.findall(r"\d+", out))
    assert memories > jobs > 3
    assert (tmp_path / "day.png").read_bytes().startswith(b"\x89PNG")


def test_two_runs_are_compared_by_the_commands_and_the_function_of_the_page(tmp_path: Path) -> None:
    out = run("bash", "-euc", blocks("sh", COMPARING)[0], cwd=tmp_path)
    assert "First difference at tick" in out
    assert "<!doctype html>" in (tmp_path / "difference.html").read_text()
    assert (tmp_path / "difference.svg").read_text().startswith("<svg ")
    (tmp_path / "example.py").write_text(blocks("python", COMPARING)[0])
    assert " windows" in run(sys.executable, "-W", "error", "example.py", cwd=tmp_path)


def test_a_capsule_is_verified_and_read_by_the_commands_of_the_page(tmp_path: Path) -> None:
    proving, reading = blocks("sh", "docs/how-to/capsules.md")[:2]
    out = run("bash", "-euc", proving, cwd=tmp_path)
    assert "ticks replayed to digest" in out
    out = run("bash", "-euc", reading, cwd=tmp_path)
    assert "town and town.capsule are equal" in out


def test_a_capsule_is_forked_by_the_commands_of_the_page(tmp_path: Path) -> None:
    out = run("bash", "-euc", blocks("sh", "docs/how-to/forking.md")[0], cwd=tmp_path)
    assert "Run noon: finished" in out


def test_a_host_continues_an_imported_run(tmp_path: Path) -> None:
    page = IMPORTING
    (tmp_path / "memories.jsonl").write_text(blocks("json", page)[0])
    imported = run("bash", "-euc", blocks("sh", page)[0], cwd=tmp_path)
    assert "3 memories of 2 owners" in imported
    (tmp_path / "go_on.py").write_text(blocks("python", page)[0])
    assert run(sys.executable, "-W", "error", "go_on.py", cwd=tmp_path) == blocks("text", page)[0]


@pytest.mark.parametrize(
    ("form", "owner"), [("ai-town", "agent:nora"), ("letta", "agent:sam"), ("concordia", "agent:alice")]
)
def test_agents_of_another_program_think_for_a_day(form: str, owner: str, tmp_path: Path) -> None:
    files = write_each(tmp_path)
    script = next(body for body in blocks("sh", IMPORTING) if f"--run {form}\n" in body)
    assert f"cogitate import {files[form].name} " in script
    run("bash", "-euc", script, cwd=tmp_path)
    assert "reflection" in run("bash", "-euc", f"cogitate memory {form} {owner} --json", cwd=tmp_path)


def test_the_story_of_the_page_is_remembered_by_everyone(tmp_path: Path) -> None:
    (tmp_path / "story.py").write_text(
        next(body for body in blocks("python", "docs/how-to/extending.md") if "left_location" in body)
    )
    out = run(sys.executable, "story.py", cwd=tmp_path)
    assert out.count("Bob promised us his boat.") == 3


@pytest.mark.parametrize(
    ("page", "host", "module"),
    [("docs/how-to/hosting.md", 'run="kepler"', ""), ("docs/how-to/extending.md", 'run="watches"', "watches")],
)
def test_a_station_makes_the_plans_that_the_page_shows(page: str, host: str, module: str, tmp_path: Path) -> None:
    if module:
        kind = next(body for body in blocks("python", page) if '@kind(name="plan"' in body)
        (tmp_path / f"{module}.py").write_text(kind)
    (tmp_path / "host.py").write_text(next(body for body in blocks("python", page) if host in body))
    assert run(sys.executable, "host.py", cwd=tmp_path) in blocks("text", page)


def test_reading_memories_prints_what_the_page_shows(tmp_path: Path) -> None:
    page = "docs/how-to/reading-memories.md"
    (tmp_path / "read.py").write_text(blocks("python", page)[0])
    assert run(sys.executable, "read.py", cwd=tmp_path) == blocks("text", page)[0]
    printed, more, written = (run("bash", "-euc", script, cwd=tmp_path) for script in blocks("sh", page))
    assert [line.rstrip() for line in printed.splitlines()] == blocks("text", page)[1].splitlines()
    assert '"run": "memories"' in more
    assert written.startswith("wrote minds.html")
    now, then = ((tmp_path / name).read_text() for name in ("minds.html", "then.html"))
    morning, afternoon = "bellows of the forge are torn", "Ben Cole lent a pair of bellows."
    assert (morning in now, afternoon in now, morning in then, afternoon in then) == (True, True, True, False)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_rounds_print_what_the_page_shows(number: int, tmp_path: Path) -> None:
    example = blocks("python", ROUNDS)[number]
    assert len([line for line in example.splitlines() if line]) <= 35
    (tmp_path / "rounds.py").write_text(example)
    for _ in times(example):
        assert run(sys.executable, "-W", "error", "rounds.py", cwd=tmp_path) == blocks("text", ROUNDS)[number]


def test_the_auction_of_a_mesa_model_prints_what_the_page_shows(tmp_path: Path) -> None:
    page = "docs/how-to/mesa.md"
    (tmp_path / "auction.py").write_text(next(body for body in blocks("python", page) if ".decide(" in body))
    assert run(sys.executable, "auction.py", cwd=tmp_path) == blocks("text", page)[1]


@pytest.mark.parametrize(("number", "most"), [(0, 35), (1, 40), (2, 40)])
def test_three_worlds_print_what_the_page_shows(number: int, most: int, tmp_path: Path) -> None:
    example = blocks("python", WORLDS)[number]
    lines = len([line for line in example.splitlines() if line])
    assert lines <= most
    assert f"{lines} lines:" in PAGES[WORLDS]
    (tmp_path / "world.py").write_text(example)
    for _ in times(example):
        assert run(sys.executable, "-W", "error", "world.py", cwd=tmp_path) == blocks("text", WORLDS)[number]


def test_every_shown_command_and_option_exists() -> None:
    shown = [line for page in PAGES for line in commands(page)]
    names = sorted({line.split()[1] for line in shown})
    assert {"run", "worker", "replay", "audit", "status", "memory", "config"} <= set(names)
    for name in names:
        known = CliRunner().invoke(app, [name, "--help"])
        assert known.exit_code == 0, name
        for line in shown:
            if line.split()[1] == name and name != "worker":  # it passes further options to Celery
                assert [option for option in re.findall(r"--[a-z-]+", line) if option not in known.output] == [], line


def test_every_shown_variable_is_a_setting(subtests: pytest.Subtests) -> None:
    for page in PAGES:
        with subtests.test(page=page):
            shown = {name.partition("__")[0].lower() for name in re.findall(r"\bCOGITATE_([A-Z]\w*)", PAGES[page])}
            assert shown - {"recordings", "require_system"} <= set(Settings.model_fields)


def test_every_linked_page_and_heading_exists(subtests: pytest.Subtests) -> None:
    for page in PAGES:
        with subtests.test(page=page):
            for target in re.findall(r"\]\(((?!https?:)[^)]+)", PAGES[page]):
                file, _, heading = target.partition("#")
                linked = (ROOT / page).parent / file if file else ROOT / page
                assert linked.is_file(), target
                if heading:
                    headings = re.findall(r"^#+ (.+)$", linked.read_text(), flags=re.MULTILINE)
                    assert heading in {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}, (
                        target
                    )


def test_the_index_links_every_page_and_the_readme_links_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    assert "](docs/index.md)" in README
    linked = {index.parent / target for target in re.findall(r"\]\(([^)#]+)", index.read_text())}
    assert {ROOT / page for page in PAGES if page.startswith("docs/")} == linked | {index}


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
