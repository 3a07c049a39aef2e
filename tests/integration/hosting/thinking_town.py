"""The environment of a town that often calls a model."""

from __future__ import annotations

from cogitate.ops.fake_llm.server import MODEL


def thinking(url: str) -> dict[str, str]:
    """Return the variables of a town whose agents plan, act and reflect within seconds, by the endpoint at `url`."""
    return {
        "COGITATE_BASE_URL": url,
        "COGITATE_API_KEY": "any",
        "COGITATE_MODEL": MODEL,
        "COGITATE_INPUT_PRICE": "150000",
        "COGITATE_OUTPUT_PRICE": "600000",
        "COGITATE_SECONDS_PER_TICK": "600",
        "COGITATE_MORNING": "60",
        "COGITATE_REFLECTION_INTERVAL": "120",
        "COGITATE_ACT_INTERVAL": "6",
    }
