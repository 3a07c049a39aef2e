"""Tables in an export of Convex: a zip or a folder with a file of JSON Lines for each table."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cogitate.memory.errors import InputError
from cogitate.ops.exchange import incoming
from cogitate.ops.exchange.incoming import Incoming, decode_json
from cogitate.ops.exchange.json_parts import object_of

_MAX_LINE = 50_000_000  # bytes; a world is one line
_UNREADABLE = (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error)


class Tables:
    """The tables of an export, read row by row."""

    def __init__(self, found: Incoming) -> None:
        """Open the folder, or the list of files in the zip.

        Raises:
            InputError: if it cannot be read.
        """
        self._found, self._bytes = found, 0
        with self._reading():
            path = found.source
            top: Path | zipfile.Path = path if path.is_dir() else zipfile.Path(path)
            self._folders = [top, *(inner for inner in top.iterdir() if inner.is_dir())]

    def file(self, table: str) -> Path | zipfile.Path | None:
        """Return the file of a table, at the top or in a folder around all tables; None if it has none."""
        for folder in self._folders:
            for file in (folder / table / "documents.jsonl", folder / f"{table}.jsonl"):
                if file.is_file():
                    return file
        return None

    def rows(self, table: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield a table's rows, each with its place; invalid lines are skipped and reported.

        Raises:
            InputError: when the table cannot be read or is too large.
        """
        file = self.file(table)
        if file is None:
            return
        with self._reading(), file.open("rb") as opened:
            number = 0
            while line := opened.readline(_MAX_LINE):
                number += 1
                where = f"{table}, line {number}"
                self._bytes += len(line)
                if len(line) == _MAX_LINE or self._bytes > incoming.MAX_FILE:
                    raise InputError(
                        f"{where}: the tables have more than {incoming.MAX_FILE:,} bytes, or a line more than "
                        f"{_MAX_LINE:,}: give an export of fewer rows"
                    )
                row = None
                with self._found.reporting("row", where):
                    row = object_of(decode_json(line), "it") if line.strip() else None
                if row is not None:
                    yield where, row

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            raise InputError(f"{self._found.source}: {error}") from error
        except _UNREADABLE as error:
            raise InputError(
                f"{self._found.source}: cannot be read: {getattr(error, 'strerror', None) or error}: give the zip of "
                "`npx convex export`, or its folder"
            ) from error
