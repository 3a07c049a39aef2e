"""A console whose output no text of a run can use to control the terminal.

Memories, profiles and answers of models come from others. They may contain escape sequences that clear a screen or set
its title, characters that reverse the direction of text, and markup of the library that draws tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from memory.language.hidden_characters import replace_hidden

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")  # without line feed and tab


def visible(text: str) -> str:
    r"""Return the text with each character that hides text or would control a terminal escaped, as "\x1b"."""
    return _written_out(text, lambda char: char.encode("unicode_escape").decode())


def visible_json(line: bytes) -> bytes:
    r"""Return an equal line of JSON with such characters escaped, as "\u001b" or "\u202e"."""
    return _written_out(line.decode(), lambda char: json.dumps(char)[1:-1]).encode()


def _written_out(text: str, escaped: Callable[[str], str]) -> str:
    return replace_hidden(_CONTROLS.sub(lambda found: escaped(found[0]), text), escaped)


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
