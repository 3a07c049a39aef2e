"""Statements that were routed as events, as reported speech: for summaries, not for prompts.

The routing design stores "Alice discussed the floor: It is fair. Reasoning: … Certainty: high." Quoted unchanged, the
labels would become part of her words.
"""

from __future__ import annotations

import re

from cogitate.memory.entry import Entry, is_of_event
from cogitate.memory.language.sentences import SPACED, UNSPACED, has_end, with_end
from cogitate.memory.language.talk import Utterance

_PARTS = re.compile(r" \| (?=[A-Z][a-z]+: )")
_TOPIC = re.compile(r" on (\S.*)$")
_COUNTED = re.compile(r"(?:The|Our) [\w'’ -]{1,60} voted \d{1,6} to \d{1,6} (?:to|for|against) \w")
#: Before a label that routing adds: a mark that ends a sentence in any script, or a letter of Thai or Lao.
_AFTER_END = rf"(?<=[{SPACED}{UNSPACED}\"'”’»)\]」』）“\u0e00-\u0eff] )"
_PART = re.compile(rf"{_AFTER_END}(Earnings|Otherwise):(?= )")
_JOINS = {"Earnings": " were", "Otherwise": ":"}
_REASONING = re.compile(rf"(?:^|{_AFTER_END})Reasoning: ")
_CERTAINTY = re.compile(rf"{_AFTER_END}Certainty: .{{1,101}}?(?: (?=Earnings: |Otherwise: )|$)")


def is_statement_of_event(entry: Entry) -> bool:
    """Return whether the entry is a statement that was routed as an event."""
    return entry.type == "message" and is_of_event(entry)


def statement_of(entry: Entry, speaker: str) -> Utterance | None:
    """Return what the speaker of a routed statement said, with its reasons; None where the text has another form."""
    if entry.text.startswith("Speaker: "):
        parts = dict(part.partition(": ")[::2] for part in _PARTS.split(entry.text))
        speaker = parts["Speaker"]
        said = " ".join(_ended(parts[key]) for key in ("Statement", "Text", "Reasoning") if parts.get(key))
    elif entry.text.startswith(f"{speaker} "):
        head, colon, said = entry.text.partition(": ")
        if head.endswith((". Reasoning", ". Certainty")):  # no statement: "Alice discussed the floor. Reasoning: …"
            said = entry.text[len(head) - len("Reasoning") :]
        before, certainty, _ = said.rpartition("Certainty: ")  # the last part, always short
        said = _REASONING.sub("", before if certainty else said) if colon else ""
    else:
        return None
    return Utterance(speaker, said.strip(), entry.minute) if said.strip() else None


def told_apart(entry: Entry) -> str:
    """Return what an event told, in sentences that stand alone: "Earnings on the mill were 9." for "Earnings: 9.".

    A vote that tells its count stands alone without the label that routing set before it.
    """
    if entry.type != "observation" or not is_of_event(entry):
        return entry.text
    if _COUNTED.match(news := news_of(entry)):
        return news
    head, _, told = entry.text.partition(": ")
    topic = _TOPIC.search(head)
    if topic is None or not told:
        return entry.text
    return f"{head}: {_PART.sub(lambda label: f'{label[1]}{topic[0]}{_JOINS[label[1]]}', told)}"


def news_of(entry: Entry) -> str:
    """Return what an event told, without labels and certainty: "The floor won." for "Ballot …: …"."""
    if entry.type != "observation" or not is_of_event(entry):
        return entry.text
    _, colon, news = entry.text.partition(": ")
    begins = news[:1].isalpha() and not news[:1].islower()  # many scripts have no capitals
    if not colon or not begins or entry.text.startswith("Event: "):
        return entry.text
    return _REASONING.sub("", _CERTAINTY.sub("", news)).rstrip()


def _ended(sentence: str) -> str:
    return sentence if has_end(sentence) else with_end(sentence)
