"""The import paths of a host, passed on to the worker processes that it starts.

A host's kinds may be defined beside its script, in a folder that only the script's process searches for modules.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

VARIABLE = "COGITATE_IMPORT_PATHS"


def handed_on() -> str:
    """Return this process's import paths, each absolute, as text for a worker's environment."""
    return json.dumps([str(Path(path).absolute()) for path in sys.path])


def adopt() -> None:
    """Search the host's import paths, in its order, before this process's."""
    handed = os.environ.get(VARIABLE)
    if handed is None:
        return
    sys.path[:] = dict.fromkeys([*json.loads(handed), *sys.path])
