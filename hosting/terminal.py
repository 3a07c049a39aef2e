"""Consoles on which no text of a run can steer the terminal.

Memories, profiles and answers of models hold what others wrote: escape sequences that clear a screen or set its title,
characters that reverse the direction of what follows, markup of the library that draws the tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from scheduler.intake.checks import HIDING

#: What hides or steers, but for line feed and tab.
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f{HIDING}]")


def visible(text: str) -> str:
    r"""Return the text with each character that would steer a terminal written out, as "\x1b" or "\u202e"."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_json(line: bytes) -> bytes:
    r"""Return a line of JSON that says the same without such characters, as "\u001b" or "\u202e"."""
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], line.decode()).encode()


class Terminal(Console):
    """A console that prints every string without markup, with its hidden characters written out."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a string as `Text`: what is printed, and each cell of a table before its width is measured."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield what is written; here also for a `Text` that somebody made of a string."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
