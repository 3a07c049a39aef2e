"""The import hook that puts a mutant into a process, and into every Python process that it starts."""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

VARIABLE = "MUTANT"  # "<path of the module>:<index>"


def install(root: Path, path: str, index: int) -> None:
    """Have the module at `path` compiled with its mutant of that number when it is imported."""
    from mutation.mutants import mutated

    wanted = str((root / path).resolve())
    get_code = SourceFileLoader.get_code

    def changed(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path and str(Path(self.path).resolve()) == wanted:
            code: Any = compile(mutated(Path(wanted).read_text(), index), wanted, "exec")
            return code  # type: ignore[no-any-return]
        return get_code(self, fullname)

    SourceFileLoader.get_code = changed  # type: ignore[method-assign]


def install_from_environment() -> None:
    """Do so where the environment names a mutant."""
    named = os.environ.get(VARIABLE)
    if named:
        path, _, index = named.rpartition(":")
        root = Path(__file__).resolve().parents[2]
        sys.path.insert(0, str(root / "tests"))
        install(root, path, int(index))
