"""The memories that a job recalls, and the variables that templates share: memories, owner and time."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cogitate.memory.clock import DAY, clock_in_force, clock_time, day_and_time
from cogitate.memory.effects import Effect, MarkAccessed
from cogitate.memory.entry import Entry, EntryType, format_character
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.text import normal
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.retrieval.profiles import profile_of
from cogitate.memory.retrieval.retrieval import Query, retrieve
from cogitate.memory.routines import Habit, read_routine, routine_text
from cogitate.memory.summaries.long_term import cut_oldest, estimate_tokens
from cogitate.tasks.heuristics.thinking_language import thinking_language
from cogitate.tasks.job import Job
from cogitate.tasks.kind import Case

LITTLE = 0.25  # share of the memories below which the long-term summary is cut too
_AT_PLACE = re.compile(r"[@＠]\s?(?P<place>[^;\n@＠,]+)")
_PLACES_OF_A_HABIT = 3
_HABIT_ENDS = ";；\n"
_STAGES = ("phase:", "stage:", "round:")  # tags of events
MAX_SHOWN = 500  # characters of one memory in a prompt, and of one part of an identity


def recall(case: Case, query: str, limit: int, types: tuple[EntryType, ...]) -> list[Entry]:
    """Return the entries of the job's owner that matter most for `query` now, best first, without repeats of a text."""
    profile = replace(profile_of(case.world.retrieval), distinct=True)
    near = case.similarity(query, case.entries) if case.similarity is not None and profile.weighs_similarity else {}
    wanted = Query(minute=case.job.minute, text=query, limit=limit, types=types, similarity=near)
    return [scored.entry for scored in retrieve(case.entries, wanted, profile)]


def without_repeats(entries: Iterable[Entry]) -> list[Entry]:
    """Return the first entry of each text, in the given order."""
    seen: dict[str, Entry] = {}
    for entry in entries:
        seen.setdefault(normal(entry.text), entry)
    return list(seen.values())


def share_of(entries: Sequence[Entry], share: float) -> list[Entry]:
    """Return the first entries that make up a share of all, at least one."""
    return list(entries[: max(1, math.ceil(len(entries) * share))])


def template_entry(entry: Entry, minute: int) -> dict[str, str]:
    """Return an entry's template variables at a game time; if it is of another day, its words for days become dates."""
    text = entry.text if entry.minute // DAY == minute // DAY else anchor_days(entry.text, entry.minute)
    return {"when": day_and_time(entry.minute, entry.tick), "text": brief(text)}


def template_time(minute: int, tick: int) -> dict[str, object]:
    """Return the template variables of a tick's game time: its day, its time of day, and both."""
    clock = clock_in_force()
    return {"day": clock.day(minute), "time": clock.time(minute, tick), "now": clock.date_and_time(minute, tick)}


def stage_of(entries: Iterable[Entry], minute: int) -> str:
    """Return the phase, stage and round of the latest event of the past day that names any; "" if none does."""
    newest = max(
        (
            e
            for e in entries
            if e.tags and minute - DAY < e.minute <= minute and any(tag.startswith(_STAGES) for tag in e.tags)
        ),
        key=lambda e: (e.minute, e.number),
        default=None,
    )
    if newest is None:
        return ""
    return ", ".join(tag.replace(":", " ", 1) for tag in newest.tags if tag.startswith(_STAGES))


def long_term_context(case: Case, memory_share: float = 1.0) -> dict[str, Any]:
    """Return the long-term variables of a template: the summary, and the owner's character facts.

    If hardly any memories fit, only the newest part of the summary is included.
    """
    summary = case.job.summary
    if memory_share < LITTLE:
        summary = cut_oldest(summary, int(memory_share / LITTLE * estimate_tokens(summary)))
    return {"summary": summary, "known": format_character(case.job.character).splitlines()}


def brief(text: str) -> str:
    """Cut a text at a word boundary, so that one long entry cannot crowd out all others."""
    return shorten(text, MAX_SHOWN, "…")


def access_marks(case: Case, numbers: Iterable[int]) -> tuple[Effect, ...]:
    """Return the effect that marks the entries that a job used as accessed, if it used any."""
    used = tuple(sorted(set(numbers)))
    if not used:
        return ()
    return (MarkAccessed(owner=case.job.key.owner, numbers=used, minute=case.job.minute),)


def replaced_entry(job: Job) -> int:
    """Return the number of the provisional entry that this job repairs (parameter "replaces"), or 0."""
    return job.param("replaces", 0)


def result_minute(job: Job) -> int:
    """Return the game time of the job's result: the job's own, or that of the entry it repairs (parameter "minute")."""
    return job.param("minute", job.minute) if replaced_entry(job) else job.minute


def delay_of(case: Case) -> int:
    """Return the game minutes until the job's result is due, in which coming events may pass; 0 for a repair."""
    job = case.job
    clock = case.world.clock
    return 0 if replaced_entry(job) else max(0, clock.minutes(job.due) - clock.minutes(job.key.tick))


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
    """Return a language's name in prompts; "" if it is unknown, or is English and no profile declares it."""
    if language == ENGLISH:
        return "English" if case.world.language_of(case.profile) else ""
    if language in ("", OTHER, UNDETERMINED):
        return ""
    return pack_of(language).phrase("name") or f"the language {language!r}"
