"""Conversations among an owner's entries: their participants, their times, and a summary without a model.

The streams design (task 10) groups dialogue by "same participants, close in time" with a scan of all pairs; here one
pass in order of time does it, since a conversation can only continue after its own latest line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from cogitate.memory.clock import DAY, at_time, clock_in_force, day_of
from cogitate.memory.entry import MAX_TEXT, Entry, is_dialogue, is_of_event, resolve_name
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, languages_of, prevailing_language
from cogitate.memory.language.markup import prose
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.port import language_of
from cogitate.memory.language.quotations import quotations_in
from cogitate.memory.language.sentences import all_of, with_end
from cogitate.memory.language.short_names import short_names, with_full_names
from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.times import anchor_days, with_quoted_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.statements import is_statement_of_event, statement_of, told_apart
from cogitate.memory.summaries.summary import summarise
from cogitate.memory.summaries.units import MAX_SPEAKER

GAP = 30  # game minutes: a pause this long ends a conversation (streams design)
LONGEST = DAY  # game minutes: longer talk is split, so every group ends and becomes old enough to summarise


_THE = re.compile(r"^The (?=[a-z])")  # "The galley", within a sentence
_MOST_NAMED = 12  # participants that a header names
#: 'Ada told me: "', 'I asked Bo on day 2: "'
_REPORT = re.compile(
    rf"(?P<who>[^:\n]{{1,{MAX_SPEAKER}}}?) (?:said|says|told|tells|asked|asks|answered|replied)"
    r"(?: [^:\n\"“«]{1,80})?[:,] ?[\"“«'‘]"
)
#: Labels of a transcript for a speaker who is no owner: "PhD C", "Industrial Designer".
_LABEL = re.compile(r"[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){1,3}")
_CAPITALS = re.compile(r"[^\w]+")
#: "Ada: Hello", "Ada : Bonjour", "花子：はい": no space follows a fullwidth colon.
_SPOKEN = re.compile(rf"([^:：﹕\n]{{1,{MAX_SPEAKER}}})(?::\s++|[：﹕]\s*+)(?=\S)")


@dataclass(frozen=True)
class Conversation:
    """Entries of one talk, in order of time."""

    participants: tuple[str, ...]  # the owner included, sorted
    entries: tuple[Entry, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the entries, ascending."""
        return tuple(sorted(e.number for e in self.entries))

    @property
    def oldest(self) -> int:
        """Return the game time of the first line."""
        return self.entries[0].minute

    @property
    def importance(self) -> float:
        """Return the mean importance of the rated entries; 0 when none is rated."""
        rated = [e.importance for e in self.entries if e.importance]
        return sum(rated) / len(rated) if rated else 0.0


def conversations(owner: str, entries: Iterable[Entry]) -> list[Conversation]:
    """Return the conversations among `entries`, ordered by their first line.

    A line belongs to the running conversation of the same participants if less than 30 game minutes passed since
    that one's latest line. The owner takes part whether it is named or not.
    """
    lines = sorted((e for e in entries if is_dialogue(e)), key=lambda e: (e.minute, e.number))
    groups: list[tuple[tuple[str, ...], list[Entry]]] = []
    running: dict[tuple[str, ...], list[Entry]] = {}
    sorted_subjects: dict[tuple[str, ...], tuple[str, ...]] = {}
    for entry in lines:
        participants = sorted_subjects.get(entry.subjects) or tuple(sorted({owner, *entry.subjects}))
        sorted_subjects[entry.subjects] = participants
        group = running.get(participants)
        if group is None or entry.minute - group[-1].minute >= GAP or entry.minute - group[0].minute >= LONGEST:
            group = running[participants] = []
            groups.append((participants, group))
        group.append(entry)
    return [Conversation(participants, tuple(group)) for participants, group in groups]


def parse_line(entry: Entry, names: Mapping[str, str]) -> Utterance:
    """Return the speaker, text and time of an entry, without markup, and a summary with full names throughout.

    The speaker is the one whom the text names, or else a message's first subject.
    """
    line = _in_full(_parsed(entry, names), entry, names)
    return line if (said := prose(line.text)) is line.text else line._replace(text=said)


def _in_full(line: Utterance, entry: Entry, names: Mapping[str, str]) -> Utterance:
    if entry.type != "summary":
        return line
    short = short_names([resolve_name(s, names) for s in entry.subjects], names.values())
    return line._replace(text=with_full_names(line.text, short))


def _parsed(entry: Entry, names: Mapping[str, str]) -> Utterance:
    if is_statement_of_event(entry) and (stated := statement_of(entry, _speaker(entry, names))) is not None:
        return stated
    if (reported := quoted_speaker(entry.text)) and (reported in ("I", "You") or reported in names.values()):
        return Utterance("", entry.text, entry.minute)
    known = {resolve_name(s, names) for s in entry.subjects}
    found = _SPOKEN.match(entry.text) if is_dialogue(entry) else None
    called = found[1].rstrip() if found else ""
    speaker = resolve_name(entry.subjects[0], names) if entry.type == "message" and entry.subjects else ""
    if found and called.isupper() and _CAPITALS.sub(" ", called.casefold()).strip() in speaker.casefold():
        return Utterance(speaker, entry.text[found.end() :], entry.minute)
    if found and (called in known or called in names.values()):
        others = [name for s in entry.subjects if (name := resolve_name(s, names)) != called]
        listener = others[0] if len(others) == 1 else ""
        return Utterance(called, entry.text[found.end() :], entry.minute, listener)
    if found and _LABEL.fullmatch(called):  # a label of a transcript: the speaker is no owner
        return Utterance("", entry.text, entry.minute)
    if speaker and entry.text.startswith(f"{speaker} "):  # a note of what it did or said, such as "Ben votes yes."
        return Utterance("", told_apart(entry), entry.minute)
    listener = resolve_name(entry.subjects[1], names) if speaker and len(entry.subjects) == 2 else ""
    return Utterance(speaker, told_apart(entry), entry.minute, listener)


@lru_cache(maxsize=65_536)  # an owner's memories are read again by each heuristic
def quoted_speaker(text: str) -> str:
    """Return the speaker whom a text quotes: "Ada" of 'Ada told me: "The mill burns."'; "" for any other text."""
    found = _REPORT.match(text)
    if found or not (quoted := quotations_in(text)):
        return found["who"] if found else ""
    return pack_of(languages_of(quoted[0])[0]).speech.speaker_of(text)


def _speaker(entry: Entry, names: Mapping[str, str]) -> str:
    return resolve_name(entry.subjects[0], names) if entry.subjects else ""


def shown_line(entry: Entry, names: Mapping[str, str]) -> Utterance:
    """Return an entry as a prompt shows it: like `parse_line`, but a routed event in full and word for word."""
    if is_statement_of_event(entry) and statement_of(entry, _speaker(entry, names)) is not None:
        return Utterance("", entry.text, entry.minute)
    if entry.type == "observation" and is_of_event(entry):
        return Utterance("", entry.text, entry.minute)
    return _parsed(entry, names)


def first_person(entry: Entry, owner: str, names: Mapping[str, str]) -> Entry:
    """Return an entry in which "I" is its owner: names replace the "I" of others and the "you" of the owner."""
    told, me = parse_line(entry, names), resolve_name(owner, names)
    speaker, listener = told.speaker[:MAX_SPEAKER], told.listener[:MAX_SPEAKER]
    if not speaker:
        is_mine = entry.text.startswith(mine := f"{me} is ")
        text = f"I am {entry.text.removeprefix(mine)}" if is_mine else entry.text
        text = with_quoted_days(text, entry.minute) if entry.type == "summary" else text
    elif told.speaker == me:
        text = _YOU.sub(lambda _: listener, told.text) if listener else told.text
    else:
        text = language_of(told.text).heard(told.text, speaker, listener)
    return msgspec.structs.replace(entry, text=shorten(text, MAX_TEXT, "…"))


_YOU = re.compile(r"\b(?:you|yourself)\b", re.I)


def summarise_entries(
    entries: Sequence[Entry],
    names: Mapping[str, str],
    *,
    minute: int | None = None,
    owner: str = "",
    language: str = UNDETERMINED,
) -> str:
    """Return a summary of entries in about a third of their words (80 to 120), without a model. It is never empty.

    It is chronological. A summary of dialogue begins with the speakers, place and time, `owner` first if it is one of
    them. `minute` is the game time of writing, if known: plans that are over by then are told in the past tense. The
    summary is in `language`, or else in that of all entries together.
    """
    language = prevailing_language(e.text for e in entries) if language == UNDETERMINED else language
    ordered = sorted(entries, key=lambda e: (e.minute, e.number))
    header = _header(ordered, names, owner, language)
    lines = [_dated(parse_line(e, names), day_of(ordered[0].minute) if header else None, language) for e in ordered]
    words = sum(count_words(item.text) for item in lines)
    dense = 2 if words > 2 * sum(len(item.text.split()) for item in lines) else 1  # each character counts as a word
    room = max(dense * 80, min(dense * 120, words // 3)) + count_words(header)
    text = summarise(lines, max_words=room, header=header, minute=minute, names=names.values(), language=language)
    if not text:
        text = lines[0].text if lines else ""
    return shorten(text, MAX_TEXT, "…") or "Nothing worth keeping was said."


def _dated(line: Utterance, day: int | None, language: str) -> Utterance:
    """Return a line of a summary; if no one speaks it, its words for days become numbers."""
    if not line.speaker:
        return line._replace(text=anchor_days(line.text, line.minute, around=language))
    return line._replace(dated=day == day_of(line.minute))


def _listed(first: Entry, people: Sequence[str], names: Mapping[str, str], language: str) -> str:
    """Return the header of a talk (who, where and when) in a language other than English."""
    clock, pack = clock_in_force(), pack_of(language)
    day = pack.day(first.minute)
    when = f"{day} {first.minute % DAY // 60:02}:{first.minute % 60:02}".strip() if clock.has_times else ""
    when = when or day
    place = [resolve_name(first.location, names)] if first.location else []
    header = " · ".join([pack.named(people), *place, when])
    return f"{header}。" if pack.is_wide else with_end(header)


def is_header(sentence: str) -> bool:
    """Return whether a sentence is the header of a talk's summary: who talked, where and when."""
    return _HEADER.search(sentence) is not None


_HEADER = re.compile(r"(?: talked\b|^Conversation with ).*\b(?:on day \d+, |(?:during day|in round|in year) \d)")


def _header(entries: Sequence[Entry], names: Mapping[str, str], owner: str, language: str) -> str:
    if not entries or not all(is_dialogue(e) for e in entries):
        return ""
    subjects = dict.fromkeys(s for e in entries for s in e.subjects)
    people = [resolve_name(s, names) for s in subjects if s != owner]
    if not subjects:
        return ""
    if len(people) > _MOST_NAMED:
        people = [*people[: _MOST_NAMED - 1], f"{len(people) - _MOST_NAMED + 1} others"]
    if language not in (ENGLISH, UNDETERMINED):
        return _listed(entries[0], [resolve_name(s, names) for s in subjects], names, language)
    place = f" at {_THE.sub('the ', resolve_name(entries[0].location, names))}" if entries[0].location else ""
    if owner in subjects and people:
        talk = f"{resolve_name(owner, names)} talked with {all_of(people)}"
    elif len(people) > 1:
        talk = f"{all_of(people)} talked"
    elif people:
        talk = f"Conversation with {people[0]}"
    else:
        talk = f"{resolve_name(owner, names)} talked"
    return f"{talk}{place} {at_time(entries[0].minute)}."
