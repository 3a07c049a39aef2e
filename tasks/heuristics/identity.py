"""Read a profile's words: the hours of its routine, its role, its place of work, what occupies it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cogitate.memory.appointments import find_place
from cogitate.memory.clock import DAY
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import find_times
from cogitate.memory.profile import Location, Profile


@dataclass(frozen=True)
class Routine:
    """The hours of a routine, in minutes after midnight; bedtime may lie beyond 1440."""

    wake: int = 420
    bed: int = 1320  # night begins at 22:00 (streams design, task 12)
    breakfast: int | None = None
    lunch: int = 720
    dinner: int = 1140
    work: tuple[int, int] | None = None  # from, to
    habits: tuple[tuple[int, str], ...] = ()


GOING_ON = "Spend time"  # opens an occupation that goes on, as against a wish that can be fulfilled
_DOING = re.compile(
    r"\b(?:is|am|are|been)\s++(?:(?:also|currently|now|busy|always)\s++)?"
    r"((?!being|feeling|living|looking forward|saving|hoping|wishing|excited|planning|going)\w+ing\b.*)"
)
_WISH = re.compile(
    r"\b(?:hopes?|wants?|plans?|intends?|would like|(?:is|am) (?:planning|going|hoping))\s++to\s++(\w.*)"
)
_ROLE = re.compile(r"\bis (?:an? )((?:part[- ]time )?[^.,;]+?)(?=(?<!\s)\s++(?:who|that|which|and)\b|[.,;]|$)")
_CLAUSE_ENDS = re.compile(r"(?P<mark>[,;.](?!\d)\s*+)|(?<!\s)\s++(?:and|then|и)\s++")
_DIGIT_OR_MARK = re.compile(r"[,;\d]")
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s++")
_PURSUIT_ENDS = re.compile(r"[,;.]|(?<!\s)\s++(?:and|because|while|so that|that|which|who)\s++")
_BEFORE_TIME = re.compile(r"(?<!\s)\s*+\b(?:at|around|about|from|by|usually|в|около)$")
_PARTS = (
    ("wake", re.compile(r"\b(?:wakes?|awakes?|awakens?|gets? up|rises?)\b|просыпа|вста[её]т", re.I)),
    ("bed", re.compile(r"\bto bed\b|\b(?:falls? )?asleep\b|\bsleeps?\b|ложит|засыпа", re.I)),
    ("breakfast", re.compile(r"\bbreakfast\b|завтрак", re.I)),
    ("lunch", re.compile(r"\blunch\b|обед", re.I)),
    ("dinner", re.compile(r"\b(?:dinner|supper)\b|ужин", re.I)),
)


def read_routine(text: str, name: str = "") -> Routine:
    """Read words such as "goes to bed around 11pm, awakes around 6am, eats dinner around 5pm"."""
    values: dict[str, int] = {}
    habits: list[tuple[int, str]] = []
    work: tuple[int, int] | None = None
    for clause in _clauses(text):
        times = find_times(clause)
        if not times:
            continue
        if len(times) > 1 and re.search(r"\b(?:works?|studies)\b|работает|учится", clause, re.I):
            work = work or (times[0].minute, times[1].minute)
            continue
        for part, pattern in _PARTS:
            if pattern.search(clause):
                values.setdefault(part, times[0].minute)
                break
        else:
            words = clause[: times[0].start].removeprefix(name).strip()
            words = _BEFORE_TIME.sub("", words).strip()
            words = re.sub(r"^(?:she|he|they|it)\s++", "", words, flags=re.I)
            if words and not re.search(r"\b(?:if|unless|before|after|when)\b", clause, re.I):
                habits.append((times[0].minute, words))
    bed = values.get("bed", Routine.bed)
    if bed < 720:
        bed += DAY
    values["bed"] = bed
    return Routine(habits=tuple(habits[:3]), work=work, **values)


def _clauses(text: str) -> Iterator[str]:
    """Yield the parts of a routine: cut at marks, and at conjunctions where a number follows before the next mark."""
    start, known = 0, -1  # where the present part begins, and where the last digit or mark that was found stands
    for match in _CLAUSE_ENDS.finditer(text):
        if match["mark"] is None:
            if known < match.end():
                found = _DIGIT_OR_MARK.search(text, match.end())
                known = found.start() if found else len(text)
            if not text[known : known + 1].isdigit():
                continue
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]


def pursuit_of(profile: Profile) -> str:
    """Return the agent's current occupation as an activity: "Spend time expanding her shop"; or ""."""
    text = profile.currently.partition(":")[2].strip() if profile.currently.startswith("Status:") else profile.currently
    for sentence in _SENTENCE_ENDS.split(text):
        if find_times(sentence):
            continue
        doing, wish = _DOING.search(sentence), _WISH.search(sentence)
        found = doing or wish
        if found:
            words = _PURSUIT_ENDS.split(found[1])[0].split()[:12]
            while len(words) > 1 and words[-1].lower() in FUNCTION_WORDS:
                words.pop()
            phrase = " ".join(words)
            return f"{GOING_ON} {phrase}" if doing else phrase[:1].upper() + phrase[1:]
    return ""


def role_of(profile: Profile) -> str:
    """Return the occupation, or else what the background says: "is a cafe owner of Hobbs Cafe who …"; or empty."""
    found = None if profile.occupation.strip() else _ROLE.search(profile.background)
    return found[1] if found else profile.occupation.strip()


def work_of(profile: Profile, places: Sequence[Location]) -> str:
    """Return the id of the place of work: the profile's, or else the one its role names; or empty."""
    if profile.work:
        return profile.work
    named = find_place(role_of(profile), places)
    return named.id if named and named.id != profile.home else ""
