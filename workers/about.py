"""The remote-control command by which a worker describes itself: `celery -A cogitate inspect about`."""

from __future__ import annotations

from importlib.metadata import version
from typing import TypedDict

from celery.worker.control import inspect_command

from cogitate.scheduler.config.versions import SCHEMA
from cogitate.tasks.registry import kinds


def register() -> None:
    """Make this process's workers answer the command. Call it once."""
    inspect_command(help="Version, schema and kinds of this worker.")(about)


class WorkerAbout(TypedDict):
    """A worker's description of itself."""

    version: str  # of this product
    schema: int  # that it reads
    kinds: list[str]  # that it knows


def about(state: object) -> WorkerAbout:
    """Return this product's version, the schema that it reads, and its kinds."""
    return {"version": version("cogitate"), "schema": SCHEMA, "kinds": [kind.name for kind in kinds()]}
