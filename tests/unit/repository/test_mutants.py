"""The mutants that `make mutate` plants."""

from __future__ import annotations

import ast
import importlib
import json
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.mutation.hook import codes, exchange
from tests.mutation.judge import Jury
from tests.mutation.mutants import mutants_of, mutated, mutated_script
from tests.mutation.reached import Reached
from tests.repository import ROOT

SOURCE = '''
"""A module."""
import logging

log = logging.getLogger()
MOST = 3


def first(values: list[int], most: int = MOST) -> int:
    if not values:
        raise ValueError(f"none of {most} values")
    log.info("looking at %d", len(values))
    kept = [value for value in values if value < most and value != 2]
    kept.sort()
    total = 0
    for value in kept:
        total += value
    if 0 < total <= most:
        most = clip(most, total, least=0)
    log.debug("told", {"total": total, "most": most})
    kept = {"some": kept[:most], "most": most}["some"]
    return min(kept) if kept else total - 1
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "module.py").write_text(SOURCE)
    return tmp_path


def test_each_slip_of_the_pen_is_planted_once(module: Path) -> None:
    planted = {(mutant.before, mutant.after) for mutant in mutants_of(module, "module.py")}
    assert planted == {
        ("3", "4"),
        ("not values", "values"),
        ("if not values: raise ValueError(f'none of {most} values')", "pass"),
        ("raise ValueError(f'none of {most} values')", "pass"),
        ("for value in values if value < most and value != 2", "for value in values"),
        ("value < most and value != 2", "value < most or value != 2"),
        ("value < most and value != 2", "value < most"),
        ("value < most and value != 2", "value != 2"),
        ("value < most", "value <= most"),
        ("if 0 < total <= most: most = clip(most, total, least=0)", "pass"),
        ("0 < total <= most", "0 <= total <= most"),
        ("0 < total <= most", "0 < total < most"),
        ("clip(most, total, least=0)", "clip(total, most, least=0)"),
        ("clip(most, total, least=0)", "clip(most, total)"),
        ("kept[:most]", "kept"),
        ("{'some': kept[:most], 'most': most}", "{'some': kept[:most]}"),
        ("{'some': kept[:most], 'most': most}", "{'most': most}"),
        ("value != 2", "value == 2"),
        ("2", "3"),
        ("kept.sort()", "pass"),
        ("0", "1"),
        ("total += value", "pass"),
        ("total += value", "total -= value"),
        ("min(kept) if kept else total - 1", "min(kept)"),
        ("min(kept) if kept else total - 1", "total - 1"),
        ("min(kept)", "max(kept)"),
        ("total - 1", "total + 1"),
        ("total - 1", "total"),
        ("1", "2"),
    }


def test_a_planted_mutant_is_the_one_of_its_number_and_changes_nothing_else(module: Path) -> None:
    for mutant in mutants_of(module, "module.py"):
        changed = ast.unparse(mutated(SOURCE, mutant.index))
        assert changed != ast.unparse(ast.parse(SOURCE))
        compile(changed, "module.py", "exec")
    assert len(mutants_of(module, "module.py")) == len({mutant.index for mutant in mutants_of(module, "module.py")})


def test_a_function_that_is_imported_already_is_exchanged(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(module)
    first = importlib.import_module("module").first
    for mutant in mutants_of(module, "module.py"):
        changed = codes(module, "module.py", mutant.index)
        if mutant.before == "3":
            assert changed is None, "what runs at import cannot be"
        else:
            assert changed is not None
            assert list(changed) == [("first", 9)]
    (planted,) = (m for m in mutants_of(module, "module.py") if m.after == "max(kept)")
    assert first([1, -1]) == -1
    assert exchange(module, "module.py", codes(module, "module.py", planted.index) or {}) == 1
    assert first([1, -1]) == 1
    del sys.modules["module"]


SCRIPT = """\
-- One or more, and not one < two.
local most = tonumber(ARGV[2])
if held + 1 > most then return {'a < b', 7} end
redis.call('HSET', run .. 'state', 'tick', 0)  -- and so on
"""


def test_slips_of_the_pen_in_a_script_are_in_its_code_alone(tmp_path: Path) -> None:
    (tmp_path / "step.lua").write_text(SCRIPT)
    mutants = mutants_of(tmp_path, "step.lua")
    held, tick = "if held + 1 > most then return {'a < b', 7} end", "redis.call('HSET', run .. 'state', 'tick', 0)"
    assert [(mutant.first, mutant.after) for mutant in mutants] == [
        (2, "local most = tonumber(ARGV[3])"),
        (3, held.replace("+", "-")),
        (3, held.replace("1", "2")),
        (3, held.replace(">", ">=")),
        (3, held.replace("7", "8")),
        (3, "(deleted)"),
        (4, tick.replace("0", "1") + "  -- and so on"),
        (4, "(deleted)"),
    ]
    assert mutated_script(SCRIPT, 7) == SCRIPT.replace(tick + "  -- and so on", "")


def test_tests_are_found_again_where_lines_have_moved(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "memory").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("")
    (tmp_path / "memory" / "it.py").write_text("def a():\n    return 1\n\ndef b():\n    return 2\n")
    test, folder = "tests/test_it.py::test_b", tmp_path / "kept"
    (folder / "sources").mkdir(parents=True)
    (folder / "sources" / "then").write_text((tmp_path / "memory" / "it.py").read_text())
    line = {
        "test": "",
        "sources": {"memory/it.py": "then"},
        "seconds": {test: 0.1},
        "lines": {"memory/it.py": {test: hex(1 << 5)}},
    }
    (folder / "tests-test_it.json").write_text(json.dumps(line))
    now = "import os\n\ndef a():\n    return 1\n\ndef b():\n    os.sep\n    return 2\n"
    (tmp_path / "memory" / "it.py").write_text(now)
    reached = Reached(tmp_path, folder, ["tests"])
    found = {line: reached.tests("memory/it.py", line, line) for line in range(3, 9)}
    assert found[4] == [], "nothing runs it"
    assert found[8] == [test]


def test_where_tests_cannot_be_imported_no_mutant_is_taken_to_be_found() -> None:
    session: Any = SimpleNamespace(testsfailed=1, items=[], Failed=pytest.fail.Exception)
    with pytest.raises(pytest.fail.Exception, match="1 files of tests cannot be imported"):
        Jury(ROOT, [], {}, 1.0, lambda *heard: None).pytest_runtestloop(session)


def test_no_mutant_has_a_number_beyond_the_last() -> None:
    with pytest.raises(LookupError, match="99"):
        mutated(SOURCE, 99)


def test_what_is_explained_is_planted_still() -> None:
    root = ROOT
    listed = tomllib.loads((root / "tests" / "mutation" / "explained.toml").read_text())["survivor"]
    for item in listed:
        assert item["why"].strip()
        path = item["change"].partition(" ")[0]
        assert item["change"] in {mutant.change for mutant in mutants_of(root, path)}, item["change"]
