"""The one of several named actions that fits a text best, such as the present item of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from cogitate.memory.language.text import normal, stems

PART = 4  # characters: shorter ones are endings


def choose_action(actions: Sequence[str], text: str, seed: Sequence[str] = ()) -> str:
    """Return the action that shares most words with a text, or else most parts of words, the first of several.

    Args:
        seed: parts that decide where no action is like the text; without them "" is returned.
    """
    for parts in (stems, _parts):
        wanted = set(parts(text))
        shares = [1.0 if normal(one) == normal(text) else _share(wanted, set(parts(one))) for one in actions]
        if (best := max(shares, default=0.0)) > 0:
            return actions[shares.index(best)]
    return min(actions, key=lambda action: _draw(*seed, action), default="") if seed else ""


def _parts(text: str) -> list[str]:
    """Return every run of four characters in the words of a text, which compounds and inflected words share."""
    return [word[at : at + PART] for word in stems(text) for at in range(len(word) - PART + 1)]


def _share(wanted: set[str], named: set[str]) -> float:
    """Return how alike two sets are, from 0 to 1."""
    return len(wanted & named) / len(wanted | named) if named else 0.0


def _draw(*parts: str) -> bytes:
    """Return bytes that depend on the parts alone, on any machine."""
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=8).digest()
