"""The memory configuration of a run: the limits that hold after every boundary, and the policies that enforce them."""

from __future__ import annotations

from typing import Literal

import msgspec

from cogitate.memory.trigger import DEFAULT_TRIGGER

#: The design that bounds the observations of an owner: streams, cells or window ("tokens").
Policy = Literal["stream", "cells", "tokens"]

#: What makes an agent reflect: elapsed time, accumulated importance, or whichever comes first.
Cause = Literal["interval", "importance", "either"]

_POLICY_SCOPES = ("agent", "npc")  # scopes of a run's policy; places, groups and the world keep the policy "stream"


class MemoryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a run, with the defaults of the designs. Counts are of live entries per owner."""

    max_observations: int = 200  # observations, messages and summaries together
    max_reflections: int = 50
    max_plans: int = 7
    importance_threshold: int = 5  # entries at or above are never archived without a summary
    reflection_interval: int = 720  # game minutes between reflections
    reflection_trigger: Cause = "interval"
    reflection_trigger_max: int = DEFAULT_TRIGGER  # accumulated importance at which an agent reflects
    summary_threshold: int = 5  # messages at which a conversation is worth a summary
    retention: int = 2 * 1440  # game minutes that an archived entry is kept
    max_archived: int | None = None  # newest archived entries kept; None: all within the retention
    max_history: int = 100_000  # characters of a shared history (routing design)
    recount_on_failure: Literal["unchanged", "heuristic"] = "unchanged"  # of a model to recount a scope
    policy: Policy = "stream"
    policies: dict[str, Policy] = msgspec.field(default_factory=dict)  # of an owner ("npc:smith") or a scope ("npc")
    on_failure: Literal["unchanged", "heuristic"] = "heuristic"  # of a model to write a long-term summary
    cells: int = 5  # cells design: K
    token_limit: int = 4_000  # window design: of summary, buffer and character together
    compress_at: float = 0.8  # window design: share of the token limit at which the buffer is compressed
    compress_to: float = 0.6  # routing design: share that compression aims at
    retain: int = 3  # window design: newest entries that are not compressed as long as they fit
    passes: int = 2  # window design: the second compresses the summary itself

    def policy_of(self, owner: str) -> Policy:
        """Return the policy of an owner: its own, its scope's, or the run's."""
        if self.policy == "stream" and not self.policies:  # most runs; every observation asks several times
            return "stream"
        scope = owner.partition(":")[0]
        default = self.policy if scope in _POLICY_SCOPES else "stream"
        return self.policies.get(owner) or self.policies.get(scope) or default
