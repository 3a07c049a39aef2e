"""Moves the modules of a wheel into one package and lets their imports follow.

In the repository `tasks` and `memory` are top-level packages. Beside somebody else's code they must not be: half of all
projects with Celery have a `tasks.py`. Imports are found in the syntax tree and changed where they stand, so that every
other character of a file, and with it every line number, remains.
"""

from __future__ import annotations

import ast
import base64
import configparser
import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "cogitate"
OUTSIDE = (PACKAGE, "cogitate_pytest")  # top-level names that stay: pytest loads its plugin without our package
_FROM = re.compile(rb"from\s+")


class BuildError(Exception):
    """A module cannot be moved into the package as it is written."""


class _Change(NamedTuple):
    line: int
    column: int  # in bytes, as the syntax tree counts
    replaced: bytes
    by: bytes


def gather(wheel: Path) -> None:
    """Move every module of a wheel into the package, and rewrite its imports and entry points.

    Raises:
        BuildError: naming the module and line that cannot be moved.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = [(entry, archive.read(entry)) for entry in archive.infolist() if not entry.is_dir()]
    modules = frozenset(_top(entry.filename) for entry, _ in files) - {*OUTSIDE, ""}
    record, rows = "", []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, data in files:
            name = entry.filename
            if name.endswith(".dist-info/RECORD"):
                record = name
                continue
            if name.endswith(".dist-info/entry_points.txt"):
                data = rewrite_entry_points(data.decode()).encode()
            elif name.endswith(".dist-info/top_level.txt"):
                data = "".join(f"{top}\n" for top in OUTSIDE).encode()
            elif name.endswith(".py"):
                data = rewrite_imports(data, modules, name)
            if _top(name) in modules:
                name = f"{PACKAGE}/{name}"
            moved = zipfile.ZipInfo(name, entry.date_time)
            moved.external_attr, moved.compress_type = entry.external_attr, zipfile.ZIP_DEFLATED
            archive.writestr(moved, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append((name, f"sha256={digest}", len(data)))
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows([*rows, (record, "", "")])
        archive.writestr(record, table.getvalue())


def rewrite_entry_points(text: str) -> str:
    """Return the text of an `entry_points.txt` whose modules lie in the package."""
    parsed = configparser.ConfigParser(delimiters="=", interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(text)
    for section in parsed.values():
        for name, value in section.items():
            if value.partition(":")[0].partition(".")[0] not in OUTSIDE:
                section[name] = f"{PACKAGE}.{value}"
    written = io.StringIO()
    parsed.write(written)
    return written.getvalue()


def rewrite_imports(source: bytes, modules: frozenset[str], file: str) -> bytes:
    """Return the source of a module in which imports of `modules` lead into the package.

    Raises:
        BuildError: for an import that would bind another name there, naming `file` and its line.
    """
    lines = source.splitlines(keepends=True)
    changes = sorted(_changes(ast.parse(source, file), lines, modules, file), reverse=True)
    for change in changes:
        line = lines[change.line - 1]
        end = change.column + len(change.replaced)
        if line[change.column : end] != change.replaced:
            raise BuildError(f"{file}, line {change.line}: this import is not on one line")
        lines[change.line - 1] = line[: change.column] + change.by + line[end:]
    return b"".join(lines)


def _changes(tree: ast.Module, lines: list[bytes], modules: frozenset[str], file: str) -> Iterator[_Change]:
    package = PACKAGE.encode()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _root(node.module or "") in modules:
            stands = _FROM.match(lines[node.lineno - 1], node.col_offset)
            column = stands.end() if stands else node.col_offset
            root = _root(node.module or "").encode()
            yield _Change(node.lineno, column, root, package + b"." + root)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _root(alias.name) not in modules:
                    continue
                name = alias.name.encode()
                if alias.asname is not None:
                    yield _Change(alias.lineno, alias.col_offset, name, package + b"." + name)
                elif len(node.names) == 1 and "." not in alias.name:
                    import_it = b"import " + name
                    yield _Change(node.lineno, node.col_offset, import_it, b"from " + package + b" " + import_it)
                else:
                    raise BuildError(
                        f"{file}, line {node.lineno}: `import {alias.name}` binds a name that the package does not "
                        "have; write `from … import …`"
                    )


def _root(module: str) -> str:
    return module.partition(".")[0]


def _top(file: str) -> str:
    """Return the top-level module that a file of a wheel belongs to; "" for metadata."""
    top = file.partition("/")[0]
    return "" if top.endswith(".dist-info") else top.removesuffix(".py")
