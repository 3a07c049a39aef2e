"""Kinds of job that ask a model a short question, due only on request, for runs that share workers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from cogitate import kind

NAMES = ("count", "greet", "guess", "name")


class ShortAnswer(BaseModel):
    """One sentence."""

    text: str = Field(min_length=1, max_length=200)


def _declare(name: str) -> None:
    class Asking:
        def instead(self, case: Any, memories: Any) -> None:
            """Return nothing: without an answer the job has no effects."""

    kind(name=name, ask=f"In one sentence, {name}.", answer=ShortAnswer, latency=100_000, on_denied="drop")(Asking)


for _name in NAMES:
    _declare(_name)
