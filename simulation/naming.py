"""Derives owner and location ids from names: readable ASCII, safe in keys, logs and addresses."""

from __future__ import annotations

import re

from cogitate.memory.language.text import normalized

PLAIN = str.maketrans({"ı": "i", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ß": "ss", "æ": "ae", "đ": "d"})


def slug(name: str) -> str:
    """Return a name in lower-case ASCII letters, digits and dashes; "" if it has no such letters."""
    folded = normalized(name.translate(PLAIN), "NFKD").encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", folded.replace("'", "").lower()).strip("-")


def distinct(slugs: list[str], otherwise: str) -> list[str]:
    """Make slugs distinct: an empty one becomes `otherwise`, and repeated ones get numbers."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # last number given to each slug; lower ones are taken
    result: list[str] = []
    for wanted in slugs:
        base = wanted or otherwise
        candidate, number = base, numbers.get(base, 1)
        while candidate in taken:
            number += 1
            candidate = f"{base}-{number}"
        numbers[base] = number
        taken.add(candidate)
        result.append(candidate)
    return result
