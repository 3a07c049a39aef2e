"""The embedding model of a run: its settings, the form in which the run stores it, and what its calls cost."""

from __future__ import annotations

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from cogitate.memory import typed_json
from cogitate.scheduler.config.endpoints import DEFAULT
from cogitate.tasks.job import Cost

MOST_TOKENS = 1_000  # of the vectors of one job: its query, and some thirty memories
IN_PROCESS = "in-process"  # instead of an endpoint: workers compute vectors themselves
_PRICE_UNIT = 1_000_000  # prices are micro-dollars per million tokens


class EmbeddingSettings(BaseModel):
    """The embedding model for jobs that choose memories, and for a host's searches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str = DEFAULT  # or "in-process"
    model: str = Field(min_length=1, max_length=200)  # the endpoint's name for it
    timeout: float = Field(10.0, gt=0)  # seconds for the vectors of one job
    input_price: int | None = Field(None, ge=0)  # micro-dollars per million tokens; None: unknown

    def kept(self) -> EmbeddingModel:
        """Return the model as a run keeps it."""
        local = self.endpoint == IN_PROCESS
        kept = EmbeddingModel(
            endpoint=self.endpoint,
            model=self.model,
            input_price=0 if local else self.input_price or 0,
            priced=local or self.input_price is not None,
            timeout=self.timeout,
        )
        return typed_json.with_shared_defaults(kept)


class EmbeddingModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An embedding model as a run keeps it."""

    endpoint: str
    model: str
    input_price: int = 0  # micro-dollars per million tokens
    priced: bool = True  # otherwise its price is unknown and stored as 0
    timeout: float = 10.0  # seconds for the vectors of one job

    @property
    def is_local(self) -> bool:
        """Return whether workers compute the vectors themselves, at no cost."""
        return self.endpoint == IN_PROCESS

    @property
    def bound(self) -> Cost:
        """Return the most that the vectors of one job may cost, which admission reserves beside the model's call."""
        return self.cost(MOST_TOKENS)

    def cost(self, tokens: int) -> Cost:
        """Return the cost of so many tokens. It counts no call: limits of calls are limits of thoughts."""
        if self.is_local:
            return Cost()
        return Cost(tokens=tokens, usd_micros=-(-tokens * self.input_price // _PRICE_UNIT))
