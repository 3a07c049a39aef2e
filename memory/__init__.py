"""The memory of agents: entries, streams, scoring, retrieval, compaction. Pure: no Redis, no clock, no I/O.

A host imports from here the classes that a `MemoryView` returns; each loads at its first use.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from cogitate.memory.retrieval.retrieval import Scored, ScorePart
    from cogitate.memory.summaries.conversations import Conversation
    from cogitate.memory.view import CurrentPlan, MemoryView, Relationship

__all__ = ["Conversation", "CurrentPlan", "MemoryView", "Relationship", "ScorePart", "Scored"]

_HOMES = {
    "Conversation": "cogitate.memory.summaries.conversations",
    "CurrentPlan": "cogitate.memory.view",
    "MemoryView": "cogitate.memory.view",
    "Relationship": "cogitate.memory.view",
    "ScorePart": "cogitate.memory.retrieval.retrieval",
    "Scored": "cogitate.memory.retrieval.retrieval",
}


def __getattr__(name: str) -> object:
    """Import the module that defines a name, and return the name's value."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(_importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
