"""What packs say before a quotation, taken out of a text: the words of telling are none of the source's."""

from __future__ import annotations

from collections.abc import Collection
from itertools import permutations

from cogitate.memory.language.packs import pack_of, packs


def without_leads(text: str, names: Collection[str]) -> str:
    """Return a text with the names alone in the place of what tells who said something to whom, in any language."""
    called = sorted({*names, *(part for name in names for part in name.split())}, key=len, reverse=True)
    called = [name for name in called if name in text]
    for speech in (pack_of(code).speech for code in packs()):
        for speaker, listener in permutations(called, 2):
            lead = speech.lead_of(speech.report("Yes.", speaker, listener, "")).rstrip(":： \u00a0")  # a day may follow
            text = text.replace(lead, f"{speaker} {listener} ")
    return text
