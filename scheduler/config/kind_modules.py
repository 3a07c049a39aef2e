"""Modules with the host's own kinds of job, which host and workers import by the same setting."""

from __future__ import annotations

import importlib
import traceback

from memory.errors import quoted
from scheduler.config.settings import ConfigurationError, Settings
from tasks.kind_check import KindError


def load_kinds(settings: Settings) -> None:
    """Import the modules of `settings.kinds`; each registers its kinds with `tasks.registry.register`.

    Raises:
        ConfigurationError: naming the module that cannot be imported or registers a wrong kind, and why.
    """
    for module in settings.kinds:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigurationError(
                f"kinds: {module!r} cannot be imported ({error}); host and workers must both be able to"
            ) from error
        except KindError as error:
            raise ConfigurationError(f"kinds: {module!r} registers an unusable kind: {error}") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an imported module may raise anything, even SystemExit
            raise ConfigurationError(
                f"kinds: {quoted(module)} cannot be imported: {type(error).__name__} {_raised(error)}"
            ) from error


def _raised(error: BaseException) -> str:
    """Return where an error of an import was raised, and what it says."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"at {error.filename}, line {error.lineno}: {error.msg}"
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"at {at.filename}, line {at.lineno}: {quoted(error)}"
