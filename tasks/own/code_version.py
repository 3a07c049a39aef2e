"""The version of the code that a kind's heuristic consists of: two processes of one version make the same of a case."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from cogitate import memory, prompts, tasks
from cogitate.tasks.kind import Kind
from cogitate.tasks.own.declared_kind import DeclaredKind

# What kinds are made of, by the names that it has here: in a wheel all is in one package.
_OURS = (memory.__name__, prompts.__name__, tasks.__name__)


def code_version(kind: Kind) -> str:
    """Return a hash of the source files of a kind, as they are now; "" if they cannot be found.

    They are those of memory, prompts and tasks, and those of each package or single module that the kind's class, or a
    class above it, comes from. What else a host's own kind imports is not among them.
    """
    modules = {cls.__module__ for cls in type(kind).__mro__}
    if isinstance(kind, DeclaredKind):
        modules.add(kind.declared.module)
    foreign = {module for module in modules if not module.startswith(tuple(f"{name}." for name in _OURS))}
    tops = {module.partition(".")[0] for module in foreign} - sys.stdlib_module_names
    hashes = [_hash_of(name) for name in (*_OURS, *sorted(tops))]
    return "" if "" in hashes else hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


@cache
def _hash_of(name: str) -> str:
    """Return a hash of the source files of a package, or of a module that is in none; "" without any."""
    known, found = hashlib.sha256(), False
    try:
        for inside, path in _sources(name):
            known.update(f"{inside}\0{path.stat().st_size}\0".encode())
            known.update(path.read_bytes())
            found = True
    except (ImportError, ValueError, OSError):
        return ""
    return known.hexdigest() if found else ""


def _sources(name: str) -> Iterable[tuple[str, Path]]:
    spec = find_spec(name)
    if spec is None or name == "__main__":  # no worker has the host's script
        return []
    if spec.submodule_search_locations is None:
        return [(name, Path(spec.origin))] if spec.origin is not None and spec.origin.endswith(".py") else []
    folders = [Path(folder) for folder in spec.submodule_search_locations]
    return sorted((path.relative_to(folder).as_posix(), path) for folder in folders for path in folder.rglob("*.py"))
