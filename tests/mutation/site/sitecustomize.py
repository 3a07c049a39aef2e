"""Puts the mutant that the environment names into each process that a test starts."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location("mutation_hook", Path(__file__).resolve().parents[1] / "hook.py")
assert _spec is not None
assert _spec.loader is not None
_hook = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_hook)
_hook.install_from_environment()
