"""A console that keeps a run's texts from controlling the terminal.

Memories, profiles and model answers are untrusted. They may contain escape sequences that clear the screen or set its
title, characters that reverse the direction of text, and Rich markup.
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
    """A console that escapes hidden characters, and adds no markup, colours or line breaks to strings.

    Args:
        options: further arguments of `Console`.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts without wrapping, so that a user can copy them, and tables within the terminal's width."""
        options.setdefault("soft_wrap", all(isinstance(item, str | Text) for item in objects))
        super().print(*objects, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a string to `Text`, escaped before a table measures its width."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield escaped segments, including those of a `Text` that a caller built from a string."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
