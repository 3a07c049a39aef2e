"""Where Python looks for modules, handed on from a host to the worker processes that it starts.

A host's kinds may lie beside its script, a place that Python knows only in the process that runs the script.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

VARIABLE = "COGITATE_IMPORT_PATHS"
HOME = str(Path(__file__).resolve().parents[2])  # the folder in which our own packages lie


def handed_on() -> str:
    """Return this process's import paths as a worker's environment holds them; each is absolute."""
    return json.dumps([str(Path(path).absolute()) for path in sys.path])


def adopt() -> None:
    """Look for modules where the host does, in its order; our own packages first, whatever a host calls its modules."""
    handed = os.environ.get(VARIABLE)
    if handed is None:
        return
    sys.path[:] = dict.fromkeys([HOME, *json.loads(handed), *sys.path])
