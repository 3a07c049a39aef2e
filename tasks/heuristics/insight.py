"""An insight without a model: one or two sentences on what the last hours or days show, with the entries that show it.

The first says what changed: a promise kept or broken, what happened or was heard, with whom things got better or
worse, who is new, what of the plan came true. The second says what is coming, or what is still owed; where there is
neither, what else changed. Both are told in the first person, and nothing that the latest reflections told already.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from memory.appointments import appointments
from memory.clock import DAY, clock_time, day_number, day_of
from memory.entry import Entry, is_dialogue
from memory.language.courtesies import acts, is_small_talk
from memory.language.own_view import in_own_words, told_to
from memory.language.references import leans_on_others
from memory.language.sentences import clean, split_sentences, without_own_name
from memory.language.speakers import Speakers
from memory.language.text import normal, stems, words
from memory.language.times import anchor_days, find_times
from memory.policies.compaction import rating
from memory.profile import Location
from memory.summaries.conversations import first_person, format_list, parse_line, resolve_name
from memory.summaries.statements import news_of
from tasks.heuristics.day_plan import AGAIN
from tasks.heuristics.promises import KEEP, Promise, find_promises, is_vow

QUIET = "It's been a quiet period. Nothing particularly notable has happened."  # streams design, task 8
NOTABLE = 4  # importance from which an event may be told
WORTH_A_SECOND = 5.0  # of what changed, from which it is told beside something else that did
TRIVIAL = 1  # importance of what is not worth telling however often it happens
EVIDENCE = 20  # entries at most (streams design)
LONGEST = 240  # characters of one sentence
LONG_OWED = 3  # days after which a promise is told by its age
AHEAD = 2 * DAY  # game minutes in which appointments are looked for
READ_AGAIN = 4  # reflections of which nothing is told again
_REFUSAL = re.compile(
    r"\b(?:cannot|can['’]t|not sure|won['’]t|will not|would rather not|unfortunately|what a pity|already promised|"
    r"some other time|maybe|perhaps)\b",
    re.I,
)
_AGAIN_TOLD = re.compile(r"\bconversing about (?:(?:[\w' ]{1,60} (?:is|are) )?conversing about )+")
_COLD = re.compile(
    r"\b(?:quarrel\w*|argued?|shouted at|yelled at|insult\w*|lied to|betray\w*|stole|cheated|hates?|in vain|"
    r"did not come|didn['’]t come|stood (?:me|us) up|let (?:me|us|him|her|them) down|counting on|"
    r"do(?:es)?(?: not|n['’]t) believe|threaten\w*|blamed?)\b",
    re.I,
)
_WARM = re.compile(
    r"\b(?:helped|praised|thank\w*|forgave|made up with|hugged|comforted|gave (?:me|him|her|them)|married|marry|"
    r"engaged(?! in\b)|apologi[sz]ed|appreciat\w*|proud of|saved my|as agreed)\b",
    re.I,
)
_WHO_TALKED = re.compile(r"(?: talked\b|^Conversation with ).*\bon day \d+, ")  # opens a summary of a talk
_OF_YOU = re.compile(r"\byou\b", re.I)
_OF_ME = re.compile(r"\b(?:I|me|my|us|we|our)\b", re.I)
_HERE = re.compile(r"\bhere (?:is|are)\b", re.IGNORECASE)
_MEAL = re.compile(r"^(?:have|eat|take a break for) (?:breakfast|lunch|dinner|supper)\b", re.I)
_STATE = re.compile(
    r"^(?!.{0,200}\b(?:now|new|today|longer|last|again)\b)"
    r"[^,;:]{0,80}(?:, [^,;:]{0,40},)? (?:(?:is|are|am) (?:an?|the|my) |and I share )"
)
_INTRODUCES = re.compile(r"^(?:I (?:work (?:as|at|in|for)|live (?:at|in|on)|come from|was born)|My name is)\b")
_LOOKS_ON = re.compile(r"^(?:I saw |Saw |Arrived |Woke |Had )|\bis [a-z]+ing\b[^,]*\.?$")

#: How a change between two is told; which way is chosen by the number of the entry that shows it.
_BETTER = (
    "{name} and I are closer than before",
    "Things are better between {name} and me",
    "I think more of {name} now",
)
_WORSE = ("{name} and I are further apart than before", "Things are worse between {name} and me")
Kind = Literal["changed", "ahead"]


class Insight(NamedTuple):
    """A text and the numbers of the entries it rests on, ascending."""

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PlanOutcome:
    """An item of a plan that is over: what it was, and whether it was done."""

    description: str
    done: bool
    usual: bool = False  # it stands in other plans too


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """The source of an insight: entries since the last reflection, by importance, and those before."""

    owner: str
    recent: Sequence[Entry]
    before: Sequence[Entry]
    names: Mapping[str, str]
    minute: int  # game time of the reflection
    repeats: Mapping[int, int]  # how often entries were observed again, by number
    places: Sequence[Location] = ()
    plan: Sequence[PlanOutcome] = ()
    summary: str = ""  # of the long term
    delay: int = 0  # game minutes until the owner has it

    @property
    def name(self) -> str:
        """Return the owner's name."""
        return resolve_name(self.owner, self.names)

    @cached_property
    def name_words(self) -> frozenset[str]:
        """Return the words of all names, as written."""
        return frozenset(word for name in self.names.values() for word in name.split() if word[:1].isupper())

    def of(self, subject: str) -> str:
        """Return the name of somebody or of a place."""
        return resolve_name(subject, self.names)


class _Finding(NamedTuple):
    worth: float
    kind: Kind
    text: str
    evidence: tuple[int, ...]


def find_insight(recalled: Recalled) -> Insight:
    """Return what the recent entries show, in one or two sentences; `QUIET` if they show nothing."""
    fresh = _Fresh(recalled)
    promises = find_promises(recalled.owner, [*recalled.before, *recalled.recent], recalled.names)
    found = [
        *_settled(recalled, promises),
        *_bonds(recalled),
        *_events(recalled),
        *_new_people(recalled),
        *_plan(recalled),
        *_repeated(recalled),
        *_company(recalled),
        *_coming(recalled),
        *_owed(recalled, promises),
    ]
    found.sort(key=lambda f: -f.worth)
    chosen: list[_Finding] = []
    for finding in found:
        if len(chosen) < 2 and all(finding.kind != c.kind for c in chosen) and fresh(finding.text):
            chosen.append(finding)
    if all(f.kind == "changed" for f in chosen):
        openings = {_opening(f.text) for f in chosen}
        others = (f for f in found if f.kind == "changed" and _opening(f.text) not in openings)
        more = (f for f in others if f.worth >= WORTH_A_SECOND and fresh(f.text))
        chosen += islice(more, 1)
    if not chosen:
        chosen = _whereabouts(recalled)
    chosen.sort(key=lambda f: f.kind == "ahead")
    text = " ".join(f.text for f in chosen)
    return Insight(text or QUIET, tuple(sorted({n for f in chosen for n in f.evidence}))[-EVIDENCE:])


def _opening(text: str) -> str:
    """Return how a sentence begins: two that begin alike read as a list."""
    before, colon, _ = text.partition(": ")
    return before if colon else " ".join(text.split()[:3])


class _Fresh:
    """Memory of what reflections told: nothing is told twice in the same words, nor reworded in the latest of them."""

    def __init__(self, recalled: Recalled) -> None:
        told = [split_sentences(e.text) for e in recalled.before if e.type == "reflection"]
        self._ever = {normal(sentence) for sentences in told for sentence in sentences}
        self._told = [set(stems(sentence)) for sentences in told[-READ_AGAIN:] for sentence in sentences]

    def __call__(self, text: str) -> bool:
        words = set(stems(text))
        if not words or all(normal(sentence) in self._ever for sentence in split_sentences(text)):
            return False
        if any(len(words & other) >= 0.6 * min(len(words), len(other)) for other in self._told if other):
            return False
        self._told.append(words)
        return True


def _settled(recalled: Recalled, promises: Iterable[Promise]) -> Iterable[_Finding]:
    """Yield the promises of which something came since the last reflection."""
    recent = {e.number for e in recalled.recent}
    for promise in promises:
        if promise.outcome == "open" or not recent & set(promise.evidence[-1:]):
            continue
        kept, mine = promise.outcome == "kept", promise.giver == recalled.owner
        other = recalled.of(promise.taker if mine else promise.giver) if promise.taker else ""
        to_do = f" to {promise.deed}" if promise.deed else ""
        if mine and kept:
            text = f"I kept the promise that I had given {other}" + (f":{to_do}" if to_do else "")
        elif mine:
            text = f"I let {other} down" + (
                f": I had promised{to_do}, and did not" if to_do else " and broke a promise"
            )
        elif kept:
            text = f"{other} kept the promise{to_do or ' given to me'}"
        else:
            text = f"{other} broke the promise{to_do or ' given to me'}, which has come between us"
        if other:
            yield _Finding(9.5 if not kept else 8.5, "changed", _ended(text), promise.evidence)


def _owed(recalled: Recalled, promises: Iterable[Promise]) -> Iterable[_Finding]:
    """Yield the promises that are still open: first what the owner owes, then what it is owed."""
    for promise in promises:
        if promise.outcome != "open" or not promise.taker or not promise.deed:
            continue
        if _is_over(promise.deed, recalled.minute):
            continue
        mine = promise.giver == recalled.owner
        other = recalled.of(promise.taker if mine else promise.giver)
        days = day_of(recalled.minute) - day_of(promise.minute)
        if days < LONG_OWED:
            made = f"on day {day_number(promise.minute)}"
            kept = (
                f"I still owe {other} what I promised" if mine else f"{other} has not yet kept the promise made to me"
            )
            text = f"{kept} {made}: to {promise.deed}"
        elif mine:
            text = f"I promised {other} {_number(days)} days ago to {promise.deed}, and still have not"
        else:
            text = f"{other} promised me {_number(days)} days ago to {promise.deed}, and still has not"
        yield _Finding(6.0 if mine else 5.0, "ahead", _ended(text), promise.evidence)


def _is_over(text: str, minute: int) -> bool:
    """Return whether a text names a day, and this day or its hour is over."""
    days = [int(day) for day in re.findall(r"\bday (\d{1,6})\b", text)]
    if not days:
        return False
    times = find_times(text)
    return (max(days) - 1) * DAY + (max(t.minute for t in times) if times else DAY - 1) <= minute


def _bonds(recalled: Recalled) -> Iterable[_Finding]:
    """Yield with whom things got better or worse, and what shows it."""
    signs: dict[str, list[tuple[float, Entry]]] = {}
    for entry in recalled.recent:
        others = [s for s in entry.subjects if s != recalled.owner and s in recalled.names]
        if len(others) != 1 or entry.type == "summary" or _LOOKS_ON.search(entry.text):
            continue
        told = parse_line(entry, recalled.names)
        shown = told.text
        if told.speaker:  # what one says of others says nothing of the two, unless it is said of "you"
            shown = " ".join(sentence for sentence in split_sentences(told.text) if _OF_YOU.search(sentence))
        elif not (_OF_ME.search(shown) or {*words(f"{recalled.of(others[0])} {recalled.name}")} & {*words(shown)}):
            continue  # it happened where the other was, to somebody else
        weight = 2.0 * bool(_WARM.search(shown)) - 2.0 * bool(_COLD.search(shown))
        if told.speaker == recalled.of(others[0]):
            weight += 1.0 * any(act in ("thanked", "praised") for s in split_sentences(told.text) for act in acts(s))
        if weight:
            signs.setdefault(others[0], []).append((weight, entry))
    for other, signed in signs.items():
        total = sum(weight for weight, _ in signed)
        if abs(total) < 2:
            continue
        _, best = max(signed, key=lambda s: (s[0] * total, rating(s[1]), s[1].number))
        why = _told(recalled, best)
        if why:
            name = recalled.of(other)
            ways = _BETTER if total > 0 else _WORSE
            text = f"{ways[best.number % len(ways)].format(name=name)}: {_uncapital(why, recalled)}"
            numbers = tuple(sorted(e.number for _, e in signed))
            yield _Finding(6.5 + min(2.0, abs(total) / 4), "changed", _ended(text), numbers)


def _events(recalled: Recalled) -> Iterable[_Finding]:
    """Yield what happened or was heard, the more important the better; what one saw oneself before what was said."""
    known = {normal(e.text) for e in recalled.before}
    for entry in recalled.recent:
        worth = rating(entry)
        if worth < NOTABLE or normal(entry.text) in known or _LOOKS_ON.search(entry.text):
            continue
        if _HERE.search(entry.text):
            continue  # it is elsewhere by now, and over
        if entry.source == "internal" and _STATE.search(entry.text):
            continue  # what the owner knows all along is nothing that happened
        if _appointed(recalled, entry):
            continue
        text = _told(recalled, entry)
        if text:
            yield _Finding(worth - (1.5 if is_dialogue(entry) else 0.5), "changed", _ended(text), (entry.number,))


def _appointed(recalled: Recalled, entry: Entry) -> bool:
    """Return whether an entry speaks of an hour, as invitations do: it is told as what is coming, or not at all."""
    return bool(find_times(entry.text)) and bool(
        appointments([entry], recalled.places, 0, entry.minute + 7 * DAY)
        or re.search(r"\b(?:will|['’]ll|shall|let['’]s|invit\w+)\b", entry.text, re.I)
    )


def _told(recalled: Recalled, entry: Entry) -> str:
    """Return the sentence of an entry that says most, as the owner tells it; "" if none can stand alone."""
    told = parse_line(entry, recalled.names)
    if not told.speaker:
        text = _own(recalled, anchor_days(news_of(entry), entry.minute))
        sentences = [s for s in split_sentences(text) if not s.endswith("?") and not _WHO_TALKED.search(s)]
        return sentences[0] if sentences and not leans_on_others(sentences[0]) else ""
    others = [recalled.of(s) for s in entry.subjects if recalled.of(s) != told.speaker]
    only = others[0] if len(others) == 1 and recalled.name in (told.speaker, others[0]) else ""
    speakers = Speakers([told.speaker, *others])
    best = ""
    for spoken in split_sentences(anchor_days(told.text, entry.minute)):
        called = speakers.addressee(spoken, told.speaker)
        sentence = without_own_name(clean(spoken, filter(None, (*others, called))), told.speaker)
        sentence = clean(sentence, (told.speaker,))
        if sentence.endswith("?") or is_small_talk(sentence, speakers) or leans_on_others(sentence):
            continue
        if is_vow(sentence):
            continue  # told as a promise
        if told.speaker == recalled.name and _INTRODUCES.search(sentence):
            continue  # who one is oneself is no news
        reported = told_to(sentence, told.speaker, called or only, recalled.name, recalled.name_words)
        if reported and len(stems(reported)) > max(3, len(stems(best))):
            best = reported
    return best


def _new_people(recalled: Recalled) -> Iterable[_Finding]:
    known = {s for e in recalled.before if e.type != "plan" for s in e.subjects}
    known |= {s for s in recalled.names if recalled.of(s) in recalled.summary}
    first: dict[str, Entry] = {}
    for entry in sorted(recalled.recent, key=lambda e: (e.minute, e.number)):
        for subject in entry.subjects:
            if subject not in known and subject != recalled.owner and _is_person(subject, recalled):
                first.setdefault(subject, entry)
    if known and first:
        people = [recalled.of(s) for s in islice(first, 3)]
        text = f"I met {format_list(people)} for the first time"
        yield _Finding(5.5, "changed", _ended(text), tuple(first[s].number for s in islice(first, 3)))


def _is_person(subject: str, recalled: Recalled) -> bool:
    return subject in recalled.names or subject.startswith("agent:")


def _plan(recalled: Recalled) -> Iterable[_Finding]:
    """Yield what of the plan came true, and what did not; what came of a promise, others say better."""
    for item in recalled.plan:
        if item.description.removeprefix(AGAIN).startswith(KEEP):
            continue
        words = item.description.removeprefix(AGAIN).partition(": ")[0].strip(" .")
        if not words or words.lower().startswith("continue ") or _MEAL.search(words):
            continue  # what is continued was told as what it is, and everybody eats
        deed = words if words[:2].isupper() else words[:1].lower() + words[1:]
        if not item.done:
            yield _Finding(5.0, "changed", _ended(f"I had planned to {deed}, but did not get to it"), ())
        elif not item.usual:
            done = f"spent {deed[6:]}" if deed.startswith("spend ") else f"found the time to {deed}"
            yield _Finding(4.0, "changed", _ended(f"I {done}, as I had planned"), ())


def _repeated(recalled: Recalled) -> Iterable[_Finding]:
    """Yield the event that happened most often; lines of talk are no events."""

    def times(group: Sequence[Entry]) -> int:
        return sum(1 + recalled.repeats.get(e.number, 0) for e in group)

    by_text: dict[str, list[Entry]] = {}
    for entry in recalled.recent:
        if rating(entry) > TRIVIAL and not is_dialogue(entry) and entry.type != "summary":
            by_text.setdefault(normal(entry.text), []).append(entry)
    often = [entries for entries in by_text.values() if times(entries) >= 3]
    if often:
        entries = max(often, key=lambda g: (rating(g[0]), times(g), -g[0].number))
        text = _own(recalled, entries[0].text)
        how_often = f"{_number(times(entries))} times"
        told = f"I noticed it {how_often}: {_uncapital(text, recalled)}"
        if text.startswith("I saw "):
            told = f"I often{text[1:]}"
        elif text.startswith("I "):
            told = f"{text.rstrip(' .!')}, {how_often}"
        yield _Finding(3.0, "changed", _ended(told), tuple(e.number for e in entries[:5]))


def _company(recalled: Recalled) -> Iterable[_Finding]:
    """Yield who was talked with on several days, or more than anybody else."""
    days: dict[str, set[int]] = {}
    talks: dict[str, set[tuple[int, int]]] = {}
    lines: dict[str, list[int]] = {}
    for other, entry in _talks([*recalled.before, *recalled.recent], recalled):
        days.setdefault(other, set()).add(day_of(entry.minute))
    for other, entry in _talks(recalled.recent, recalled):
        talks.setdefault(other, set()).add((day_of(entry.minute), entry.minute // 60))
        lines.setdefault(other, []).append(entry.number)
    for other, spoken in talks.items():
        streak = len(days[other])
        numbers = tuple(sorted(lines[other])[:3])
        if streak >= 3:
            text = f"I have talked with {recalled.of(other)} on {_number(streak)} different days by now"
            yield _Finding(2.0 + min(streak, 9) / 10, "changed", _ended(text), numbers)
        elif len(spoken) >= 2:
            yield _Finding(1.0, "changed", f"{recalled.of(other)} and I talked more than once.", numbers)


def _talks(entries: Iterable[Entry], recalled: Recalled) -> Iterable[tuple[str, Entry]]:
    """Yield whom the owner talked with, with the line; a talk that it only overheard is none."""
    for entry in entries:
        if is_dialogue(entry) and recalled.owner in entry.subjects:
            for other in entry.subjects:
                if other != recalled.owner and _is_person(other, recalled):
                    yield other, entry


def _number(count: int) -> str:
    words = ("three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[count - 3] if count <= 10 else str(count)


def _coming(recalled: Recalled) -> Iterable[_Finding]:
    """Yield what is to come within two days, the soonest first; what is over, or was declined, is not coming."""
    told = {e.number: e for e in (*recalled.before, *recalled.recent) if e.type not in ("plan", "reflection")}
    entries = [first_person(e, recalled.owner, recalled.names) for e in told.values()]
    declined = _declined(recalled, told.values())
    end = recalled.minute + AHEAD
    for item in appointments(entries, recalled.places, recalled.minute + recalled.delay + 1, end):
        entry = told[item.number]
        if item.number in declined:
            continue
        what = item.what[:1].lower() + item.what[1:]
        when = f"on day {day_number(item.minute)} at {clock_time(item.minute)}"
        rest = _source(recalled, entry)
        text = f"I am to {what} {when}{rest}" if not leans_on_others(what) else ""
        if text:
            worth = 7.0 - (item.minute - recalled.minute) / DAY + (0.5 if what.startswith("host") else 0.0)
            yield _Finding(worth, "ahead", _ended(text), (item.number,))


def _source(recalled: Recalled, entry: Entry) -> str:
    """Return from whom the owner knows of what is coming, or whom it told, as the end of a sentence."""
    told = parse_line(entry, recalled.names)
    if told.speaker == recalled.name:
        return f", as I told {told.listener}" if told.listener else ""
    if told.speaker:
        return f", as {told.speaker} told me"
    match = re.search(r"\b([^\W\d_a-z][\w'’-]{0,40}(?: [^\W\d_a-z][\w'’-]{0,40}){0,2}) invited me\b", entry.text)
    return f", since {match[1]} invited me" if match else ""


def _declined(recalled: Recalled, entries: Iterable[Entry]) -> set[int]:
    """Return the invitations that the owner did not accept in the same talk."""
    ordered = sorted(entries, key=lambda e: (e.minute, e.number))
    found: set[int] = set()
    for entry, answer in pairwise(ordered):
        if (
            is_dialogue(entry)
            and is_dialogue(answer)
            and find_times(entry.text)
            and parse_line(answer, recalled.names).speaker != parse_line(entry, recalled.names).speaker
            and _REFUSAL.search(answer.text)
        ):
            found.add(entry.number)
    return found


def _whereabouts(recalled: Recalled) -> list[_Finding]:
    """Return the fallback of the streams design: places and people of most of the time."""
    places = [p for p, _ in Counter(e.location for e in recalled.recent if e.location).most_common(3)]
    people = [
        s for s, _ in Counter(s for e in recalled.recent for s in e.subjects if s != recalled.owner).most_common(3)
    ]
    parts = []
    if places:
        parts.append(f"Today I spent time at {format_list([recalled.of(p) for p in places])}.")
    if people:
        parts.append(f"I interacted with {format_list([recalled.of(s) for s in people])}.")
    numbers = tuple(e.number for e in recalled.recent)
    return [_Finding(0.0, "changed", " ".join(parts), numbers)] if parts else []


def _own(recalled: Recalled, text: str) -> str:
    """Return an observation in the first person."""
    text = _AGAIN_TOLD.sub("conversing about ", text)
    text = re.sub(r" (?:is|was) conversing about ", " talked about ", in_own_words(text, recalled.name))
    return re.sub(r"^I am (?=\w+ing\b)", "I was ", text)


def _uncapital(text: str, recalled: Recalled) -> str:
    """Return a sentence that follows a colon: small, unless it opens with a name or "I"."""
    first = text.split(maxsplit=1)[0] if text else ""
    common = first.lower() in ("the", "a", "an", "my", "our", "his", "her", "their", "this", "there", "it", "we", "at")
    return text[:1].lower() + text[1:] if common else text


def _ended(text: str) -> str:
    text = text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + "…"
    return text if text.endswith((".", "!", "…", "”")) else text.rstrip(" ?,;:") + "."
