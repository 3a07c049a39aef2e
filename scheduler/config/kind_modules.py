"""Import the modules that register a host's own kinds of job, named by a setting or by an entry point.

Host and workers both import them.
"""

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

GROUP = "cogitate.kinds"  # entry points by which installed packages name modules with kinds


def load_kinds(settings: Settings) -> None:
    """Import the modules that `settings.kinds` and installed packages name; each registers its kinds.

    Raises:
        ConfigurationError: naming the module that cannot be imported or registers an unusable kind, and the reason.
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
    """Return settings for the workers, with the modules in which this process has declared kinds.

    Raises:
        ConfigurationError: if a script declares a kind; workers cannot import a script.
    """
    declaring = declaring_modules()
    if "" in declaring:
        raise ConfigurationError(
            "the script that runs declares a kind of job, and workers cannot import the script: move the kind to a "
            "separate module beside the script, and import that module"
        )
    return settings.model_copy(update={"kinds": tuple(dict.fromkeys([*settings.kinds, *declaring]))})


@lru_cache(maxsize=8)
def _modules_of_packages(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the modules that packages on this `sys.path` name.

    The result is cached because each look-up reads the metadata of all packages.
    """
    return tuple(entry.module for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name))


def _raised(error: BaseException) -> str:
    """Return the place at which an import raised an error, and the error's message."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"at {error.filename}, line {error.lineno}: {error.msg}"
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"at {at.filename}, line {at.lineno}: {quoted(error)}"
