"""A console that keeps texts of a run from controlling the terminal.

Memories, profiles and answers of models are untrusted. They may contain escape sequences that clear the screen or set
its title, characters that reverse the direction of text, and Rich markup.
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
    """A console that prints strings without markup, colours or line breaks of its own, with hidden characters escaped.

    Args:
        how: further arguments of `Console`.
    """

    def __init__(self, *, stderr: bool = False, **how: Any) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, **how)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print texts as whole lines, so that a user can copy them, and tables within the terminal's width."""
        how.setdefault("soft_wrap", all(isinstance(one, str | Text) for one in objects))
        super().print(*objects, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """Convert a string to `Text`, escaped before a table measures its width."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield escaped segments, including those of a `Text` that a caller built from a string."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
