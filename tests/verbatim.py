"""A check that a text quotes its evidence word for word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cogitate.memory.language.quotations import quotations_in

_MARKS = str.maketrans(dict.fromkeys('“”„"«»「」『』‘’‚', "'"))  # nested quotations change their marks


def altered_quotes(text: str, sources: Iterable[str]) -> list[str]:
    """Return the quotations of a text that occur in none of its sources; "…" may stand for omitted words."""
    known = [_plain(source) for source in sources]
    return [quote for quote in quotations_in(text) if not any(_occurs(_plain(quote), source) for source in known)]


def _occurs(quote: str, source: str) -> bool:
    at = 0
    for part in (part.strip(" .,;!?。") for part in quote.split("…")):
        at = source.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.translate(_MARKS))
