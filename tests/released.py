"""Released versions, unpacked from the repository's history as a user had them installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.repository import ROOT

#: The commits of the releases whose runs this version still reads.
RELEASED = {
    "0.2.0": "9866a05895a4ae52079d476d6813f505d378b031",
    "0.3.0": "2239435fce9d21dbc1b1551f73820f50d11a4c31",
}


def unpacked(version: str, folder: Path) -> Path:
    """Unpack a released version, and return its folder for PYTHONPATH; skip the test if the history is missing."""
    commit, place = RELEASED[version], folder / version
    history = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True)
    if history.returncode:
        pytest.skip(f"the repository's history does not reach back to {version}: fetch all of it")
    place.mkdir()
    tree = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "x"], input=tree.stdout, cwd=place, check=True)
    about = place / f"cogitate-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cogitate\nVersion: {version}\n")
    return place
