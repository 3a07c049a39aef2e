"""What an owner remembers in another language than English, quoted: no rule retells it, and nothing is added."""

from __future__ import annotations

from collections.abc import Iterable

from memory.entry import Entry, is_dialogue
from memory.language.endings import QUESTIONS, joined, with_end
from memory.language.languages import is_english
from memory.language.sentences import split_sentences
from memory.language.text import normal
from memory.language.times import anchor_days
from memory.language.truncation import shorten
from memory.policies.compaction import rating
from memory.summaries.conversations import parse_line
from memory.summaries.statements import news_of
from tasks.heuristics.recalled import LONGEST, Finding, Recalled

NOTABLE = 4  # importance from which a memory is quoted


def retells(entry: Entry) -> bool:
    """Return whether the rules that retell English apply to an entry."""
    return is_english(entry.text)


def quoted(recalled: Recalled) -> Iterable[Finding]:
    """Yield the recent memories that are not in English, the more important the better; what was said counts less."""
    known = {normal(e.text) for e in recalled.before}
    for entry in recalled.recent:
        if retells(entry) or rating(entry) < NOTABLE or normal(entry.text) in known:
            continue
        text = quote(recalled, entry)
        if text:
            worth = rating(entry) - (1.5 if is_dialogue(entry) else 0.5)
            yield Finding(worth, "changed", text, (entry.number,))


def quote(recalled: Recalled, entry: Entry) -> str:
    """Return the sentences of an entry that state something, in their own words, and who said them; "" if none do."""
    told = parse_line(entry, recalled.names)
    text = told.text if told.speaker else anchor_days(news_of(entry), entry.minute)
    kept = joined(sentence for sentence in split_sentences(text) if not sentence.endswith(QUESTIONS))
    if not kept:
        return ""
    kept = with_end(shorten(kept, LONGEST, "…"))
    return f"{told.speaker}: “{kept}”" if told.speaker and told.speaker != recalled.name else kept
