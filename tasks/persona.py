"""The persona that a host gives an agent; every thinking kind's prompt shows it in the same words and place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from cogitate.memory.clock import clock_time
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.packs import pack_of
from cogitate.memory.routines import Habit, read_routine, routine_text
from cogitate.tasks.heuristics.thinking_language import thinking_language
from cogitate.tasks.kind import Case
from cogitate.tasks.recall import brief

_AT_PLACE = re.compile(r"[@＠]\s?(?P<place>[^;\n@＠,]+)")
_PLACES_OF_A_HABIT = 3
_HABIT_ENDS = ";；\n"


def persona(case: Case) -> dict[str, Any]:
    """Return the template variables of an agent's persona and of the language to write in; long texts are cut."""
    profile = case.profile
    return {
        "name": profile.name,
        "age": profile.age,
        "occupation": profile.occupation,
        "traits": profile.traits,
        "background": brief(profile.background),
        "currently": brief(profile.currently),
        "language": _language_name(case, thinking_language(case)),
    }


def told_routine(case: Case) -> list[str]:
    """Return the lines of an owner's routine for a prompt, in the format in which the prompt asks for plan items.

    Times are clock times. Places have their names instead of the host's words for them; the owner's home is "home".
    """

    def with_place(what: str, word: str) -> str:
        if case.profile.home and word.casefold() == "home":
            return what.replace("…", "home") if "…" in what or "home" in what.casefold() else f"{what} (home)"
        own = {"home": case.profile.home, "work": case.profile.work}.get(word.casefold()) or word
        ids = [place] if (place := places.called(own)) else places.of_kind(word)
        names = [places.name_of(place) for place in ids[:_PLACES_OF_A_HABIT]] or [word]
        if "…" in what:
            return what.replace("…", " or ".join(names))
        return what if any(name in what for name in names) else f"{what} ({' or '.join(names)})"

    places = case.world.places
    routine = routine_text(case.world.routine_of(case.profile))
    parts, end = [], 0  # end: of the last place
    for at in _AT_PLACE.finditer(routine):
        begin = max(end, *(routine.rfind(mark, end, at.start()) + 1 for mark in _HABIT_ENDS))
        parts += [routine[end:begin], with_place(routine[begin : at.start()].rstrip(), at["place"].strip())]
        end = at.end()
    lines = brief("".join([*parts, routine[end:]])).translate(dict.fromkeys(map(ord, _HABIT_ENDS), "\n")).split("\n")
    return [_timed(line, case.profile.name) for line in map(str.strip, lines) if line]


def _timed(line: str, name: str) -> str:
    """Return a line of a routine with its leading times as clock times."""
    habits = read_routine(line, name)
    habit = habits[0] if len(habits) == 1 else Habit(line)
    if habit.begins is None or habit.prose or habit.place:
        return line
    until = "" if habit.ends is None else f"–{clock_time(habit.ends)}"
    return f"{'~' * habit.loose}{clock_time(habit.begins)}{until}: {habit.what}"


def language_of_texts(case: Case, entries: Iterable[Entry]) -> str:
    """Return the language that a prompt asks for in a summary of entries: the declared one, or that of most entries."""
    count = Counter(languages_of(entry.text)[0] for entry in entries)
    most_common = max(count, key=lambda language: (count[language], language), default="")
    return _language_name(case, case.world.language_of(case.profile) or most_common)


def _language_name(case: Case, language: str) -> str:
    """Return a language's name in prompts; "" if it is unknown, or English that nobody declared."""
    if language == ENGLISH:
        return "English" if case.world.language_of(case.profile) else ""
    if language in ("", OTHER, UNDETERMINED):
        return ""
    return pack_of(language).phrase("name") or f"the language {language!r}"
