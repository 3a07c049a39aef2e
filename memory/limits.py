"""The limits that hold after every boundary, and what spec 3 calls the memory configuration."""

from __future__ import annotations

from typing import Literal

import msgspec


class MemoryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Spec 3, `DEFAULT_MEMORY_CONFIG`. Counts are of live entries per owner."""

    max_observations: int = 200  # observations, messages and summaries together
    max_reflections: int = 50
    max_plans: int = 7
    importance_threshold: int = 5  # entries at or above are never archived without a summary
    reflection_interval: int = 720  # game minutes between reflections
    summary_threshold: int = 5  # messages from which a conversation is worth a summary
    retention: int = 2 * 1440  # game minutes that an archived entry is kept
    max_history: int = 100_000  # characters of a shared history (spec 2)
    recount_on_failure: Literal["unchanged", "heuristic"] = "unchanged"  # what a scope records without its model
