"""What comes of asking a model, in either case with its cost. Apart from the client, which takes a second to load."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from tasks.job import Cost
from workers.llm.failures import Failure


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What came of one `ask`: a value or a failure, never both, and what it cost."""

    usage: Cost  # calls: requests really sent; tokens: prompt and output, reasoning included
    estimated: bool = False  # some of the usage was not reported and is an estimate on the safe side
    value: BaseModel | None = None
    failure: Failure | None = None
    prompt_tokens: int = 0  # as the endpoint counted them; 0: it did not say
    text: str = field(default="", repr=False)  # what the model wrote, usable or not

    @property
    def retryable(self) -> bool:
        """Whether another attempt may help."""
        return self.failure is not None and self.failure.retryable
