"""The one of several named actions that fits a text best, such as the present item of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from cogitate.memory.language.text import normal, stems


def choose_action(actions: Sequence[str], text: str, seed: Sequence[str] = ()) -> str:
    """Return the action that shares most with a text, the first of several; "" where none shares a word with it.

    Args:
        seed: parts that decide where no action shares a word with the text; without them none is chosen.
    """
    wanted = set(stems(text))
    shares = [_share(wanted, action, text) for action in actions]
    best = max(shares, default=0.0)
    if best > 0:
        return actions[shares.index(best)]
    return min(actions, key=lambda action: _draw(*seed, action), default="") if seed else ""


def _share(wanted: set[str], action: str, text: str) -> float:
    """Return how alike an action and the wanted words are, from 0 to 1."""
    if normal(action) == normal(text):
        return 1.0
    named = set(stems(action))
    return len(wanted & named) / len(wanted | named) if named else 0.0


def _draw(*parts: str) -> bytes:
    """Return bytes that depend on the parts alone, on any machine."""
    return blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=8).digest()
