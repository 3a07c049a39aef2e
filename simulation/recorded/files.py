"""Access to the files of a recording, in its folder or in the capsule of a run that plays it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cogitate.memory import typed_json
from cogitate.memory.errors import CogitateError
from cogitate.scheduler.journal.capsule.container import CapsuleError
from cogitate.scheduler.journal.capsule.manifest import RECORDING
from cogitate.scheduler.journal.capsule.verifying import open_capsule

METAS = ("meta.json", "reverie/meta.json")  # one of these


class RecordingError(CogitateError, ValueError):
    """A recording cannot be read; the message names the file and the value."""


def of_persona(name: str) -> tuple[str, str]:
    """Return the names of a persona's files: its identity and schedule, and its memories."""
    folder = f"personas/{name}/bootstrap_memory"
    return f"{folder}/scratch.json", f"{folder}/associative_memory/nodes.json"


class RecordingFiles:
    """The files of one recording, by their names in its folder.

    Raises:
        RecordingError: when there is no such folder, or the capsule cannot be read.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._kept: Mapping[str, Any] | None = None
        if root.is_file():
            try:
                with open_capsule(root) as capsule:
                    self._kept = typed_json.decode(capsule.recording, dict[str, Any])
            except (CapsuleError, OSError, ValueError) as error:
                raise RecordingError(f"{root}: {error}") from error
        elif not root.is_dir():
            raise RecordingError(f"{root}: there is no such folder; give a recording's folder, which holds meta.json")

    def has(self, name: str) -> bool:
        """Return whether there is a file of this name."""
        return (self.root / name).is_file() if self._kept is None else name in self._kept

    def json(self, name: str) -> Any:
        """Return the content of a file.

        Raises:
            RecordingError: when it is missing, or not JSON in UTF-8.
        """
        if self._kept is None:
            return _json(self.root / name)
        if name not in self._kept:
            raise RecordingError(f"{self.root}: its {RECORDING} has no {name}")
        return self._kept[name]


def recording_lines(root: Path) -> Iterator[bytes]:
    """Yield a recording as the content of its member in a capsule.

    Raises:
        RecordingError: when a file of it cannot be read.
    """
    files = RecordingFiles(root)
    meta = next(name for name in METAS if files.has(name))
    personas = files.json(meta)["persona_names"]
    names = [meta, *(file for name in dict.fromkeys(personas) for file in of_persona(name))]
    yield json.dumps({name: files.json(name) for name in names}, ensure_ascii=False, sort_keys=True).encode()


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RecordingError(f"{file}: is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        near = error.doc[max(0, error.pos - 20) : error.pos + 20]
        raise RecordingError(f"{file}: is not valid JSON: {error.msg} in line {error.lineno}, near {near!r}") from error
    except (RecursionError, ValueError) as error:
        raise RecordingError(f"{file}: cannot be read as JSON: {str(error)[:200]}") from error
