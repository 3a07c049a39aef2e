"""A report as one HTML file: nothing in it comes from elsewhere, no script runs, and every text is escaped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hosting.terminal import visible
from ops.formatting.axes import figure
from ops.formatting.charts import HATCHES, STYLE

Cell = str | int | float | None


@dataclass(frozen=True)
class ReportTable:
    """Figures and words. Columns that hold numbers only are set to the right."""

    head: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    caption: str = ""

    @property
    def rows(self) -> list[list[str]]:
        """The cells as text."""
        return [["–" if c is None else c if isinstance(c, str) else figure(c) for c in row] for row in self.cells]

    @property
    def numbers(self) -> set[int]:
        """The columns without words."""
        return {n for n in range(len(self.head)) if not any(isinstance(row[n], str) for row in self.cells)}


@dataclass(frozen=True)
class Section:
    """One heading with what stands under it, in this order."""

    title: str
    texts: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    charts: Sequence[Markup] = ()
    tables: Sequence[ReportTable] = ()


@dataclass
class Page:
    """A whole report."""

    title: str
    about: str
    sections: list[Section] = field(default_factory=list)
    footer: str = ""

    def html(self) -> str:
        """The file."""
        environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        page = environment.get_template("report.html.j2").render(page=self, style=STYLE, hatches=HATCHES)
        return visible(page)  # a name may not turn round what stands beside it

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all.

        Raises:
            OSError: when it cannot be written.
        """
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_text(self.html(), encoding="utf-8")
        part.replace(path)
