"""The Jinja environment of prompt templates, in a module that is loaded with the first template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, StrictUndefined


class PromptEnvironment(Environment):
    """Jinja's environment, quicker at `memory.text`: it asks a dict for its keys before its attributes."""

    def __init__(self, finalize: Callable[[Any], Any]) -> None:
        super().__init__(
            undefined=StrictUndefined,
            finalize=finalize,
            autoescape=False,  # prompts are not HTML; `finalize` guards what is inserted
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def getattr(self, obj: Any, attribute: str) -> Any:
        return obj[attribute] if isinstance(obj, dict) and attribute in obj else super().getattr(obj, attribute)
