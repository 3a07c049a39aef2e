"""How a mutant gets into a process, and into every Python process that it starts.

A module that is yet to be imported is compiled with its mutant. In one that is there already, the code of its functions
is exchanged; what runs when a module is imported cannot be changed so any more. A Lua script is changed as it is read.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

VARIABLE = "MUTANT"  # "<path of the module>:<index>"

Changed = dict[tuple[str, int], CodeType]


def install(root: Path, path: str, index: int) -> None:
    """Have the module at `path` compiled, or the script read, with its mutant of that number from now on."""
    from tests.mutation.mutants import mutated

    wanted = str((root / path).resolve())
    if path.endswith(".lua"):
        _read_changed(wanted, index)
        return
    get_code = SourceFileLoader.get_code

    def changed(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path and str(Path(self.path).resolve()) == wanted:
            code: Any = compile(mutated(Path(wanted).read_text(), index), wanted, "exec")
            return code  # type: ignore[no-any-return]
        return get_code(self, fullname)

    SourceFileLoader.get_code = changed  # type: ignore[method-assign]


def _read_changed(wanted: str, index: int) -> None:
    from tests.mutation.mutants import mutated_script

    read_text = Path.read_text

    def changed(self: Path, *args: Any, **named: Any) -> str:
        text = read_text(self, *args, **named)
        return mutated_script(text, index) if str(self.resolve()) == wanted else text

    Path.read_text = changed  # type: ignore[method-assign]
    scripts = sys.modules.get("cogitate.scheduler.ledger.scripts")
    if scripts is not None:
        scripts.source.cache_clear()


def codes(root: Path, path: str, index: int) -> Changed | None:
    """Return what each function that a mutant changes has for code, by name and line.

    None, when it changes what runs as the module is imported.
    """
    from tests.mutation.mutants import mutated

    text = (root / path).read_text()
    before = compile(text, path, "exec", dont_inherit=True)
    tree: Any = mutated(text, index)
    after = compile(tree, path, "exec", dont_inherit=True)
    found: Changed = {}
    return found if _compare(before, after, found, at_import=True) else None


def _compare(before: CodeType, after: CodeType, found: Changed, *, at_import: bool) -> bool:
    if before == after and before.co_consts == after.co_consts:
        return True
    if not at_import:
        if before.co_freevars != after.co_freevars:
            return False
        found[before.co_qualname, before.co_firstlineno] = after
    inner = [
        [const for const in code.co_consts if isinstance(const, CodeType) and code_is_named(const)]
        for code in (before, after)
    ]
    if at_import:
        if _alone(before) != _alone(after) or len(inner[0]) != len(inner[1]):
            return False
    elif len(inner[0]) != len(inner[1]):
        return True  # the function that holds them is exchanged as a whole
    for one, other in zip(*inner, strict=True):
        body = at_import and not one.co_flags & 0x2  # neither a function nor a lambda: the body of a class
        if not _compare(one, other, found, at_import=body):
            return False
    return True


def code_is_named(code: CodeType) -> bool:
    """Tell whether the code is that of a function or a class, not of a comprehension."""
    return not code.co_name.startswith("<") or code.co_name == "<lambda>"


def _alone(code: CodeType) -> tuple[object, ...]:
    """Return what runs as a module or the body of a class is imported, without its functions."""
    consts = tuple("code" if isinstance(c, CodeType) and code_is_named(c) else repr(c) for c in code.co_consts)
    return code.co_code, code.co_names, consts


def exchange(root: Path, path: str, changed: Changed) -> int:
    """Give the functions of an imported module their changed code, and return how many there were."""
    wanted, number = str((root / path).resolve()), 0
    for function in gc.get_objects():
        if type(function) is FunctionType:
            code = function.__code__
            if (code.co_qualname, code.co_firstlineno) in changed and str(Path(code.co_filename).resolve()) == wanted:
                function.__code__ = changed[code.co_qualname, code.co_firstlineno]
                number += 1
    return number


def install_from_environment() -> None:
    """Install the mutant that the environment names, if it names one."""
    named = os.environ.get(VARIABLE)
    if named:
        path, _, index = named.rpartition(":")
        root = Path(__file__).resolve().parents[2]
        sys.path.insert(0, str(root))
        install(root, path, int(index))
