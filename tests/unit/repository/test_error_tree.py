"""The tree of errors: what a host may catch derives from one class, and `cogitate.errors` exports it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

import cogitate
from tests.repository import ROOT

PACKAGES = ("cogitate", "hosting", "memory", "ops", "prompts", "scheduler", "simulation", "tasks", "workers")
SIGNALS = {"NoResponse", "_Overtaken"}  # caught in the module or package that raises them


def _classes() -> Iterator[ast.ClassDef]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield from (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef))


def _ancestors(name: str, bases: dict[str, list[str]]) -> set[str]:
    found, left = set[str](), [name]
    while left:
        one = left.pop()
        if one not in found:  # a class may have the name of the one that it derives from
            found.add(one)
            left += bases.get(one, [])
    return found


def test_every_exception_of_the_product_is_a_cogitate_error_or_a_signal_that_stays_inside() -> None:
    found: dict[str, list[str]] = {}
    for node in _classes():
        found.setdefault(node.name, []).extend(ast.unparse(base).rpartition(".")[2] for base in node.bases)
    standard = {
        name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
    }
    errors = {name: _ancestors(name, found) for name in found if _ancestors(name, found) & standard}
    assert len(errors) > 25
    assert {name for name, ancestors in errors.items() if "CogitateError" not in ancestors} == SIGNALS


def test_the_module_of_errors_has_every_error_that_its_calls_say_they_raise() -> None:
    said: set[str] = set()
    calls = [getattr(cogitate.TickLoop, name) for name in dir(cogitate.TickLoop)]
    for one in (cogitate.TickLoop, *calls, cogitate.Settings, cogitate.kinds.register):
        _, raises, lines = (getattr(one, "__doc__", None) or "").partition("Raises:")
        if raises:
            said.update(re.findall(r"\b[A-Z]\w+(?=(?:, [A-Z]\w+)*:)", lines))
    assert {"Fenced", "RunExists", "RunAltered", "KindError"} <= said
    assert said <= set(cogitate.errors.__all__)
