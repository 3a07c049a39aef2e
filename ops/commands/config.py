"""`cogitate config`: show the settings in force and their sources, with secrets masked."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import BaseModel, SecretStr
from rich.table import Table

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, DataDir, read_settings
from cogitate.ops.formatting.run import price_lines
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.settings_faults import SECRET, TOML, read_tables
from cogitate.scheduler.config.tables import TABLE_OF, TABLES
from cogitate.scheduler.config.urls import redact_url


def config(data_dir: DataDir = None, as_json: AsJson = False) -> int:
    """Show the settings in force: flags override COGITATE_* variables, which override cogitate.toml."""
    settings = read_settings(data_dir=data_dir)
    flags = {"data_dir"} if data_dir is not None else set()
    rows = {
        name: (mask_secrets(name, getattr(settings, name)), setting_origin(name, flags))
        for name in Settings.model_fields
    }
    if as_json:
        shown = {
            name: {"value": value, "from": where, "table": TABLE_OF[name]} for name, (value, where) in rows.items()
        }
        print(json.dumps(shown))
        return 0
    table = Table("setting", "value", "from")
    for title, fields in TABLES.items():
        table.add_row(f"[{title}]", "", "", style="bold")
        for name in fields.model_fields:
            value, where = rows[name]
            table.add_row(name, _shown(value), where, style="dim" if where == "default" else None)
    terminal = Terminal()
    terminal.print(table)
    for line in price_lines(settings.prices()):
        terminal.print(line)
    return 0


def _shown(value: object) -> str:
    """Return a value as an environment variable would hold it: tables and lists as JSON."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def mask_secrets(name: str, value: object) -> object:
    """Return a value in JSON types, without keys and passwords."""
    if isinstance(value, BaseModel):
        return {key: mask_secrets(key, part) for key, part in value if part is not None}
    if isinstance(value, tuple):
        return [mask_secrets(name, part) for part in value]
    if isinstance(value, dict):
        return {key: mask_secrets(key, part) for key, part in value.items()}
    if isinstance(value, SecretStr):
        return (
            redact_url(value.get_secret_value()) if name in SECRET and name.endswith(("_url", "_urls")) else "********"
        )
    if name == "base_url" and isinstance(value, str):
        return redact_url(value)
    return str(value) if isinstance(value, Path) else value


def setting_origin(name: str, flags: set[str]) -> str:
    """Return the source of a setting."""
    variable_name = f"COGITATE_{name.upper()}"
    for variable in os.environ:
        if variable.upper() == variable_name or variable.upper().startswith(f"{variable_name}__"):
            return "flag" if name in flags else variable
    if name in flags:
        return "flag"
    if name in read_tables():
        return TOML
    return "default"
