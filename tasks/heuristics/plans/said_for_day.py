"""What is said for the day of a plan, at no hour: by its owner about itself, or by another to it by name.

Where time is told by rounds, it is what anybody says of a round that is not over, but for what others do alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.languages import languages_of
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import QUESTIONS, split_sentences
from cogitate.memory.language.times import anchor_days, days_named, find_times, is_over, rounds_named
from cogitate.memory.summaries.conversations import parse_line


def said_for_day(
    name: str, entries: Iterable[Entry], names: Mapping[str, str], start: int, agreed: Collection[int]
) -> list[str]:
    """Return the sentences of earlier days that name the day of a plan, the newest last, with the day as its number.

    Args:
        name: of the plan's owner.
        start: of the plan, game minute.
        agreed: numbers of the entries that promise something: they are told as promises.
    """
    if not clock_in_force().counts_days:
        return _said_for_rounds(name, entries, names, start, agreed)
    today, first = day_of(start), re.escape(name.partition(" ")[0])
    spoken_to = rf"(?:^|[,，、] ?){first}(?:[,，、!！]|[.?!。？！]?$)"  # not compiled for every owner in vain
    found: list[str] = []
    for entry in entries:
        if entry.minute >= today * DAY or not is_dialogue(entry) or entry.number in agreed:
            continue
        line = parse_line(entry, names)
        for sentence in split_sentences(line.text):
            dated = anchor_days(sentence, entry.minute)
            if dated == sentence or today not in days_named(dated) or find_times(sentence):
                continue
            language, is_own = language_of(sentence), line.speaker == name
            if language.is_intent(sentence) if is_own else re.search(spoken_to, sentence):
                label = "" if is_own else pack_of(languages_of(sentence)[0]).labelled(line.speaker, "")
                found.append(label + dated.rstrip(".。"))
    return found


def _said_for_rounds(
    name: str, entries: Iterable[Entry], names: Mapping[str, str], start: int, agreed: Collection[int]
) -> list[str]:
    """Return the sentences of talk that name a round which is not over, the newest last; of each round the last.

    What others mean to do alone is left out.
    """
    found: dict[int, str] = {}
    for entry in entries:
        if not is_dialogue(entry) or entry.number in agreed or entry.minute > start:
            continue
        line = parse_line(entry, names)
        for sentence in split_sentences(line.text):
            rounds = rounds_named(sentence, entry.minute)
            if not rounds or sentence.endswith(QUESTIONS) or is_over(sentence, start, entry.minute):
                continue
            if line.speaker != name and language_of(sentence).is_own_matter(sentence):
                continue
            label = "" if line.speaker == name else pack_of(languages_of(sentence)[0]).labelled(line.speaker, "")
            for number in rounds:  # what was moved to another round, or is said again
                found.pop(number, None)
            found[max(rounds)] = label + sentence.rstrip(".。")
    return [*found.values()]
