"""Files of models in packages: joined, and known by their hash."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import pytest

from bench.local_model.models import LocalModel, file_of


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with the packages part-one and part-two, each with a file."""
    for name, content in (("part-one", b"GGUF, "), ("part-two", b"weights")):
        (tmp_path / name).write_bytes(content)
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def test_a_file_in_parts_is_joined_in_their_order(packages: Path) -> None:
    parts = {"part-one": "part-one", "part-two": "part-two"}
    whole = file_of(LocalModel("small", parts, sha256(b"GGUF, weights").hexdigest()))
    assert whole.read_bytes() == b"GGUF, weights"


def test_a_file_in_one_part_is_not_copied(packages: Path) -> None:
    assert file_of(LocalModel("small", {"part-one": "part-one"}, sha256(b"GGUF, ").hexdigest())).parent == packages


def test_a_file_other_than_the_tables_is_refused(packages: Path) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        file_of(LocalModel("small", {"part-one": "part-one"}, "0" * 64))
