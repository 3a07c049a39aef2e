"""A report as one HTML file that loads nothing, runs no script and escapes every text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from cogitate.ops.formatting.charts import HATCHES, STYLE, figure
from cogitate.ops.report.html_page import rendered, write_page

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
