"""The page on the architecture: every room is on it, no room is crowded, and the walk names what there is."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.repository import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
ROOMS = sorted(
    {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py"}
)
CROWDED = 24  # modules
STEPS = re.findall(r"`([\w/]+\.(?:py|lua))`(?:: `([\w.]+)`)?", PAGE.partition("## The walk of one reflection")[2])


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(ROOT).as_posix())
def test_every_room_is_on_the_page_and_none_is_crowded(room: Path) -> None:
    name = room.relative_to(ROOT).as_posix()
    assert f"`{name}`" in PAGE or any(f"`{name}/{sub.name}`" in PAGE for sub in room.iterdir())
    assert len(list(room.glob("*.py"))) <= CROWDED


def test_the_walk_is_short() -> None:
    assert 10 <= len(STEPS) <= 25
    assert len({file for file, _ in STEPS}) <= 15


@pytest.mark.parametrize(("file", "function"), STEPS)
def test_each_step_of_the_walk_exists(file: str, function: str) -> None:
    text = (ROOT / file).read_text()
    if file.endswith(".lua"):
        return
    known = {
        f"{owner.name}.{one.name}"
        for owner in ast.walk(ast.parse(text))
        if isinstance(owner, ast.ClassDef)
        for one in owner.body
        if isinstance(one, ast.FunctionDef)
    }
    known |= {one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
    assert function in known
