"""One call to a model, and the shape of the layers that it passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.kind import Prompt
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.response_cache import CachedQuestion
from cogitate.workers.llm.replies.failures import ModelAnswer


class Call(NamedTuple):
    """One question of an attempt to one model."""

    claim: Claim
    prompt: Prompt
    model: Model
    output_cap: int  # the most tokens that the answer may have, reasoning included
    deadline: float  # instant of `time.monotonic()`
    question: CachedQuestion  # everything that is sent to the model


Ask = Callable[[Call], ModelAnswer | Refused]


class Layer(Protocol):
    """A step between an attempt and its model. Thread-safe."""

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Return the answer, or why there is none; `following` asks the layers behind this one."""
