"""The answer of a model with its cost; in a module of its own, since the client takes a moment to load."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from cogitate.tasks.job import Cost
from cogitate.workers.llm.replies.failures import Failure


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """The result of one `ask`: a value or a failure, never both, and its cost."""

    usage: Cost  # calls: requests that were sent; tokens: prompt and output, reasoning included
    estimated: bool = False  # part of the usage was not reported and is a high estimate
    value: BaseModel | None = None
    failure: Failure | None = None
    prompt_tokens: int = 0  # as the endpoint reports them; 0: it did not
    reasoning: int = 0  # tokens of the output that were reasoning, as the endpoint reports them
    text: str = field(default="", repr=False)  # the model's text, usable or not

    @property
    def retryable(self) -> bool:
        """Return whether another attempt may help."""
        return self.failure is not None and self.failure.retryable
