"""Packs: a language's phrases, and its words for days, hours, promises and grave events, as data.

The product's packs are in `tables/phrases.toml`, which explains each key. A host brings its own in a file of the same
form, `phrases.toml` in its folder of prompt templates.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cogitate.memory.clock import clock_in_force, date, day_number
from cogitate.memory.errors import InputError
from cogitate.memory.language.commitments import Doer, Person
from cogitate.memory.language.day_words import DAYS, PLACEHOLDER, DayWords, HourWords
from cogitate.memory.language.reported_speech import ReportedSpeech
from cogitate.memory.language.sentences import all_of
from cogitate.memory.language.tables import read_table
from cogitate.memory.language.text import MARKS, normalized, words
from cogitate.memory.language.word_patterns import WORD, runs_on

FILE = "phrases.toml"
_PLANNED = ("work", "errands", "again", "see_to", "keep", "with")
SAID = ("name", "day", "dates", *_PLANNED, "quiet", "reasons", "quotes", "told")
_OF_DAYS = ("not_after", "merged")
_PARTS_OF_DAY = ("am", "pm", "morning", "evening", "noon", "midnight")
_READ = ("colon", "hours", "at", "before", "units", *_PARTS_OF_DAY, "fractions", "numbers")
_CLOSING = ("up_to", "then", "day_parts", "often")
_OPEN = ("refusals", "doubts", "others", "own", "ours", "yours")
_EXCHANGED = ("joins", "asks", "offers", "assents", "declines", "puts_off", "other_days", "needs", "off")
_WAYS = (
    "sleep",
    "food",
    "courtesies",
    "vows",
    "kept",
    "broken",
    "grave",
    "within",
    "prefixes",
    "done",
    "undone",
    "moves",
    "harms",
    "lacks",
    "without",
    "not_subject",
    "called_by",
)
_KEYS = frozenset(
    (*SAID, *_OF_DAYS, *_READ, *_CLOSING, *_OPEN, *_EXCHANGED, *_WAYS, "between", "days", "function_words", "letters")
)
_TABLES = ("days", "reasons")
_NAMED = re.compile(r"\{(\w+)\}")
_DATED = dict.fromkeys(("round", "last", "year", "month", "day"), 0)
_NO_WORD = rf"[^\w{MARKS}]{{1,3}}"  # between two words
_GAP = rf"(?:{_NO_WORD}{WORD}{{1,30}}){{0,4}}{_NO_WORD}"  # a few words between two that belong together
_GAP_UNSPACED = ".{0,30}"
_DENIED_BEFORE, _DENIED_AFTER = 25, 8  # characters around harm in which a negation denies it


class Courtesies(NamedTuple):
    """Words and phrases of courtesy, folded."""

    phrases: tuple[str, ...]  # the longest first
    words: frozenset[str]
    runs_on: bool  # without spaces


class Pack:
    """The pack of one language; empty if the language has none."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self._found: dict[str, re.Pattern[str] | None] = {}  # patterns by key

    def phrase(self, name: str) -> str:
        """Return a phrase, or ""."""
        return str(self._table.get(name, ""))

    def reason(self, name: str) -> str:
        """Return a reason for an action, or ""."""
        return str(self._table.get("reasons", {}).get(name, ""))

    def day(self, minute: int) -> str:
        """Return the day, round or month of a game time; "" if the language has no word for a day."""
        clock = clock_in_force()
        if clock.counts_days:
            return self.phrase("day").format(day=day_number(minute))
        known = clock.dated(minute)
        way = next((way for way in self.ways("dates") if {*_NAMED.findall(way)} == known.keys()), "")
        return way.format_map(known) or date(minute)

    @cached_property
    def speech(self) -> ReportedSpeech:
        """Return how the language reports speech."""
        return ReportedSpeech(
            self.phrase("told"),
            self.phrase("quotes"),
            self.phrase("colon") or ": ",
            lambda said: self.all_of(said) or self.named(said),
            self.bracketed,
        )

    def bracketed(self, text: str, beside: str) -> str:
        """Return a text with another in brackets, if there is another."""
        if not text or not beside or beside == text:
            return text or beside
        return f"{text}（{beside}）" if self.is_wide else f"{text} ({beside})"

    def labelled(self, label: str, text: str) -> str:
        """Return a text after a label and a colon; the text alone without a label."""
        return f"{label}{self.phrase('colon') or ': '}{text}" if label else text

    def to_do(self, phrase: str, what: str = "", place: str = "") -> str:
        """Return a task: a phrase with its matter and its place, or these alone."""
        named = self.phrase(phrase)
        said = self.labelled(named, what) if named and what else named or what
        return self.bracketed(said, place)

    def without(self, phrase: str, text: str) -> str:
        """Return a text without the phrase before it and its colon."""
        return text.removeprefix(self.labelled(self.phrase(phrase), ""))

    def listed(self, items: Iterable[str]) -> str:
        """Return the items of a plan as one text."""
        return self._between[1].join(items)

    def named(self, names: Iterable[str]) -> str:
        """Return names as one text."""
        return self._between[0].join(names)

    def all_of(self, deeds: Sequence[str]) -> str:
        """Return the deeds of one person as "a, b and c"; "" if the pack has no word for "and"."""
        between, _, last = self._between
        return all_of(deeds, between, last) if last else ""

    @property
    def _between(self) -> tuple[str, str, str]:
        """Return the separators of names and of plan items, and the conjunction before the last of several deeds."""
        names, items, last, *_ = *self.phrase("between").split("|"), "", "", ""
        return names or ", ", items or "; ", last

    @property
    def is_wide(self) -> bool:
        """Return whether punctuation marks are full-width, with no space after them."""
        return self.phrase("colon") == "："

    @cached_property
    def courtesies(self) -> Courtesies:
        """Return the words and phrases of courtesy."""
        found = sorted(self._folded("courtesies"), key=lambda way: (-len(way), way))
        return Courtesies(tuple(found), frozenset(w for way in found for w in words(way)), runs_on("".join(found)))

    def ways(self, name: str) -> list[str]:
        """Return the words or phrases that a key lists."""
        return [way for way in self.phrase(name).split("|") if way]

    @cached_property
    def days(self) -> DayWords:
        """Return the words for days."""
        days = self._table.get("days", {})
        return DayWords(days, self.phrase("day"), self.ways("not_after"), self.ways("merged"))

    @cached_property
    def rounds(self) -> re.Pattern[str]:
        """Return the pattern that finds a numbered round; the number is a group of the match."""
        ways = [way for way in self.ways("dates") if _NAMED.findall(way) == ["round"]] or ["round {round}"]
        return re.compile("|".join(PLACEHOLDER.sub(r"(\\d{1,9})", re.escape(way)) for way in ways), re.IGNORECASE)

    @cached_property
    def hours(self) -> HourWords:
        """Return the words for times of day."""
        return HourWords(self.ways, self.days)

    def says(self, key: str, sentence: str) -> bool:
        """Return whether a sentence has one of the words or phrases that a key lists."""
        cue = self._cue(key)
        return cue is not None and cue.search(fold(sentence)) is not None

    def moved_to(self, sentence: str) -> str | None:
        """Return the part of a sentence with the new time of what it moves; None if it moves nothing."""
        found = None if self._moves is None else self._moves.search(sentence)
        if found is None:
            return None
        is_around = "…" in self.phrase("moves") and any(map(str.isdigit, found[0]))  # "auf 20 Uhr verschieben"
        return sentence[found.start() if is_around else found.end() :]

    @cached_property
    def _moves(self) -> re.Pattern[str] | None:
        found = self._cue("moves")
        return None if found is None else re.compile(found.pattern, re.IGNORECASE)

    @cached_property
    def _in_a_day(self) -> re.Pattern[str] | None:
        """Return the pattern that finds a part of the day with a word such as "until" before or after it."""
        limit, part = self._cue("up_to"), self._cue("day_parts")
        if limit is None or part is None:
            return None
        apart = ".{0,3}" if runs_on(self.phrase("day_parts")) else rf"(?:{_NO_WORD}{WORD}{{1,5}}){{0,2}}{_NO_WORD}"
        both = f"(?:{limit.pattern}){apart}(?:{part.pattern})|(?:{part.pattern}){apart}(?:{limit.pattern})"
        return re.compile(both)

    def ends_in_a_day(self, sentence: str) -> bool:
        """Return whether a sentence tells of something that lasts up to a part of a day: "before supper"."""
        return self._in_a_day is not None and self._in_a_day.search(fold(sentence)) is not None

    def leaves_open(self, sentence: str) -> bool:
        """Return whether a sentence refuses, denies or doubts, or tells what others agree with one another."""
        is_refused = self.says("refusals", sentence) and self.moved_to(fold(sentence)) is None
        is_agreed = self.says("others", sentence) and not self.says("own", sentence)
        return is_refused or is_agreed or self.says("doubts", sentence)

    def proposes(self, sentence: str) -> Doer:
        """Return who is to do what a sentence proposes, asks for or offers; "" if it does none of these."""
        known: tuple[tuple[str, Doer], ...] = (("joins", "we"), ("asks", "you"), ("offers", "I"))
        return next((doer for key, doer in known if self.says(key, sentence)), "")

    def persons(self, sentence: str) -> frozenset[Person]:
        """Return whom a sentence is about, by its pronouns."""
        known: tuple[tuple[str, Person], ...] = (("ours", "we"), ("own", "I"), ("yours", "you"), ("needs", "you"))
        found = {person for key, person in known if self.says(key, sentence)}
        return frozenset(found - {"I"} if "we" in found else found)

    def tells_done(self, sentence: str) -> bool:
        """Return whether a sentence tells that something is mended or settled."""
        return self.says("done", sentence) and not self.says("undone", sentence)

    def tells_trouble(self, sentence: str) -> bool:
        """Return whether a sentence tells of harm, undenied, or of a lack; True if the pack has no words for it."""
        harms, lacks = self._cue("harms"), self._cue("lacks")
        if harms is None or lacks is None:
            return True
        said = fold(sentence)
        found = [harm.span() for harm in harms.finditer(said)]
        if not found:
            return lacks.search(said) is not None or (self.says("done", sentence) and self.says("undone", sentence))
        after = _DENIED_AFTER if runs_on(self.phrase("lacks")) else 0
        denials = [cue for cue in (lacks, self._cue("without")) if cue is not None]
        near = ((max(0, start - _DENIED_BEFORE), end + after) for start, end in found)
        return not all(any(cue.search(said, *span) for cue in denials) for span in near)

    def without_vow(self, sentence: str) -> str:
        """Return a folded sentence without the words by which one promises."""
        vows = self._cue("vows")
        return fold(sentence) if vows is None else vows.sub(" ", fold(sentence))

    def _cue(self, key: str) -> re.Pattern[str] | None:
        if key not in self._found:
            self._found[key] = self._cues(key, "" if runs_on(self.phrase(key)) else key)
        return self._found[key]

    @cached_property
    def grave(self) -> re.Pattern[str] | None:
        """Return the pattern that finds the words for a life-changing event."""
        return self._cues("within", "grave")

    def _cues(self, within: str, words: str) -> re.Pattern[str] | None:
        found = [_GAP_UNSPACED.join(re.escape(p.strip()) for p in way.split("…")) for way in self._folded(within)]
        if words and (ways := [_of_words(way) for way in self._folded(words)]):
            prefixes = self.phrase("prefixes")
            before = rf"(?<!{WORD})[{prefixes}]?" if prefixes else rf"(?<!{WORD})"
            found = [*([] if within == words else found), rf"{before}(?:{'|'.join(ways)})(?!{WORD})"]
        return re.compile("|".join(found)) if found else None

    def _folded(self, key: str) -> list[str]:
        return [fold(way) for way in self.ways(key)]


def fold(text: str) -> str:
    """Return a text in the form in which cues match it."""
    return normalized(text).casefold().replace("\u0307", "").replace("’", "'")  # the dot is left of a Turkish "İ"


def _of_words(way: str) -> str:
    """Return the pattern of one way to say it: "*" is any beginning or end of a word, "…" up to four words."""
    return _GAP.join(_NO_WORD.join(map(_of_word, apart.split())) for apart in way.split("…"))


def _of_word(word: str) -> str:
    before, after = (f"{WORD}{{0,20}}" if end == "*" else "" for end in (word[0], word[-1]))
    return before + re.escape(word.strip("*")) + after


def _is_sound(key: str, value: str) -> bool:
    """Return whether a phrase has only the placeholders that its key may have."""
    slots = {
        "dates": _DATED,
        "days": DAYS,
        "told": ("speaker", "listener"),
        "fractions": ("hour",),
        "with": ("name",),
    }.get(key, ("day",))
    numbers = dict.fromkeys(slots, 0)
    try:
        if key == "letters":
            re.compile(f"[{value}]")
        value.format_map(numbers)
    except (KeyError, ValueError, IndexError, AttributeError, re.error):
        return False
    return True


_OF_HOST: dict[str, Mapping[str, Any]] = {}
_CACHES: list[Callable[[], None]] = []  # of what is derived from packs


def forget_with_packs(clear: Callable[[], None]) -> None:
    """Register a cache to clear whenever the packs of this process change."""
    _CACHES.append(clear)


def read_packs(folder: Path | None) -> Mapping[str, Mapping[str, Any]]:
    """Return the packs of a host's folder by language; none without such a file.

    Raises:
        InputError: when the file is no table of known keys by language.
    """
    path = folder / FILE if folder is not None else None
    if path is None or not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the phrases in {path} cannot be read: {error}") from error
    for language, table in found.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{path}: {language!r} is no table: write the phrases of a language under [{language}]")
        for key, value in table.items():
            listed = value.values() if key in _TABLES and isinstance(value, Mapping) else [value]
            if key not in _KEYS or not all(isinstance(one, str) and _is_sound(key, one) for one in listed):
                known = f"the keys are {', '.join(sorted(_KEYS))}"
                raise InputError(f"{path}: {language}.{key} is unknown, no text or has a wrong placeholder; {known}")
    return found


def use_packs(folder: Path | None) -> None:
    """Use the packs of a host's folder in this process; they replace the product's for the same languages.

    Raises:
        InputError: when the file is no table of known keys by language.
    """
    found = read_packs(folder)
    _OF_HOST.clear()
    _OF_HOST.update(found)
    for told in _CACHES:
        told()
    _pack_of.cache_clear()


def packs() -> Mapping[str, Mapping[str, Any]]:
    """Return the tables of all languages that have a pack, by ISO 639-1 code."""
    return read_table("phrases") | _OF_HOST


@cache
def phrases_of(phrase: str) -> frozenset[str]:
    """Return a phrase in every language that has it."""
    return frozenset(str(table[phrase]) for table in packs().values() if phrase in table)


forget_with_packs(phrases_of.cache_clear)


def pack_of(language: str) -> Pack:
    """Return the pack of a language; an empty one if it has none."""
    return _pack_of(language)


@cache
def _pack_of(language: str) -> Pack:
    return Pack(packs().get(language, {}))
