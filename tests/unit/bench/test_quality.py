"""The quality benchmark on a small folder in the recorded formats, counted by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.quality.locomo import tables as locomo
from bench.quality.quality import SECTIONS, report
from bench.quality.recordings import load_conversations, load_runs
from bench.quality.reflection_times import tables as reflection_times
from bench.quality.streams import tables as streams
from bench.table import Row, Table
from tests.repository import ROOT


def node(number: int, kind: str, minute: int, text: str, filling: list[Any] | None = None) -> dict[str, Any]:
    return {
        "type": kind,
        "created": f"2023-02-13 {minute // 60:02d}:{minute % 60:02d}:00",
        "poignancy": 4,
        "subject": "Ann",
        "predicate": "is",
        "object": "busy",
        "description": f"Ann is {text}",
        "embedding_key": text,
        "keywords": [],
        "filling": filling,
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One run with 40 different events, one idle one and an insight resting on two; one talk with three questions."""
    memory = tmp_path / "smallville" / "run" / "personas" / "Ann" / "bootstrap_memory"
    (memory / "associative_memory").mkdir(parents=True)
    nodes = {f"node_{n}": node(n, "event", n, f"event number{n}") for n in range(1, 41)}
    nodes["node_7"] = node(7, "event", 7, "baking a cake")
    nodes["node_41"] = node(41, "event", 41, "cake oven is idle")
    nodes["node_42"] = node(42, "thought", 42, "the cake was a gift", ["node_7", "node_3"])
    nodes["node_43"] = node(43, "thought", 42, "cakes and thoughts of the same instant", ["node_7"])
    (memory / "associative_memory" / "nodes.json").write_text(json.dumps(dict(reversed(nodes.items()))))
    record = {
        "agent": "Ann",
        "trigger_max": 100,
        "recorded": ["2023-02-13 00:25:00"],
        "scratch_curr": 100 - 4 * 16,
    }
    (tmp_path / "smallville" / "run" / "reflection_times.json").write_text(json.dumps([record]))
    (tmp_path / "locomo").mkdir()
    talk = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I baked a cake"},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Well done", "blip_caption": "a photo of a lighthouse"},
        ],
        "session_2_date_time": "a date nobody can read",
        "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "My violin broke"}],
        "session_3_date_time": "1:00 pm on 9 May, 2023",
    }
    questions = [
        {"question": "What did Ann bake?", "evidence": ["D:1:01"], "category": 1},
        {"question": "Who saw the lighthouse?", "evidence": ["D1:2; D9:9"], "category": 4},
        {"question": "What did Bob bake?", "evidence": ["D1:1"], "category": 5},
        {"question": "What is not there?", "evidence": ["D8:1"], "category": 1},
    ]
    (tmp_path / "locomo" / "two.json").write_text(json.dumps([{"conversation": talk, "qa": questions}]))
    return tmp_path


def row(table: Table, label: str) -> Row:
    return next(r for r in table.rows if r.label == label and not r.published)


def test_recordings_are_read_in_order(data: Path) -> None:
    (run,) = load_runs(data)
    assert [n.number for n in run.agents[0].nodes] == list(range(1, 44))
    (talk,) = load_conversations(data)
    assert [t.id for t in talk.turns] == ["1:1", "1:2", "2:1"]
    assert [q.evidence for q in talk.questions] == [("1:1",), ("1:2",), ("1:1",)]
    assert talk.turns[0].when is not None
    assert talk.turns[2].when is None


def test_streams_count_evidence_texts(data: Path) -> None:
    (table,) = streams(data)
    assert table.columns == ("all @30", "all @10", "run @30", "run @10")
    # Three evidence texts are wanted in all; "baking a cake" is found twice, event 3 is too old to be among 30 or 10.
    assert row(table, "profile default").cells == pytest.approx((2 / 3, 2 / 3, 2 / 3, 2 / 3))


def test_locomo_counts_questions_by_category(data: Path) -> None:
    (table,) = locomo(data)
    fields = row(table, "… + speaker, caption and date text").cells
    assert fields[:5] == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert row(table, "BM25, stop words, stemming").cells[3] == pytest.approx((1 + 1 / 2) / 2), "captions unseen"


def test_reflection_times_are_compared(data: Path) -> None:
    (table,) = reflection_times(data)
    assert row(table, "run").cells == (1, 1, 0, 1, 1)


def test_missing_parts_are_left_out(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="neither smallville/ nor locomo/"):
        list(report(tmp_path))
    (tmp_path / "locomo").mkdir()
    for section in ("streams", "locomo", "reflection_times"):
        assert SECTIONS[section](tmp_path) == []


def test_command_prints_tables_and_explains_itself(data: Path) -> None:
    command = [sys.executable, "-m", "bench", "quality"]
    printed = [
        subprocess.run(
            [*command, "--data", str(data), "--section", "locomo", "reflection_times"],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert "### Retrieval in long conversations" in printed[0]
    assert "*published" in printed[0]
    assert printed[0] == printed[1], "the same whatever the hash seed"
    refused = subprocess.run(command, cwd=ROOT, env={}, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "COGITATE_RECORDINGS" in refused.stderr


def test_the_table_aligns_and_marks_published_figures() -> None:
    table = Table("Title", ("a",), (Row("ours", (0.5,)), Row("theirs", (None,), published=True)), note="A note.")
    assert str(table).splitlines() == [
        "### Title",
        "A note.",
        "",
        "|          |     a |",
        "| -------- | ----: |",
        "| ours     | 0.500 |",
        "| *theirs* |     – |",
    ]
