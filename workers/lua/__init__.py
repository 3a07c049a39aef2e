"""The Lua scripts of workers: for the gate, for stored texts (`keep`) and for fair turns between runs (`turn`)."""

from __future__ import annotations

from functools import cache
from importlib import resources

NAMES = ("enter", "leave", "probe", "renew", "keep", "turn")
_PRELUDES = {"enter": ("callers", "server"), "probe": ("callers", "server"), "renew": ("callers",)}


@cache
def source(name: str) -> str:
    """Return the text of a script, preludes first."""
    folder = resources.files(__package__)
    return "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in (*_PRELUDES.get(name, ()), name))
