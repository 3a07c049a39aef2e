"""Pressing matters: observations of trouble that no plan took up and no later observation answers.

An event that calls for no action, such as good news, is left out. Matters date from the last day or, if ticks have no
times of day, from the time since the last plan.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import islice

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, clock_in_force
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.entities import is_number
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, function_words_of, languages_of
from cogitate.memory.language.port import knows_trouble, language_called, language_of, tells_trouble
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, split_sentences
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.terms import TERMS, term_counts
from cogitate.memory.summaries.conversations import parse_line, quoted_speaker
from cogitate.tasks.heuristics.reading import BY_TIME

NOTABLE = 4  # least importance of a pressing matter: above that of an ordinary event
IMPORTANT = 7  # importance of a life-changing event, which presses even after a graver one about the same
MOST_PRESSING = 2  # matters of a plan
LONGEST_QUOTE = 100  # characters of an observation in a plan
_VERB = 2  # words after a name that may include its verb; otherwise the last word is the verb
_LONGEST_ARTICLE = 4  # characters
_AHEAD = 30 * DAY  # an appointment within this time is kept at its hour


def find_pressing(
    name: str,
    entries: Sequence[Entry],
    names: Mapping[str, str],
    places: Sequence[Location],
    start: int,
    agreed: Collection[int] = (),
    language: str = ENGLISH,
) -> list[Entry]:
    """Return the entries that need attention in a plan, the most important first, then the newest.

    Args:
        name: of the owner; what it did itself is settled.
        start: game minute at which the plan begins.
        agreed: numbers of the entries that promise or appoint something.
        language: of the owner's plans.
    """
    since = start - DAY
    if not clock_in_force().has_times:
        since = max((entry.minute for entry in entries if entry.type == "plan"), default=0) - 1
    least = NOTABLE if knows_trouble(language) else IMPORTANT
    recent = sorted((e for e in entries if e.minute > since), key=BY_TIME)
    seen = (e for e in recent if e.type == "observation" and e.source == "perception" and e.number not in agreed)
    found = [e for e in seen if e.importance >= least and tells_trouble(e.text, language)]
    if not found:
        return []
    found.sort(key=lambda e: (-e.importance, -e.minute, -e.number))
    planned = [item.description for plan in entries if plan.type == "plan" for item in plan.items]
    aside = [name, *(place.name for place in places)]

    def is_open(entry: Entry) -> bool:
        later = recent[bisect_right(recent, BY_TIME(entry), key=BY_TIME) :]
        before = (e for e in entries if e.type == "observation" and BY_TIME(e) < BY_TIME(entry))
        return (
            not _is_done_or_said(entry.text, name, names)
            and find_answer(entry.text, later, aside, names) is None
            and not any(_is_sequel(entry, e, aside, language) for e in before if e.minute > since - DAY)
            and not any(text.endswith(quote(entry, names, language)) for text in planned)
            and not appointments([entry], places, entry.minute - DAY, entry.minute + _AHEAD)
        )

    open_ = islice(filter(is_open, found), MOST_PRESSING)
    return [entry for at, entry in enumerate(open_) if at == 0 or entry.importance >= IMPORTANT]


def quote(entry: Entry, names: Mapping[str, str], language: str = ENGLISH) -> str:
    """Return an entry as a plan quotes it; another's words are reported as in `language`."""
    line = parse_line(entry, names)
    if line.speaker:
        return language_called(language).quoted(shorten(line.text, LONGEST_QUOTE, "…"), line.speaker, "", False, None)
    text = anchor_days(line.text, entry.minute)
    return shorten(
        language_of(line.text, language).with_subject(text, "I").rstrip(SPACED + UNSPACED), LONGEST_QUOTE, "…"
    )


def _is_done_or_said(text: str, name: str, names: Mapping[str, str]) -> bool:
    """Return whether a text quotes what a person said, or tells what the owner or another called by name did."""
    known = language_of(text)
    if quoted_speaker(text) or did(known.with_subject(text, "I"), name):
        return True
    called = max((n for n in names.values() if text.startswith(f"{n} ")), key=len, default="")
    first, *rest = text.split()
    if not called and rest and first.istitle() and rest[0].istitle() and first.casefold() not in _small_words(text):
        called = f"{first} {rest[0]}"
    rest = text[len(called) :].split()
    return called != "" and not known.tells_trouble(" ".join((*rest[:_VERB], *rest[-1:])))


def _small_words(text: str) -> Collection[str]:
    code = languages_of(text)[0]
    return FUNCTION_WORDS if code in (ENGLISH, UNDETERMINED) else function_words_of(code)


@lru_cache(maxsize=65_536)
def did(text: str, name: str) -> bool:
    """Return whether a text tells what the one called `name` did, as "I" or by this name, rather than its state."""
    first = name.partition(" ")[0]  # in a title, such as "The guard", it is no name
    called = (name, first) if first.casefold() not in FUNCTION_WORDS else (name,)
    who = next((f"{who} " for who in ("I", "We", *called) if text.startswith(f"{who} ")), "")
    return who != "" and not language_of(text).tells_state(text[len(who) :])


def _is_sequel(entry: Entry, before: Entry, aside: Sequence[str], language: str) -> bool:
    """Return whether an entry tells what came of an earlier one: of graver trouble, or what another did about it."""
    if not _is_about(before.text, entry.text, aside, opens=True):
        return False
    if before.importance > entry.importance:
        return entry.importance < IMPORTANT
    told = TERMS.of(entry.text)
    earlier = term_counts(before.text, told.language)
    news = " ".join(w for w in entry.text.split() if not earlier.keys() & term_counts(w, told.language).keys())
    return next(iter(told), "") not in earlier and not tells_trouble(news, language)


def find_answer(said: str, later: Iterable[Entry], aside: Sequence[str], names: Mapping[str, str]) -> Entry | None:
    """Return the first later observation or line that is about a matter, if any.

    Args:
        said: the sentence that raises the matter. Talk about it settles it: what is agreed there counts from then on.
        aside: the owner's name, then names of places. A deed of the owner answers by any word except its name.
    """
    own = TERMS.of(aside[0]).keys()
    for entry in later:
        is_talk = is_dialogue(entry)
        for text in _told(entry, names):
            if _is_about(said, text, aside, opens=not is_talk and entry.importance >= NOTABLE):
                return entry
            if not is_talk and did(text, aside[0]) and TERMS.of(said).keys() & TERMS.of(text).keys() - own:
                return entry
    return None


def are_of_one_matter(matter: str, text: str, aside: Iterable[str]) -> bool:
    """Return whether two texts share half of the words of the shorter, and two words or half of the matter's.

    Args:
        aside: names that do not count as shared words: the owner's, and those of places.
    """
    words, said = _terms(matter, text, aside)
    return 2 * len(words & said) >= max(1, min(4, len(words)), min(len(words), len(said)))


def _is_about(matter: str, text: str, aside: Sequence[str], *, opens: bool) -> bool:
    """Return whether a text is about an earlier matter: the two are of one matter, or share two words or a name.

    Args:
        aside: as of `are_of_one_matter`.
        opens: whether the word that opens one of them counts like a name.
    """
    words, said = _terms(matter, text, aside)
    shared = words & said
    names = _names(matter) | _names(text) | (_opener(matter) | _opener(text) if opens else set())
    return len(shared) > 1 or not shared.isdisjoint(names) or are_of_one_matter(matter, text, aside)


def _terms(matter: str, text: str, aside: Iterable[str]) -> tuple[Set[str], Set[str]]:
    for name in aside:
        matter, text = matter.replace(name, ""), text.replace(name, "")
    words, said = TERMS.of(matter), TERMS.of(text)
    if words.language != said.language:  # a short text may not show its language
        words, said = term_counts(matter, said.language), term_counts(text, words.language)
    return words.keys(), said.keys()


@lru_cache(maxsize=65_536)
def _opener(text: str) -> frozenset[str]:
    """Return the term that opens a text, where it can be told from small words."""
    terms = (term for term in TERMS.of(text) if not is_number(term))
    return frozenset([*terms][:1] if _small_words(text) else ())


@lru_cache(maxsize=65_536)
def _names(text: str) -> frozenset[str]:
    """Return the terms of the names inside a text."""
    names = (word for word in text.split()[1:] if word[:1].isupper())
    return frozenset().union(*(term_counts(name, TERMS.of(text).language) for name in names))


def _told(entry: Entry, names: Mapping[str, str]) -> Iterable[str]:
    """Return the text of an observation, or the sentences of a line of talk except questions."""
    if is_dialogue(entry):
        return [s for s in split_sentences(parse_line(entry, names).text) if not s.endswith(QUESTIONS)]
    return (entry.text,) if entry.type == "observation" and entry.source == "perception" else ()


@lru_cache(maxsize=65_536)
def subject_of(text: str) -> str:
    """Return the article and noun that open a text, or ""."""
    first, _, rest = text.partition(" ")
    noun = rest.partition(" ")[0]
    return f"{first} {noun}" if noun.islower() and 0 < len(first) <= _LONGEST_ARTICLE else ""
