"""Reported speech of a language: the speaker, the listener, and the quotation marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from cogitate.memory.language.word_patterns import runs_on

_TOLD = "{speaker} → {listener}"  # without words in the pack
_QUOTES = '""'
_NAME = r"[^:：\n]{1,80}?"
#: Outer quotation marks, and the marks that replace them inside a quotation.
_INNER = dict(zip('“”„«»「」"', "‘’‚“”『』'", strict=True))
_STOPS = " .。।,;"


class ReportedSpeech:
    """The form in which one language reports speech.

    Args:
        told: format of the speaker and the listener before the colon.
        quotes: the two marks; "opening|closing" if they include spaces.
        colon: the mark before a quotation.
        listed: joins several quotations.
        bracketed: appends a day.
    """

    def __init__(
        self,
        told: str,
        quotes: str,
        colon: str,
        listed: Callable[[Sequence[str]], str],
        bracketed: Callable[[str, str], str],
    ) -> None:
        self._told = told or _TOLD
        opens, apart, closes = quotes.partition("|")
        marks = quotes or _QUOTES
        self._opens, self._closes = (opens, closes) if apart else (marks[0], marks[-1])
        self._colon = colon
        self._listed = listed
        self._bracketed = bracketed

    def report(self, said: str, speaker: str, listener: str, day: str) -> str:
        """Return what was said between quotation marks, after who said it, to whom and on which day, if known."""
        told = self._told.format(speaker=self._apart(speaker), listener=self._apart(listener)) if listener else speaker
        inner = str.maketrans({mark: _INNER[mark] for mark in (self._opens[0], self._closes[-1], '"')})
        return f"{self._bracketed(told.strip(), day)}{self._colon}{self._opens}{said.translate(inner)}{self._closes}"

    def _apart(self, name: str) -> str:
        """Return a name in Latin letters with a space around it among words that have none: "Ada 对 Bo 说"."""
        return f" {name} " if name.isascii() and runs_on(self._told) else name

    def speaker_of(self, sentence: str) -> str:
        """Return the speaker of a sentence that quotes one person to another; "" for any other sentence."""
        found = self._told_to.fullmatch(self.lead_of(sentence).removesuffix(self._colon))
        return found["speaker"] if found else ""

    def lead_of(self, sentence: str) -> str:
        """Return the words before the quotation that ends a sentence; "" without one."""
        found = self._lead.match(sentence)
        return found[1] if found else ""

    def together(self, sentences: Sequence[str]) -> str:
        """Return sentences with the same words before their quotations as one."""
        lead = self.lead_of(sentences[0])
        said = [sentence[len(lead) :] for sentence in sentences]
        bare = (one.removesuffix(self._closes).rstrip(_STOPS) + self._closes for one in said[:-1])
        return lead + self._listed([*bare, said[-1]])

    @cached_property
    def _lead(self) -> re.Pattern[str]:
        marks = re.escape(self._opens[0] + self._closes[-1])
        quotation = f"{re.escape(self._opens)}[^{marks}\\n]{{1,4000}}{re.escape(self._closes)}$"
        return re.compile(rf"([^{marks}:：\n]{{1,200}}{re.escape(self._colon)})(?={quotation})")

    @cached_property
    def _told_to(self) -> re.Pattern[str]:
        told = (
            re.escape(self._told)
            .replace(r"\{speaker\}", rf"(?P<speaker>{_NAME})\s?")
            .replace(r"\{listener\}", rf"\s?{_NAME}\s?")
        )
        return re.compile(rf"{told}(?:\s?[(（][^()（）]{{1,40}}[)）])?")
