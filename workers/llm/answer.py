"""The answer of a model with its cost; a separate module, since the client is slow to import."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from cogitate.tasks.job import Cost
from cogitate.workers.llm.replies.failures import Failure


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """A model's answer to one question: a value or a failure, never both, and its cost."""

    usage: Cost  # calls: requests that were sent; tokens: prompt and output, reasoning included
    estimated: bool = False  # part of the usage was not reported and is a high estimate
    value: BaseModel | None = None
    failure: Failure | None = None
    prompt_tokens: int = 0  # as reported by the endpoint; 0: not reported
    reasoning: int = 0  # reasoning tokens in the output, as reported by the endpoint
    text: str = field(default="", repr=False)  # the model's text, usable or not
    packed: int = 0  # cases that one request asked; 0: it asked this one alone
    saved: bool = False  # it was the answer to another call, so it costs this one nothing

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return self.failure is not None and self.failure.retryable
