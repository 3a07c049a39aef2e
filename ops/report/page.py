"""Pages as one HTML text that loads no file and escapes every text.

A report runs no script; the policy of a page with a script allows only its own style and code.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cogitate.hosting.terminal import visible
from cogitate.ops.formatting.charts import HATCHES, STYLE, figure
from cogitate.scheduler.journal.private_files import private_file

TEMPLATES = Path(__file__).parent / "templates"


def rendered(template: str, **values: Any) -> str:
    """Render a template; hidden characters in its values, which could reverse the text around them, are escaped."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return visible(environment.get_template(template).render(**values))


def script_page(name: str, *, parts: Sequence[str] = (), asks: bool = False, **values: Any) -> str:
    """Return the page of the template `name`, with the style and the script of the same name.

    Args:
        parts: names of further scripts, which follow that one.
        asks: whether the page may send requests to its own server; otherwise it loads nothing.
    """
    style = (TEMPLATES / f"{name}.css").read_text(encoding="utf-8")
    script = "\n".join((TEMPLATES / f"{part}.js").read_text(encoding="utf-8") for part in (name, *parts))
    policy = f"default-src 'none'; style-src {_allowed(style)}; script-src {_allowed(script)}"
    if asks:
        policy += "; connect-src 'self'"
    return rendered(
        f"{name}.html.j2",
        **values,
        asks=asks,
        style=Markup(style),
        script=Markup(script),
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
    )


def script_data(value: object) -> Markup:
    """Return a value as JSON for a `<script>` element.

    Its texts must have passed `visible`, which does not recognise characters that JSON escapes.
    """
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))


def write_page(html: str, path: Path) -> None:
    """Write a page that only its owner may read.

    Raises:
        OSError: when the file cannot be written.
    """
    with private_file(path) as file:
        file.write(html.encode())


def _allowed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


Cell = str | int | float | None


@dataclass(frozen=True)
class ReportTable:
    """A table of figures and texts. Columns that hold only numbers are aligned right."""

    head: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    caption: str = ""

    @property
    def rows(self) -> list[list[str]]:
        """Return the cells as text."""
        return [["–" if c is None else c if isinstance(c, str) else figure(c) for c in row] for row in self.cells]

    @property
    def numbers(self) -> set[int]:
        """Return the columns that hold only numbers."""
        return {n for n in range(len(self.head)) if not any(isinstance(row[n], str) for row in self.cells)}


@dataclass(frozen=True)
class Section:
    """A heading and its contents in this order."""

    title: str
    texts: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    charts: Sequence[Markup] = ()
    tables: Sequence[ReportTable] = ()


@dataclass
class Page:
    """A report."""

    title: str
    about: str
    sections: list[Section] = field(default_factory=list)
    footer: str = ""

    def html(self) -> str:
        return rendered("report.html.j2", page=self, style=STYLE, hatches=HATCHES)

    def write(self, path: Path) -> None:
        """Write the file.

        Raises:
            OSError: when the file cannot be written.
        """
        write_page(self.html(), path)
