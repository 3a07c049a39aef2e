"""Hooks of the site's build: draw diagrams at build time, without scripts, and register the packages."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any

import mmdr
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from pymdownx.superfences import SuperFencesException

_numbers = itertools.count()


@event_priority(100)  # before mkdocstrings takes its options
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Register the fence for diagrams, and the packages whose names `cogitate` re-exports."""
    fence = {"name": "mermaid", "class": "diagram", "format": draw}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    project = tomllib.loads(Path(config.config_file_path).with_name("pyproject.toml").read_text())
    packages = project["tool"]["importlinter"]["root_packages"]
    config.plugins["mkdocstrings"].config["handlers"]["python"]["options"]["preload_modules"] = packages
    return config


def draw(source: str, *_: Any, **__: Any) -> str:
    """Return the SVG of a diagram.

    Raises:
        SuperFencesException: when the diagram cannot be read, so that the build fails.
    """
    try:
        svg: str = mmdr.render(source).svg()
    except ValueError as error:
        raise SuperFencesException(f"{error}, in the diagram\n{source}") from error
    # All drawings have the same id, and their styles name it: give each a separate one.
    svg = svg.replace("merman", f"diagram-{next(_numbers)}")
    # The renderer measures labels in a narrower font than browsers use, and its grey label boxes hide the lines.
    svg = svg.replace("font-size:14px", "font-size:12px").replace("hsl(-120, 0%, 80%)", "#ffffff")
    return f'<figure class="diagram" style="width: 100%; background: white">{svg}</figure>'
