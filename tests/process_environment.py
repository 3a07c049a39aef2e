"""Environments for processes that tests start, without the variables that configure the test process itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.shell_commands import command_folder

OURS = ("COGITATE_", "OPENAI_", "FLOWER_")


def clean_environment(**more: str) -> dict[str, str]:
    """Return this process's environment without the variables of the product, OpenAI and Flower, plus `more`."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OURS)} | more


def shell_environment(**more: str) -> dict[str, str]:
    """Return a clean environment whose PATH finds the `cogitate` and `python` of this process."""
    clean = clean_environment()
    folders = [command_folder()] if sys.platform == "linux" else []
    return clean | {"PATH": os.pathsep.join([*folders, str(Path(sys.executable).parent), clean.get("PATH", "")])} | more
