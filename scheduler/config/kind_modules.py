"""Modules with the host's own kinds of job, which host and workers import: by setting, or by entry point."""

from __future__ import annotations

import importlib
import sys
import traceback
from functools import lru_cache
from importlib.metadata import entry_points

from cogitate.memory.errors import quoted
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.tasks.kind_check import KindError
from cogitate.tasks.own.declared_kind import declaring_modules

GROUP = "cogitate.kinds"  # of the entry points of installed packages that bring kinds


def load_kinds(settings: Settings) -> None:
    """Import the modules of `settings.kinds`, and those that installed packages name; each registers its kinds.

    Raises:
        ConfigurationError: naming the module that cannot be imported or registers a wrong kind, and why.
    """
    for module in dict.fromkeys([*settings.kinds, *_modules_of_packages(tuple(sys.path))]):
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigurationError(
                f"kinds: {module!r} cannot be imported ({error}); host and workers must both be able to "
                "import it; for a module in this folder, set PYTHONPATH=."
            ) from error
        except KindError as error:
            raise ConfigurationError(f"kinds: {module!r} registers an unusable kind: {error}") from error
        except (Exception, SystemExit) as error:  # the module may call sys.exit()
            raise ConfigurationError(
                f"kinds: {quoted(module)} cannot be imported: {type(error).__name__} {_raised(error)}"
            ) from error


def hand_on_kinds(settings: Settings) -> Settings:
    """Return settings that also name the modules in which this process has declared kinds, for its workers.

    Raises:
        ConfigurationError: when a kind is declared in a script, which workers cannot import.
    """
    declaring = declaring_modules()
    if "" in declaring:
        raise ConfigurationError(
            "a kind of job is declared in the script that runs, and workers cannot import that: move the kind to a "
            "separate module beside the script, and import that module"
        )
    return settings.model_copy(update={"kinds": tuple(dict.fromkeys([*settings.kinds, *declaring]))})


@lru_cache(maxsize=8)
def _modules_of_packages(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the modules that packages on this `sys.path` name, once a path: each look reads all packages' metadata."""
    return tuple(found.module for found in sorted(entry_points(group=GROUP), key=lambda found: found.name))


def _raised(error: BaseException) -> str:
    """Return where an error of an import was raised, and what it says."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"at {error.filename}, line {error.lineno}: {error.msg}"
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"at {at.filename}, line {at.lineno}: {quoted(error)}"
