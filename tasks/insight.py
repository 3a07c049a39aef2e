"""An insight without a model: what changed since the last reflection, with the entries that show it.

It looks for people met for the first time, events that repeat, promises, what stands out by its importance, and
places never visited before (surprises against the routine), and tells them in the first person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from memory.entry import Entry
from memory.language.sentences import split_sentences
from memory.language.text import normal, stems
from memory.language.times import anchor_days
from memory.policies.compaction import rating
from memory.summaries.conversations import format_list, is_dialogue, parse_line, resolve_name

QUIET = "It's been a quiet period. Nothing particularly notable has happened."  # streams design, task 8
STRIKING = 7  # importance from which an event is told by itself
TRIVIAL = 1  # importance of what is not worth telling however often it happens
EVIDENCE = 20  # entries at most (streams design)
LONGEST = 900  # characters
_REFUSAL = re.compile(r"\b(?:not|never|won['’]t|can['’]t|unfortunately|pity|already promised)\b", re.I)
_AGAIN_TOLD = re.compile(r"\bconversing about (?:(?:[\w' ]{1,60} (?:is|are) )?conversing about )+")
_PROMISE = re.compile(
    r"\b(?:promis\w*|(?<!as )agreed? to|invit\w*|remember to|"
    r"plan(?:s|ned|ning)? to|look(?:s|ing)? forward to|swore|vow\w*)\b"
    r"|\b(?:I|we)(?:['’]ll| will)\b|обещ\w*|приглас\w*|договор\w*",
    re.I,
)


class Insight(NamedTuple):
    """What is told and the numbers of the entries it rests on, ascending."""

    text: str
    evidence: tuple[int, ...]


def find_insight(
    owner: str,
    recent: Sequence[Entry],
    before: Sequence[Entry],
    names: Mapping[str, str],
    repeats: Mapping[int, int] | None = None,
) -> Insight:
    """Return what is new in `recent` entries against those `before`.

    Args:
        recent: observations, messages, and summaries of such, by importance, the highest first.
        repeats: how often entries were observed again, by number.
    """
    fresh = _Fresh()
    told: list[tuple[str, list[Entry]]] = [
        *_people(owner, recent, before, names),
        *_striking(owner, recent, names, fresh),
        *_promises(owner, recent, names, fresh),
        *_repeated(owner, [e for e in recent if e.type != "summary"], repeats or {}, names, fresh),
        *_places(recent, before, names),
    ]
    if not told:
        told = _whereabouts(owner, recent, names)
    parts: list[str] = []
    evidence: set[int] = set()
    for text, entries in told:
        if sum(map(len, parts)) + len(text) <= LONGEST:
            parts.append(text)
            evidence |= {e.number for e in entries}
    return Insight(" ".join(parts) or QUIET, tuple(sorted(evidence))[-EVIDENCE:])


def _people(
    owner: str, recent: Sequence[Entry], before: Sequence[Entry], names: Mapping[str, str]
) -> Iterable[tuple[str, list[Entry]]]:
    known = {s for e in before if e.type != "plan" for s in e.subjects}
    with_whom: dict[str, list[Entry]] = {}
    for entry in sorted(recent, key=lambda e: (e.minute, e.number)):
        for subject in dict.fromkeys(entry.subjects):
            if subject != owner and (subject in names or subject.startswith("agent:")):
                with_whom.setdefault(subject, []).append(entry)
    new = [s for s in with_whom if s not in known]
    if new and known:
        yield (
            f"I met {format_list([resolve_name(s, names) for s in new[:4]])} for the first time.",
            [with_whom[s][0] for s in new[:4]],
        )
    times = {s: sum(_events(e) for e in entries) for s, entries in with_whom.items()}
    often = [s for s, count in sorted(times.items(), key=lambda i: -i[1]) if count >= 3]
    if often:
        people = format_list([resolve_name(s, names) for s in often[:3]])
        yield f"I spent much of my time with {people}.", [e for s in often[:3] for e in with_whom[s][:3]]


def _events(entry: Entry) -> int:
    """Return the number of events that an entry covers: for a summary, those that it replaces."""
    return len(entry.evidence) or 1 if entry.type == "summary" else 1


class _Fresh:
    """What was told already, so that nothing is told twice, not in other words either."""

    def __init__(self) -> None:
        self._told: list[set[str]] = []

    def __call__(self, text: str) -> bool:
        words = set(stems(text))
        if not words or any(len(words & other) >= 0.6 * min(len(words), len(other)) for other in self._told):
            return False
        self._told.append(words)
        return True


def _striking(
    owner: str, recent: Sequence[Entry], names: Mapping[str, str], fresh: _Fresh
) -> Iterable[tuple[str, list[Entry]]]:
    """Return the most important of what the owner saw or others said; its own words are no news to it."""
    said = ((e, _speaker(owner, e, names)) for e in recent if rating(e) >= STRIKING)
    found = ((e, speaker) for e, speaker in said if speaker != "I" and fresh(parse_line(e, names).text))
    for at, (entry, speaker) in enumerate(islice(found, 2)):
        statements = [s for s in split_sentences(parse_line(entry, names).text) if not s.endswith("?")]
        if statements:
            words = _words(owner, entry, " ".join(statements), names)
            if speaker:
                yield f"What {speaker} said {'also stays' if at else 'stays'} with me: {words}", [entry]
            else:
                yield f"{'And also' if at else 'What stays with me'}: {words}", [entry]


def _promises(
    owner: str, recent: Sequence[Entry], names: Mapping[str, str], fresh: _Fresh
) -> Iterable[tuple[str, list[Entry]]]:
    found = (
        (entry, sentence)
        for entry in recent
        for sentence in split_sentences(parse_line(entry, names).text)
        if _PROMISE.search(sentence)
        and not sentence.endswith("?")
        and len(sentence.split()) >= 6
        and not _REFUSAL.search(sentence)
        and fresh(sentence)
    )
    for at, (entry, sentence) in enumerate(islice(found, 2)):
        words, speaker = _words(owner, entry, sentence, names), _speaker(owner, entry, names)
        opening = "Nor should I forget" if at else "I should keep in mind"
        yield (f"{opening} what {speaker} said: {words}" if speaker else f"{opening}: {words}"), [entry]


def _repeated(
    owner: str, recent: Sequence[Entry], repeats: Mapping[int, int], names: Mapping[str, str], fresh: _Fresh
) -> Iterable[tuple[str, list[Entry]]]:
    """Yield the event that happened most often; lines of talk are no events."""

    def times(group: Sequence[Entry]) -> int:
        return sum(1 + repeats.get(e.number, 0) for e in group)

    by_text: dict[str, list[Entry]] = {}
    for entry in recent:
        if rating(entry) > TRIVIAL and not is_dialogue(entry):
            by_text.setdefault(normal(entry.text), []).append(entry)
    often = [entries for entries in by_text.values() if times(entries) >= 3 and fresh(entries[0].text)]
    if often:
        entries = max(often, key=lambda g: (rating(g[0]), times(g), -g[0].number))
        text = _ended(_own(owner, entries[0].text, names))
        how_often = f"Again and again ({times(entries)} times)"
        yield (f"{how_often} {text}" if text.startswith("I ") else f"{how_often}: {text}"), entries[:5]


def _places(
    recent: Sequence[Entry], before: Sequence[Entry], names: Mapping[str, str]
) -> Iterable[tuple[str, list[Entry]]]:
    usual = {e.location for e in before if e.location}
    new = {e.location: e for e in sorted(recent, key=lambda e: -e.number) if e.location and e.location not in usual}
    if usual and new:
        places = sorted(new, key=lambda p: new[p].number)[:3]
        yield (
            f"It was out of my routine to be at {format_list([resolve_name(p, names) for p in places])}.",
            [new[p] for p in places],
        )


def _whereabouts(owner: str, recent: Sequence[Entry], names: Mapping[str, str]) -> list[tuple[str, list[Entry]]]:
    """Return the fallback of the streams design: places and people of most of the time."""
    places = [p for p, _ in Counter(e.location for e in recent if e.location).most_common(3)]
    people = [s for s, _ in Counter(s for e in recent for s in e.subjects if s != owner).most_common(3)]
    parts = []
    if places:
        parts.append(f"Today I spent time at {format_list([resolve_name(p, names) for p in places])}.")
    if people:
        parts.append(f"I interacted with {format_list([resolve_name(s, names) for s in people])}.")
    return [(" ".join(parts), list(recent))] if parts else []


def _speaker(owner: str, entry: Entry, names: Mapping[str, str]) -> str:
    """Whose words an entry holds: a name, "I", or "" where nobody spoke."""
    speaker = parse_line(entry, names).speaker
    return "I" if speaker == resolve_name(owner, names) else speaker


def _words(owner: str, entry: Entry, text: str, names: Mapping[str, str]) -> str:
    """Return the text of an entry, quoted if somebody said it, with days as numbers, since it will be read later."""
    text = anchor_days(text, entry.minute)
    return f"“{_ended(text)}”" if parse_line(entry, names).speaker else _ended(_own(owner, text, names))


def _own(owner: str, text: str, names: Mapping[str, str]) -> str:
    """Return an observation in the first person: "Saw Maria", "Klaus is reading" become "I saw", "I was"."""
    text = _AGAIN_TOLD.sub("conversing about ", text).replace(" engaged in an activity: ", " ")
    text = re.sub(r"^Saw (?=\w)", "I saw ", text)
    text = re.sub(rf"^{re.escape(resolve_name(owner, names))} (?:is|was) (?=\w+ing\b)", "I was ", text)
    if re.fullmatch(r"I was [^A-Z]*", text):  # nobody else is named, so that "her" is the owner's
        text = re.sub(r"\b(?:him|her)self\b", "myself", text)
        text = re.sub(r"\bhim\b|\bher\b(?! \w)", "me", text)
        text = re.sub(r"\b(?:his|her)\b", "my", text)
    return re.sub(r" (?:is|was) conversing about ", " talked about ", text)


def _ended(text: str) -> str:
    text = text if len(text) <= 240 else text[:240].rsplit(" ", 1)[0] + "…"
    return text if text.endswith((".", "!", "…", "”")) else text.rstrip(" ?,;:") + "."
