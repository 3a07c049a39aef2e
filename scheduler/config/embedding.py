"""The embedding model of a run: its settings, the form in which the run stores it, and the cost of its calls."""

from __future__ import annotations

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from cogitate.memory import typed_json
from cogitate.scheduler.config.endpoints import DEFAULT
from cogitate.tasks.job import Cost

MOST_TOKENS = 1_000  # tokens that one job embeds: its query and about thirty memories
IN_PROCESS = "in-process"  # in place of an endpoint's name: workers compute vectors themselves
_PRICE_UNIT = 1_000_000  # prices are micro-dollars per million tokens


class EmbeddingSettings(BaseModel):
    """The settings of the embedding model, for jobs that retrieve memories and for a host's searches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str = DEFAULT  # or "in-process"
    model: str = Field(min_length=1, max_length=200)  # the endpoint's name for it
    timeout: float = Field(10.0, gt=0)  # seconds for the vectors of one job
    input_price: int | None = Field(None, ge=0)  # micro-dollars per million tokens; None: unknown

    def kept(self) -> EmbeddingModel:
        """Return the model in the form that a run stores."""
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
    """An embedding model in the form that a run stores."""

    endpoint: str
    model: str
    input_price: int = 0  # micro-dollars per million tokens
    priced: bool = True  # False: its price is unknown and stored as 0
    timeout: float = 10.0  # seconds for the vectors of one job

    @property
    def is_local(self) -> bool:
        """Return whether workers compute the vectors themselves, at no cost."""
        return self.endpoint == IN_PROCESS

    @property
    def bound(self) -> Cost:
        """Return the upper bound of the cost of one job's vectors; admission reserves it in addition to the call."""
        return self.cost(MOST_TOKENS)

    def cost(self, tokens: int) -> Cost:
        """Return the cost of embedding this many tokens. It counts no call: limits of calls limit thoughts."""
        if self.is_local:
            return Cost()
        return Cost(tokens=tokens, usd_micros=-(-tokens * self.input_price // _PRICE_UNIT))
