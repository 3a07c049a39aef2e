"""The import paths of a host, passed on to the worker processes that it starts.

A host's kinds may lie beside its script, in a folder that only the process of the script searches.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from pathlib import Path

VARIABLE = "COGITATE_IMPORT_PATHS"
HOME = str(Path(__file__).resolve().parents[__name__.count(".")])  # the folder of our own packages


def searched_first() -> list[str]:
    """Return the folders that a worker searches before all others: ours, whose modules have common names.

    What is installed as one package needs no precedence, and its folder must have none: it holds everybody's packages.
    """
    installed = {str(Path(sysconfig.get_path(name)).resolve()) for name in ("purelib", "platlib")}
    return [] if HOME in installed else [HOME]


def handed_on() -> str:
    """Return this process's import paths, each absolute, as text for a worker's environment."""
    return json.dumps([str(Path(path).absolute()) for path in sys.path])


def adopt() -> None:
    """Search modules where the host does, in its order, but our own packages first, whatever names its modules have."""
    handed = os.environ.get(VARIABLE)
    if handed is None:
        return
    sys.path[:] = dict.fromkeys([*searched_first(), *json.loads(handed), *sys.path])
