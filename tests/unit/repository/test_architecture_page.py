"""The page on the architecture: every room is on it, no room is crowded, and each file that the walk names exists."""

from __future__ import annotations

import re

import pytest

from tests.repository import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
PACKAGES = ["cogitate", *(link.name for link in (ROOT / "cogitate").iterdir() if link.is_symlink())]
ROOMS = sorted(
    {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py"}
)
CROWDED = 22  # modules
FILES = sorted(set(re.findall(r"`([\w/]+\.(?:py|lua))`", PAGE)))


def test_every_package_is_on_the_page_and_has_few_modules(subtests: pytest.Subtests) -> None:
    assert ROOMS
    for room in ROOMS:
        name = room.relative_to(ROOT).as_posix()
        with subtests.test(room=name):
            assert f"`{name}`" in PAGE or any(f"`{name}/{sub.name}`" in PAGE for sub in room.iterdir())
            assert len(list(room.glob("*.py"))) <= CROWDED


def test_each_file_of_the_walk_exists(subtests: pytest.Subtests) -> None:
    assert FILES
    for file in FILES:
        with subtests.test(file=file):
            assert (ROOT / file).is_file()
