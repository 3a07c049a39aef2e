"""The trigger that makes an agent reflect by accumulated importance (Generative Agents, Park et al. 2023, section 4.2).

A counter starts at a trigger value. Each step lowers it by the importance of that step's new events (observations, but
no conversations or thoughts). At zero or below, the agent reflects at that step, and the counter restarts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

DEFAULT_TRIGGER = 150  # Generative Agents' `importance_trigger_max`


@dataclass(frozen=True)
class ReflectionTrigger:
    """The immutable counter of one owner; `step` returns the next."""

    maximum: int = DEFAULT_TRIGGER
    left: int = DEFAULT_TRIGGER

    @classmethod
    def fresh(cls, maximum: int) -> ReflectionTrigger:
        """Return a full counter.

        Raises:
            ValueError: when `maximum` is not positive.
        """
        if maximum <= 0:
            raise ValueError(f"the reflection trigger must be positive, not {maximum}")
        return cls(maximum, maximum)

    def step(self, importances: Iterable[int]) -> tuple[ReflectionTrigger, bool]:
        """Return the counter after the new events of one step, and whether the owner reflects at this step.

        All events of a step count together, whatever their order; an excess over the trigger is not carried over.
        """
        left = self.left - sum(importances)
        return (
            (ReflectionTrigger(self.maximum, self.maximum), True)
            if left <= 0
            else (ReflectionTrigger(self.maximum, left), False)
        )
