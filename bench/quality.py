"""`python -m bench quality`: what runs without a model, measured on recorded data.

A section is a module with `tables(data) -> list[Table]`. Everything is deterministic; no model is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from bench.table import Table

#: Modules of `bench`, in the order of the report.
SECTIONS = ("streams", "locomo", "summaries", "importance", "repeats", "reflection_times")


def report(data: Path, sections: tuple[str, ...] = SECTIONS) -> Iterator[Table]:
    """The tables of every section, as they are ready. Raises FileNotFoundError if `data` holds no recording."""
    if not (data / "smallville").is_dir() and not (data / "locomo").is_dir():
        raise FileNotFoundError(f"{data} holds neither smallville/ nor locomo/; give a folder of recordings")
    for name in sections:
        tables: Callable[[Path], list[Table]] = import_module(f"bench.{name}").tables
        yield from tables(data)
