"""Imports that are moved into one package, and names that a host's own modules hide."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from setuptools import find_packages

from build_backend.one_package import BuildError, rewrite_entry_points, rewrite_imports
from cogitate._shadowing import NAMES
from tests.repository import ROOT

MODULES = frozenset({"tasks", "memory", "celeryconfig"})


@pytest.mark.parametrize(
    ("written", "moved"),
    [
        ("from cogitate.tasks.job import Job\n", "from cogitate.tasks.job import Job\n"),
        ("from tasks import job\n", "from cogitate.tasks import job\n"),
        ("from  cogitate.memory.entry import (\n    Entry,\n)\n", "from  cogitate.memory.entry import (\n    Entry,\n)\n"),
        ("import celeryconfig\n", "from cogitate import celeryconfig\n"),
        ("import os, cogitate.tasks.job as job\n", "import os, cogitate.tasks.job as job\n"),
        ("x = 'é'; from tasks import job\n", "x = 'é'; from cogitate.tasks import job\n"),
        ("def f():\n    from tasks import job\n", "def f():\n    from cogitate.tasks import job\n"),
        ("from . import tasks\nfrom .tasks import job\n", "from . import tasks\nfrom .tasks import job\n"),
        ("from celery import tasks\nimport tasksets\n", "from celery import tasks\nimport tasksets\n"),
        ("'''\nfrom tasks import job\n'''\nx = 'cogitate.tasks.job'\n", "'''\nfrom tasks import job\n'''\nx = 'cogitate.tasks.job'\n"),
        ("from cogitate import X\r\nimport tasks\r\n", "from cogitate import X\r\nfrom cogitate import tasks\r\n"),
    ],
)  # fmt: skip
def test_imports_lead_into_the_package_and_nothing_else_changes(written: str, moved: str) -> None:
    assert rewrite_imports(written.encode(), MODULES, "one.py").decode() == moved


@pytest.mark.parametrize(
    "written", ["import cogitate.tasks.job\n", "import os, tasks\n", "from \\\n  tasks import job\n"]
)
def test_an_import_that_would_bind_another_name_is_refused_with_its_line(written: str) -> None:
    with pytest.raises(BuildError, match=r"one\.py, line 2"):
        rewrite_imports(b"x = 1\n" + written.encode(), MODULES, "one.py")


def test_every_room_is_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    packages = project["importlinter"]["root_packages"]
    rooms = {init.parent.relative_to(ROOT).as_posix() for one in packages for init in (ROOT / one).rglob("__init__.py")}
    found = find_packages(str(ROOT), include=project["setuptools"]["packages"]["find"]["include"])
    assert rooms <= {package.replace(".", "/") for package in found}


def test_entry_points_lead_into_the_package_but_for_the_plugin() -> None:
    text = "[console_scripts]\ncogitate = cogitate.ops.cli:main\n\n[pytest11]\ncogitate = cogitate_pytest\n"
    assert rewrite_entry_points(text).strip() == text.replace("cogitate.ops.cli", "cogitate.ops.cli").strip()


def test_every_name_at_the_top_is_moved_and_checked() -> None:
    import tomllib

    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    top = {*setup["py-modules"], *(name for name in setup["packages"]["find"]["include"] if "." not in name)}
    assert top - {"cogitate", "cogitate_pytest"} == set(NAMES)


# Words that look like modules and are none: events of the log, which keep their names in every layout.
EVENTS = {"memory.unreadable", "prompts.cut"}


def test_no_text_names_a_module_that_would_not_follow() -> None:
    """What imports by name must derive it from `__package__` or from a module, as the package has another name."""
    found = []
    for name in (*NAMES, "cogitate"):
        for file in sorted((ROOT / name).rglob("*.py")) or [ROOT / f"{name}.py"]:
            for node in ast.walk(ast.parse(file.read_text())):
                if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                    continue
                module = node.value.partition(":")[0]
                place = ROOT / module.replace(".", "/")
                named = module.partition(".")[0] in NAMES and "." in module and module not in EVENTS
                if named and (place.is_dir() or place.with_suffix(".py").is_file()):
                    found.append(f"{file.relative_to(ROOT)}, line {node.lineno}: {module}")
    assert found == []


@pytest.mark.parametrize("own", ["tasks.py", "memory/__init__.py", "workers/nothing.txt"])
def test_a_name_that_a_host_hides_is_told_with_its_file_and_what_to_do(own: str, tmp_path: Path) -> None:
    (tmp_path / own).parent.mkdir(exist_ok=True)
    (tmp_path / own).write_text("raise AssertionError('it is not to be imported')\n")
    done = subprocess.run(
        [sys.executable, "-c", "import cogitate"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    hidden = tmp_path / (own if own == "tasks.py" else own.partition("/")[0])
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(
        f"ImportError: cogitate needs its own module {hidden.stem!r}, but Python finds {hidden} first"
    )
    assert f"pip install {ROOT}" in said
