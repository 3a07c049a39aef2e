"""Where everything must be there, a test that skips for want of it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import copy_shared

TESTS = """
import pytest

@pytest.mark.system
def test_browser():
    pytest.skip("no Chromium")

@pytest.mark.recordings
def test_recording():
    pytest.skip("no recording")

def test_ordinary():
    pytest.skip("for another reason")
"""


@pytest.mark.parametrize(
    ("environment", "outcome"),
    [
        ({}, "3 skipped"),
        ({"COGITATE_REQUIRE_SYSTEM": "1"}, "1 failed, 2 skipped"),
        ({"COGITATE_REQUIRE_SYSTEM": "1", "COGITATE_RECORDINGS": "."}, "2 failed, 1 skipped"),
    ],
)
def test_a_skip_fails_where_its_requirement_is_mandatory(
    environment: dict[str, str], outcome: str, tmp_path: Path
) -> None:
    (copy_shared(tmp_path) / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  system\n  recordings\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert outcome in done.stdout
    assert ("no Chromium" in done.stdout) == ("COGITATE_REQUIRE_SYSTEM" in environment)
