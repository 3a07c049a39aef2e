"""The settings that say which models are asked, where they are, and what they cost."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from scheduler.config.endpoints import DEFAULT, Endpoint, Model, ModelSettings, check_name
from scheduler.config.server_settings import ServerSettings
from scheduler.config.tiers import Tier


class ModelChoice(ServerSettings):
    """The part of `scheduler.config.settings.Settings` about models and endpoints."""

    # Models. The first five are the endpoint and the model called "default", where the tables name none.
    llm: Literal["heuristic", "openai"] = "heuristic"
    model: str = "gpt-4o-mini"
    base_url: str | None = None  # None: the client's own default endpoint
    api_key: SecretStr | None = None  # None: OPENAI_API_KEY
    input_price: int = Field(150_000, ge=0)  # micro-dollars per million tokens
    output_price: int = Field(600_000, ge=0)
    endpoints: dict[str, Endpoint] = Field(default_factory=dict)  # by name
    models: dict[str, ModelSettings] = Field(default_factory=dict)  # by name
    tiers: dict[Tier, str] = Field(default_factory=dict)  # models by tier; strong: as routine; routine: "default"
    kind_tiers: dict[str, dict[Tier, str]] = Field(default_factory=dict)  # the same for a kind, where it differs
    job_deadline: float = Field(60.0, gt=0)  # seconds for one attempt, retries of the transport included

    # Texts that are kept
    response_cache: bool = False  # take the answers that an earlier run of the same course got
    response_cache_days: float = Field(30.0, gt=0)  # real days that an answer is kept
    response_cache_bytes: int = Field(100_000_000, ge=1)  # of all answers
    capture: bool = False  # keep prompts and answers for `cogitate job ID --prompt`
    capture_hours: float = Field(24.0, gt=0)  # real hours that they are kept
    capture_bytes: int = Field(20_000_000, ge=1)  # of a run

    @field_validator("endpoints", "models")
    @classmethod
    def _names(cls, value: dict[str, Any]) -> dict[str, Any]:
        return {check_name(name): value[name] for name in sorted(value)}

    @model_validator(mode="after")
    def _endpoints(self) -> Self:
        known = self.endpoint_table()
        for name, model in self.models.items():
            if model.endpoint not in known:
                raise ValueError(
                    f"model {name!r} is at the endpoint {model.endpoint!r}, which is not configured; "
                    f"there are {', '.join(known)}"
                )
        return self

    @model_validator(mode="after")
    def _tiers(self) -> Self:
        known = self.model_table()
        for where, tiers in [("tiers", self.tiers), *(("kind_tiers", t) for _, t in sorted(self.kind_tiers.items()))]:
            for tier, name in sorted(tiers.items()):
                if name not in known:
                    raise ValueError(
                        f"{where}: the {tier} tier names the model {name!r}, which is not configured; "
                        f"there are {', '.join(known)}"
                    )
        return self

    def endpoint_table(self) -> dict[str, Endpoint]:
        """The endpoints by name, in order. "default" is that of the short settings, unless the table has one."""
        short = Endpoint(base_url=self.base_url, api_key=self.api_key)
        return dict(sorted(({DEFAULT: short} | self.endpoints).items()))

    def model_table(self) -> dict[str, Model]:
        """The models by name, in order, as a run keeps them. "default" is that of the short settings, as above."""
        short = ModelSettings(model=self.model, input_price=self.input_price, output_price=self.output_price)
        return {name: model.kept_as(name) for name, model in sorted(({DEFAULT: short} | self.models).items())}

    def tier_models(self, kind: str) -> dict[Tier, str]:
        """The names of a kind's two models, which may be the same."""
        named = self.tiers | self.kind_tiers.get(kind, {})
        routine = named.get("routine", DEFAULT)
        return {"routine": routine, "strong": named.get("strong", routine)}

    def asked_models(self) -> tuple[Model, ...]:
        """The models that jobs of a run may be given, in order of name; none where no model is asked."""
        if self.llm != "openai":
            return ()
        named = {model for kind in ["", *self.kind_tiers] for model in self.tier_models(kind).values()}
        return tuple(model for name, model in self.model_table().items() if name in named)
