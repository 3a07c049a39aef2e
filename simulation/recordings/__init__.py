"""Recordings that ship with the package. `python -m bench.recording.record` rewrites them."""

from pathlib import Path

SMALL = Path(__file__).parent / "small"  # a day of three agents of a town of twelve
