"""Check that each quotation of a text stands word for word in its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cogitate.memory.language.quotations import quotations_in

_MARKS = str.maketrans(dict.fromkeys('“”„"«»「」『』‘’‚', "'"))  # a quotation within another has other marks


def altered_quotes(text: str, sources: Iterable[str]) -> list[str]:
    """Return the quotations of a text that stand in none of its sources, where "…" may leave words out."""
    known = [_plain(source) for source in sources]
    return [quote for quote in quotations_in(text) if not any(_stands(_plain(quote), source) for source in known)]


def _stands(quote: str, source: str) -> bool:
    at = 0
    for part in (part.strip(" .,;!?。") for part in quote.split("…")):
        at = source.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.translate(_MARKS))
