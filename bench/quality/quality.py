"""`python -m bench quality`: measure everything that needs no model, on recorded data.

A section is a module with `tables(data) -> list[Table]`. Everything is deterministic; no model is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.quality import importance, locomo, reflection_times, repeats, streams, summaries
from bench.table import Table

#: Sections by name, in the order of the report.
SECTIONS: dict[str, Callable[[Path], list[Table]]] = {
    "streams": streams.tables,
    "locomo": locomo.tables,
    "summaries": summaries.tables,
    "importance": importance.tables,
    "repeats": repeats.tables,
    "reflection_times": reflection_times.tables,
}


def report(data: Path, section: Sequence[str] = tuple(SECTIONS)) -> Iterator[Table]:
    """Yield the tables of these sections as they become ready.

    Raises:
        FileNotFoundError: if `data` has no recordings.
    """
    if not (data / "smallville").is_dir() and not (data / "locomo").is_dir():
        raise FileNotFoundError(f"{data} has neither smallville/ nor locomo/; give a folder of recordings")
    for name in section:
        yield from SECTIONS[name](data)
