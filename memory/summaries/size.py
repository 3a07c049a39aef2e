"""The size of a summary: one number determines the words to ask for, the tokens to allow and the stored bound.

Models miscount words, so the bound is a quarter above the requested words. A word may take two tokens (names, other
languages), and JSON and brief reasoning take some more.
"""

from __future__ import annotations

from typing import NamedTuple

from cogitate.memory.summaries.long_term import cut_oldest, estimate_tokens, words_of_tokens

_ASKED = 0.8  # share of the bound that a model is asked for
_TOKENS_OF_WORD = 2
_BESIDES = 100  # tokens of JSON and thought


class SummarySize(NamedTuple):
    """The size of one kind of summary."""

    bound: int  # tokens by `estimate_tokens`: 1.3 for each word; no longer summary is stored

    @property
    def words(self) -> int:
        """Return the number of words to request from a model."""
        return max(10, int(words_of_tokens(self.bound) * _ASKED))

    @property
    def output_cap(self) -> int:
        """Return the tokens that a model's answer may have."""
        return _TOKENS_OF_WORD * words_of_tokens(self.bound) + _BESIDES

    def fits(self, text: str) -> bool:
        """Return whether a text is within the bound."""
        return estimate_tokens(text) <= self.bound

    def cut(self, text: str) -> tuple[str, int]:
        """Return the newest part of a text within the bound, whole sentences if one fits, and the tokens cut off."""
        kept = cut_oldest(text, self.bound)
        return kept, estimate_tokens(text) - estimate_tokens(kept)
