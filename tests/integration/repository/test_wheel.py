"""The wheel beside a host whose modules have our names: workers, Flower and replay work as in the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cogitate.workers.processes.embedded import EmbeddedServer
from tests.patience import LONGEST
from tests.ports import free_ports
from tests.repository import ROOT

BUILT_FROM = (
    "cogitate",
    "hosting",
    "memory",
    "ops",
    "prompts",
    "scheduler",
    "simulation",
    "tasks",
    "workers",
    "celeryconfig.py",
    "cogitate_pytest.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)

WORLD = """
import json, sys
from cogitate import Change, Observation, Profile, Settings, TickLoop

def live(**settings):
    owners = {"agent:ada": Profile(name="Ada Smith", occupation="smith"), "agent:ben": Profile(name="Ben Cole")}
    loop = TickLoop(run="village", owners=owners, settings=Settings(**settings), ticks=480)
    kinds = []
    with loop:
        for tick in loop:
            kinds += [change.kind for change in tick.applied]
            if tick.minute % 60 == 0:
                text = f"Ben Cole asked for {tick.number} ploughshares."
                loop.observe("agent:ada", Observation(text=text, minute=tick.minute, importance=8))
            if tick.minute == 420:
                loop.request("reflect", "agent:ada")
    ended = sum(loop.ended.values())
    print(json.dumps({"digest": loop.digest, "kinds": sorted(set(kinds)), "ended": ended}))
"""
# A host's own modules with the names of ours. If our code imported one of them, it would raise.
OWN = {
    "tasks.py": "from celery import Celery\napp = Celery('tasks', broker='redis://127.0.0.1:1/0')\nmine = 'tasks'\n",
    "memory/__init__.py": "mine = 'memory'\n",
    "memory/entry.py": "raise AssertionError('memory.entry of the host is imported')\n",
    "workers/__init__.py": "mine = 'workers'\n",
    "scheduler.py": "mine = 'scheduler'\n",
    "simulation/__init__.py": "mine = 'simulation'\n",
    "prompts/__init__.py": "mine = 'prompts'\n",
    "prompts/plan.j2": "Mine.\n",
    "hosting/__init__.py": "mine = 'hosting'\n",
    "ops.py": "mine = 'ops'\n",
    "celeryconfig.py": "raise AssertionError('celeryconfig of the host is imported')\n",
    "world.py": WORLD,
    "main.py": (
        "import hosting, memory, ops, prompts, scheduler, simulation, tasks, workers\n"
        "from world import live\n"
        "live()\n"
        "for module in (hosting, memory, ops, prompts, scheduler, simulation, tasks, workers):\n"
        "    assert module.mine == module.__name__\n"
    ),
}


def clean_environment(**variables: str) -> dict[str, str]:
    """Return the environment of a user who has set only these variables."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "PYTHONPATH"))}
    return inherited | variables


def ran(*command: object, cwd: Path, **variables: str) -> str:
    """Run a command, check that it succeeds, and return its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment(**variables),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, because setuptools leaves a folder `build` beside the sources."""
    folder = tmp_path_factory.mktemp("source")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True)
        else:
            shutil.copy(ROOT / name, folder / name)
    ran(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--wheel-dir",
        folder / "dist",
        folder,
        cwd=folder,
    )
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a fresh environment that sees our dependencies but not the repository."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = Path(ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # Python searches a folder that a .pth file names, but does not read the .pth files in it, such as that of an
    # editable install of the repository.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    ran(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
        wheel,
        cwd=folder,
    )
    placed = {name.name for name in site.iterdir()} - {"dependencies.pth", "__pycache__"}
    assert {name for name in placed if not name.endswith(".dist-info")} == {"cogitate", "cogitate_pytest.py"}
    return folder / "bin"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Write a host whose own modules have the names of ours, and return its folder."""
    for name, text in OWN.items():
        file = tmp_path / "host" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "host"


@pytest.fixture(scope="module")
def own_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Run the same world from the repository, with separate worker processes, and return its result."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "world.py").write_text(WORLD)
    found: dict[str, object] = json.loads(ran(sys.executable, "-c", "import world; world.live()", cwd=folder))
    assert {"plan", "reflect"} <= set(found["kinds"])  # type: ignore[call-overload]
    return found


def test_a_host_with_modules_of_our_names_reaches_the_digest_of_the_repository(
    bin_folder: Path, host: Path, own_run: dict[str, object]
) -> None:
    assert json.loads(ran(bin_folder / "python", "main.py", cwd=host)) == own_run
    said = ran(bin_folder / "cogitate", "replay", "village", "--verify", cwd=host)
    assert "rebuilt and agree" in said
    assert str(own_run["digest"]) in said


@pytest.fixture
def workers_and_flower(
    bin_folder: Path, host: Path, valkey: EmbeddedServer, eventually: Callable[..., None]
) -> Iterator[str]:
    """Run `celery -A cogitate worker` and `celery -A cogitate flower` as a user types them; yield Flower's address."""
    port = free_ports()
    celery = [str(bin_folder / "python"), "-m", "celery", "-A", "cogitate"]
    environment = clean_environment(COGITATE_REDIS_URL=valkey.url, FLOWER_UNAUTHENTICATED_API="true")
    commands = {
        "worker": [*celery, "worker", "--hostname", "typed@%h", "--loglevel", "info"],
        "flower": [*celery, "flower", "--address=127.0.0.1", f"--port={port}"],
    }
    address = f"http://127.0.0.1:{port}"
    started = {}
    try:
        for name, command in commands.items():
            with (host.parent / f"{name}.log").open("wb") as out:
                started[name] = subprocess.Popen(command, env=environment, cwd=host.parent, stdout=out, stderr=out)

        def ready() -> bool:
            ended = [name for name, process in started.items() if process.poll() is not None]
            assert not ended, (host.parent / f"{ended[0]}.log").read_text()
            try:
                return "typed@" in get(f"{address}/api/workers?refresh=1")
            except OSError:
                return False

        eventually(ready, "Flower to know the worker")
        yield address
    finally:
        for process in started.values():
            process.terminate()
        for process in started.values():
            try:
                process.wait(LONGEST)
            finally:
                process.kill()
                process.wait()


def get(address: str) -> str:
    """Get a page, and return its text."""
    with urllib.request.urlopen(address, timeout=LONGEST) as answer:
        text: str = answer.read().decode()
        return text


def test_celery_finds_worker_and_flower_in_the_package(
    bin_folder: Path, host: Path, own_run: dict[str, object], valkey: EmbeddedServer, workers_and_flower: str
) -> None:
    found = ran(bin_folder / "python", "main.py", cwd=host, COGITATE_REDIS_URL=valkey.url, COGITATE_WORKERS="0")
    assert json.loads(found) == own_run
    names = {task["name"] for task in json.loads(get(f"{workers_and_flower}/api/tasks")).values()}
    assert {"plan", "reflect"} <= names  # task names are the kinds' names and do not depend on modules
    assert "village" in get(f"{workers_and_flower}/budgets")


def test_the_wheel_installs_every_file_of_its_record(bin_folder: Path) -> None:
    code = (
        "import importlib.metadata, json\n"
        "import cogitate.mesa\n"
        "files = importlib.metadata.files('cogitate')\n"
        "print(json.dumps([str(file) for file in files if not file.locate().is_file()]))\n"
        "print(len(files), importlib.metadata.entry_points(group='cogitate.flower'))\n"
    )
    missing, told = ran(bin_folder / "python", "-c", code, cwd=bin_folder).splitlines()
    assert json.loads(missing) == []
    assert "cogitate.ops.flower.pages:register" in told


def test_a_type_checker_reads_the_types_of_the_package(bin_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(
        "from cogitate import Observation, TickLoop\n"
        "def number(loop: TickLoop) -> int:\n"
        "    return loop.tick\n"
        "seen = Observation(text='Hello.', minute='soon', importance=5)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-executable", str(bin_folder / "python"), "typed.py"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert 'Argument "minute" to "Observation" has incompatible type "str"' in done.stdout, done.stdout + done.stderr
    assert "Found 1 error in 1 file" in done.stdout


def test_the_pytest_plugin_works_beside_modules_of_our_names(bin_folder: Path, host: Path) -> None:
    (host / "test_mine.py").write_text(
        "import tasks\n"
        "from cogitate import Profile\n"
        "def test_plan(cogitate_loop):\n"
        "    loop = cogitate_loop(owners={'agent:ada': Profile(name='Ada Smith')}, ticks=400)\n"
        "    assert any(change.kind == 'plan' for tick in loop for change in tick.applied)\n"
        "    assert tasks.mine == 'tasks'\n"
    )
    said = ran(bin_folder / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=prepend", cwd=host)
    assert "1 passed" in said
