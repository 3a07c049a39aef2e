"""What several commands have in common: their options, and the settings that these make with everything else."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from scheduler.budget.rules import check_spending
from scheduler.config.settings import ConfigurationError, Settings

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Where runs and the embedded server are kept.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="The last line on stdout is one JSON object.")]
EveryOwner = Annotated[
    bool, typer.Option("--all", help="List owners one by one where each has the same limit of the budget.")
]
Verbose = Annotated[
    int,
    typer.Option("-v", "--verbose", count=True, help="Say more on stderr; -vv says everything.", show_default=False),
]


def read_settings(**flags: Any) -> Settings:
    """The settings in force: flags that were given, then `COGITATE_*`, then cogitate.toml, then defaults.

    Raises:
        ConfigurationError: for a value that cannot be used, and a variable or a file that cannot be read.
    """
    return Settings(**{name: value for name, value in flags.items() if value is not None})


def check_limited(settings: Settings) -> None:
    """Check that a model is asked only with a limit for the whole run.

    Raises:
        ConfigurationError: naming the flags that set one.
    """
    try:
        check_spending(settings)
    except ConfigurationError as error:
        error.add_note("the flags are --limit-usd and --limit-tokens")
        raise


def program_name() -> str:
    """How the user would type this program's name again."""
    called = Path(sys.argv[0])
    if called.name != "cogitate":
        return f"{Path(sys.executable).name} -m ops"
    found = shutil.which("cogitate")
    if found is not None and Path(found).absolute() == called.absolute():
        return "cogitate"
    here = os.path.relpath(called)
    return here if not here.startswith("..") else str(called)


def data_dir_option(settings: Settings) -> str:
    """The option that names a data folder other than the default, for a command that is shown to the user."""
    return "" if settings.data_dir == Settings.model_fields["data_dir"].default else f" --data-dir {settings.data_dir}"
