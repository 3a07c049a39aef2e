"""Summaries without a model: the clauses that say most in the fewest words, told in the third person.

A greedy choice covers weighted words under the limit, the standard submodular approximation of extractive
summarising (Lin and Bilmes, "A Class of Submodular Functions for Document Summarization", ACL 2011). Names, numbers
and words that recur in many lines weigh most. Courtesies, and sentences that say nothing alone, are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby

from cogitate.memory.language.languages import UNDETERMINED, prevailing_language
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.port import calls_by_short_name
from cogitate.memory.language.reported_speech import ReportedSpeech
from cogitate.memory.language.sentences import joined
from cogitate.memory.language.short_names import short_names, with_short_names
from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.meeting_minutes import is_short, minutes_of
from cogitate.memory.summaries.parts import line_in_parts
from cogitate.memory.summaries.units import BREVITY, Unit, units

_WORD = re.compile(r"[^\W\d_]+")
_SAID = re.compile(r'([^":]{1,130}? (?:said|(?:told|asked)(?: [^":]{1,80})?):)(?= "[^"]*"$)')
SAME_LINE = 0.75  # factor on the value of each further clause of a line


def summarise(
    lines: Sequence[Utterance],
    *,
    max_words: int,
    header: str = "",
    minute: int | None = None,
    names: Iterable[str] = (),
    language: str = UNDETERMINED,
) -> str:
    """Return a summary of `lines` in at most `max_words` words (`count_words`), in sentences and in their order.

    Speech becomes third person; lines without a speaker stay as they are. `header` (who and when) opens the summary
    if there is room for it. Plans that are over at game time `minute` are told in the past tense. A sentence that
    does not fit is told in part. The same lines give the same summary; no lines, or no room, give "". `names` are those
    that the lines may mention. Speech is quoted in the words of `language`, or else of that of all lines together.
    """
    head = header.strip() if count_words(header) <= max_words else ""
    room = max_words - count_words(head)
    language = prevailing_language(line.text for line in lines) if language == UNDETERMINED else language
    short = _short_names(lines, [*names]) if calls_by_short_name(language) else {}
    if head and is_short(lines, room):
        return minutes_of(lines, max_words, language, head, short)
    parts = [part for line in lines for part in line_in_parts(line, room)]
    speech = pack_of(language).speech
    candidates, text, most = [_in_short(unit, short) for unit in units(parts, minute, language)], head, room
    spare = sum(unit.spare for unit in candidates)
    while True:
        chosen = choose_units([unit for unit in candidates if not unit.spare], most)
        if len(chosen) + spare == len(candidates):
            chosen = choose_units(candidates, most)
        told = _with_speech_together([unit.text for unit in chosen], speech)
        again = with_short_names(joined(part for part in (head, *told) if part), short)
        left = max_words - count_words(again)
        if left < 0 and text == head:
            most += left  # first mentions in full take more room
            continue
        if left < 0 or again == text:
            break
        text, most = again, most + left
    return text


def _short_names(lines: Iterable[Utterance], known: Sequence[str]) -> dict[str, str]:
    """Return the short names of the speakers and listeners."""
    spoken = [line for line in lines if line.speaker]
    called = dict.fromkeys(name for line in spoken for name in (line.speaker, line.listener) if " " in name)
    said = {word for line in spoken for word in _WORD.findall(line.text) if word.islower()}
    return short_names(called, known, said)


def _in_short(unit: Unit, short: Mapping[str, str]) -> Unit:
    """Return a unit with the size that it has after the first mention of those whom it names."""
    if not any(name in unit.text for name in short):
        return unit
    return unit._replace(size=count_words(with_short_names(unit.text, short, short)))


def _with_speech_together(sentences: Iterable[str], speech: ReportedSpeech) -> list[str]:
    """Return sentences, what one said to another in a row as one: 'Ada told Bo: "No", "Never" and "I mean it."'."""
    told: list[str] = []
    for lead, group in groupby(sentences, key=lambda one: _lead(one, speech)):
        run = list(group)
        if lead and len(run) > 1:
            said = [sentence[len(lead) + 2 : -1] for sentence in run]
            quotes = '", "'.join(one.rstrip(" .,;") for one in said[:-1])
            run = [f'{lead} "{quotes}" and "{said[-1]}"'] if _SAID.match(run[0]) else [speech.together(run)]
        told += run
    return told


def _lead(sentence: str, speech: ReportedSpeech) -> str:
    """Return the words before the quotation that ends a sentence; "" without one."""
    found = _SAID.match(sentence)
    return found[1] if found else speech.lead_of(sentence)


def choose_units(candidates: Sequence[Unit], room: int) -> list[Unit]:
    """Return the units that add most weight for their size, until nothing fits in `room` words, in order of lines.

    What a unit adds only shrinks as others are chosen, so a unit whose value is still the best after it was looked
    at again is the best of all ("lazy greedy", Minoux 1978); ties go to the earlier unit.
    """
    covered: set[str] = set()
    told: Counter[int] = Counter()
    chosen: list[int] = []

    def value(unit: Unit) -> float:
        new = 0.0  # and no `sum`, which adds floats in another way since Python 3.12
        for key, weight in unit.weights.items():
            if key not in covered:
                new += weight
        return new / worth[unit.size] * SAME_LINE ** told[unit.line]

    worth = {size: float(size**BREVITY) for size in {unit.size for unit in candidates}}
    queue = [(-value(unit), at) for at, unit in enumerate(candidates)]
    heapify(queue)
    while queue:
        promised, at = heappop(queue)
        unit = candidates[at]
        if unit.size > room or promised == 0:
            continue
        present = -value(unit)
        if present != promised:
            heappush(queue, (present, at))
            continue
        chosen.append(at)
        covered.update(unit.weights)
        told[unit.line] += 1
        room -= unit.size
    return [candidates[at] for at in sorted(chosen)]
