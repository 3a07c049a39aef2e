"""The hooks that pip calls (PEP 517): those of setuptools, except that a wheel holds one package, `cogitate`.

An editable install keeps the folders where they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
)

from build_backend.one_package import gather, rewrite_entry_points

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel and return its file name."""
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    gather(Path(wheel_directory) / name)
    return name


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Write the metadata of the wheel and return the name of their folder."""
    name: str = build_meta.prepare_metadata_for_build_wheel(metadata_directory, config_settings)
    entry_points = Path(metadata_directory) / name / "entry_points.txt"
    entry_points.write_text(rewrite_entry_points(entry_points.read_text()))
    return name
