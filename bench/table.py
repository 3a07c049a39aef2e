"""A table of figures and its plain-text form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cogitate.memory import typed_json

Cell = float | int | str | None


@dataclass(frozen=True)
class Row:
    """One line: a label and a cell per column (None: not measured). `published` marks figures from publications."""

    label: str
    cells: tuple[Cell, ...]
    published: bool = False


@dataclass(frozen=True)
class Table:
    """Figures with a title, column names (without the label's), and a note on how they were measured."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    decimals: int = 3

    def __str__(self) -> str:
        """Format title, note and table in Markdown."""
        return "\n".join([f"### {self.title}", *([self.note] if self.note else []), "", self.grid()])

    def grid(self) -> str:
        """Format the table alone in Markdown, columns aligned, published rows in italics."""
        head = ["", *self.columns]
        body = [
            [f"*{row.label}*" if row.published else row.label, *(self._shown(cell) for cell in row.cells)]
            for row in self.rows
        ]
        widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
        lines = [
            "| " + " | ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in columns) + " |"
            for columns in ([*enumerate(zip(line, widths, strict=True))] for line in [head, *body])
        ]
        rule = "| " + " | ".join("-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)) + " |"
        lines.insert(1, rule)
        return "\n".join(lines)

    def _shown(self, cell: Cell) -> str:
        if cell is None:
            return "–"
        return f"{cell:.{self.decimals}f}" if isinstance(cell, float) else str(cell)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value below which a share of the values lies; for a share of 1 the highest value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_tables(tables: Iterable[Table | str], json: Path | None) -> None:
    """Print tables and texts as they become ready, and write all figures to a file if one is named."""
    shown = []
    for table in tables:
        print(table, flush=True, end="\n\n")
        shown.append(table)
    if json is not None:
        json.write_bytes(msgspec.json.format(msgspec.json.encode(shown)) + b"\n")


def read_tables(json: Path) -> list[Table]:
    """Return the tables in a file that `print_tables` wrote."""
    return typed_json.decode(json.read_bytes(), list[Table])
