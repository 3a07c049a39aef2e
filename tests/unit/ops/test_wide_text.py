"""Tables of memories and plans hold all of a text without spaces, whose characters are two cells wide."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.table import Table

from cogitate.hosting.terminal import Terminal
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.retrieval.retrieval import Scored
from cogitate.ops.commands.memory import found_table, items_table

TEXT = "明天十点在广场有音乐会，大家都会去听，王芳也想去，但是她还要烤月饼，李伟和他的妻子也来了，所以她很忙。"


@pytest.mark.parametrize(
    "table",
    [
        found_table([Scored(Entry(type="observation", text=TEXT, minute=400, number=1), 0.5, ())]),
        items_table([PlanItem(id="1-0", description=TEXT, location="bakery", minute=400)]),
    ],
    ids=["memory", "plan"],
)
def test_no_character_of_a_wide_text_is_lost_at_eighty_columns(
    table: Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    Terminal().print(table)
    shown = capsys.readouterr().out
    assert "".join(char for char in shown if char in TEXT) == TEXT
    assert max(map(cell_len, shown.splitlines())) <= 80
