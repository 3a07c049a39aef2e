"""The mutants that `make mutate` plants."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutation.mutants import mutants_of, mutated

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


def test_no_mutant_has_a_number_beyond_the_last() -> None:
    with pytest.raises(LookupError, match="99"):
        mutated(SOURCE, 99)
