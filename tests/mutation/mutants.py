"""The mutants of a module, numbered in the order of the source, and the module's tree with one of them in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.mutation import lua
from tests.mutation.operators import variants

_LONG, _AROUND = 160, 24  # characters of a text that is shown


class Mutant(NamedTuple):
    """One planted bug."""

    path: str  # of the module, relative to the repository
    index: int  # among the module's mutants
    function: str  # that it is in, qualified; empty: the module itself
    first: int  # line
    last: int  # line
    before: str
    after: str
    assigned: str = ""  # the name that the statement gives a value to
    line: str = ""  # of the source, as it begins there

    @property
    def name(self) -> str:
        """Return the name that a test has to mention to use it."""
        return self.function.partition(".")[0] or self.assigned

    @property
    def change(self) -> str:
        """Return a key that stays the same while other lines of the module change."""
        return f"{self.path} {self.function}: {self.before} -> {self.after} | {self.line}"


class _Place(NamedTuple):
    parent: ast.AST
    field: str
    position: int | None  # in a list
    function: str
    statement: ast.stmt


def mutants_of(root: Path, path: str) -> list[Mutant]:
    """Return every mutant of a module or a Lua script."""
    if path.endswith(".lua"):
        return [
            Mutant(path, index, "", line, line, before.strip(), after.strip() or "(deleted)", "", before.strip())
            for index, (line, before, after) in enumerate(_changed_lines((root / path).read_text()))
        ]
    source = (root / path).read_text()
    tree, lines, found = ast.parse(source), source.splitlines(), []
    for index, (place, node, changed) in enumerate(_changes(tree)):
        first, last = getattr(node, "lineno", place.statement.lineno), getattr(node, "end_lineno", None)
        texts = *_shown(_text(node), _text(changed)), _target(place.statement)
        found.append(Mutant(path, index, place.function, first, last or first, *texts, lines[first - 1].strip()))
    return found


def mutated(source: str, index: int) -> ast.Module:
    """Return the tree of a module with its mutant of that number in it.

    Raises:
        LookupError: when the module has fewer.
    """
    tree = ast.parse(source)
    for number, (place, _, changed) in enumerate(_changes(tree)):
        if number == index:
            if place.position is None:
                setattr(place.parent, place.field, changed)
            else:
                getattr(place.parent, place.field)[place.position] = changed
            return ast.fix_missing_locations(tree)
    raise LookupError(f"there is no mutant {index}")


def mutated_script(source: str, index: int) -> str:
    """Return the text of a Lua script with its mutant of that number in it."""
    number, _, after = list(_changed_lines(source))[index]
    lines = source.splitlines()
    lines[number - 1] = after
    return "\n".join(lines) + "\n"


def _changed_lines(source: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(source.splitlines(), 1):
        for after in lua.variants(line):
            yield number, line, after


def _changes(tree: ast.Module) -> Iterator[tuple[_Place, ast.AST, ast.AST]]:
    for place, node in _walk(tree, "", ast.Pass(lineno=1)):
        for changed in variants(node):
            yield place, node, changed


def _walk(parent: ast.AST, function: str, statement: ast.stmt) -> Iterator[tuple[_Place, ast.AST]]:
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list", "exc", "msg"):
            continue  # types, and what an error says
        if isinstance(parent, ast.ClassDef) and field == "keywords":
            continue  # how a class is built
        for position, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
                continue
            here = node if isinstance(node, ast.stmt) else statement
            if _is_left_out(node):
                continue
            yield _Place(parent, field, position, function, here), node
            inner = function
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{function}.{node.name}".lstrip(".")
            yield from _walk(node, inner, here)


def _is_left_out(node: ast.AST) -> bool:
    """Tell whether nothing in this node is behaviour: imports, logging, what is for type checkers only."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.AnnAssign(value=None):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
        case ast.FunctionDef(name="__repr__" | "__str__"):
            return True
        case ast.Assert() | ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
            return True  # what says that something cannot happen
    return False


def _shown(before: str, after: str) -> tuple[str, str]:
    """Return the two texts, of long ones what differs with a little of what is around it."""
    if len(before) <= _LONG or after == "pass":
        return before[:_LONG], after
    same = _in_common(before, after)
    rest = before[same:], after[same:]
    tail = _in_common(rest[0][::-1], rest[1][::-1])
    around = before[max(0, same - _AROUND) : same]
    shown = [f"…{around}{text[: max(0, len(text) - tail) + _AROUND]}…" for text in rest]
    return shown[0], shown[1]


def _in_common(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    return next((n for n in range(min(len(one), len(other))) if one[n] != other[n]), min(len(one), len(other)))


def _target(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.comprehension):
        text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}" + "".join(
            f" if {ast.unparse(condition)}" for condition in node.ifs
        )
    else:
        text = ast.unparse(node)
    return " ".join(text.split())
