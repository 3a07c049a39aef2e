"""Figures are kept as JSON, and the same tables can be made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.table import Row, Table, print_tables, read_tables

ROOT = Path(__file__).parents[3]


def test_a_table_from_json_equals_the_printed_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(
        "Speed", ("ms", "calls", "why"), (Row("one", (2.0, 3, "x")), Row("two", (None, 0, ""), True)), "A note."
    )
    print_tables([table], tmp_path / "figures.json")
    (again,) = read_tables(tmp_path / "figures.json")
    assert again == table
    assert capsys.readouterr().out == f"{again}\n\n"


@pytest.mark.parametrize("figures", sorted((ROOT / "bench/figures").glob("*.json")), ids=lambda path: path.stem)
def test_the_pages_show_the_tables_of_the_figures(figures: Path) -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs/reference/benchmarks").glob("*.md"))
    for table in read_tables(figures):
        assert table.grid() in pages, f"{table.title}: put this into a page:\n{table.grid()}"
