"""Where everything must be there, a test that skips for want of it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repository import copy_shared, run_pytest

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
    done = run_pytest(tmp_path, **environment)
    assert outcome in done.stdout
    assert ("no Chromium" in done.stdout) == ("COGITATE_REQUIRE_SYSTEM" in environment)
