"""Draw the diagrams of the documentation while the site is built, so that its pages load no script for them."""

from __future__ import annotations

import itertools
from typing import Any

import mmdr
from mkdocs.config.defaults import MkDocsConfig
from pymdownx.superfences import SuperFencesException

_numbers = itertools.count()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Register the fence of diagrams."""
    fence = {"name": "mermaid", "class": "diagram", "format": draw}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
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
    # Each drawing's styles name its id, which is the same in all of them.
    svg = svg.replace("merman", f"diagram-{next(_numbers)}")
    # It measures labels in a font of its own, which is narrower than a reader's, on boxes that hide the lines behind.
    svg = svg.replace("font-size:14px", "font-size:12px").replace("hsl(-120, 0%, 80%)", "#ffffff")
    return f'<figure class="diagram" style="width: 100%; background: white">{svg}</figure>'
