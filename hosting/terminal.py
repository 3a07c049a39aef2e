"""A console whose output no text of a run can use to control the terminal.

Memories, profiles and answers of models come from others. They may contain escape sequences that clear a screen or set
its title, characters that reverse the direction of text, and markup of the library that draws tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from cogitate.memory.language.hidden_characters import visible as visible
from cogitate.memory.language.hidden_characters import visible_json as visible_json


class Terminal(Console):
    """A console that prints strings without markup, with hidden characters escaped."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a string as `Text`, escaped before a table measures its width."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield escaped segments, also of a `Text` that a caller built from a string."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
