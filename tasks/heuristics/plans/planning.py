"""Inputs of a plan without a model, from its owner's memories and its job; `day_plan` puts them into slots."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cogitate.memory.appointments import appointments, standing
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import is_english
from cogitate.memory.language.packs import Pack, pack_of
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.times import anchor_days, is_over, with_today
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import first_person
from cogitate.tasks.heuristics.owed import Owed, find_owed, with_owed
from cogitate.tasks.heuristics.plans.called_off import called_off_for, is_off
from cogitate.tasks.heuristics.plans.dated_lines import LINES
from cogitate.tasks.heuristics.plans.day_plan import ALIKE, Duties, Owner, Slot, build, first_said, is_work
from cogitate.tasks.heuristics.plans.said_times import find_said, said_for_rounds
from cogitate.tasks.heuristics.pressing import find_pressing, quote
from cogitate.tasks.heuristics.promises import KEEP
from cogitate.tasks.heuristics.reading import TIMED
from cogitate.tasks.kind import Case
from cogitate.tasks.meters import Meter, read_meters

_DAY = re.compile(r"\b(?:day|день) \d", re.IGNORECASE)


def find_slots(case: Case, start: int, end: int, language: str) -> tuple[list[Slot], tuple[int, ...]]:
    """Return the slots of a plan, and the numbers of the entries that support it.

    The plan has promises, appointments, unfinished items, pressing matters and the routine.

    Args:
        start: start of the plan's window [start, end), game minutes.
        language: ISO 639 code of the items' language.
    """
    profile = case.profile
    owed = find_owed(case.job.key.owner, case.entries, case.world.display_names, case.world.locations, start, end)
    told, places = _told(case, start), case.world.locations
    entries, names = case.entries, case.world.display_names
    said = find_said(case.job.key.owner, entries, case.world.names, places, told, (start, end))
    noted = appointments(_noted(case, told), places, start, end)
    noted = [
        one._replace(what=with_today(one.what, start))
        for one in noted
        if one.number not in owed.numbers or not language_of(one.what).may_vow(one.what)
    ]
    timed = with_owed(noted, said.timed)
    booked = with_owed(timed, standing(owed.timed, told))
    settled = owed.numbers | said.numbers | {a.number for a in booked}
    untimed = [one.what for one in said.untimed if one.number not in owed.numbers]
    pressing = find_pressing(profile.name, entries, names, places, start, settled, language=language)
    duties = Duties(
        booked=booked,
        due=[one for one in said.due if one.number not in owed.numbers],
        said=[*untimed, *said_for_rounds(profile.name, entries, names, start)],
        owed=owed.untimed,
        pressing=[quote(entry, names, language) for entry in pressing],
        status=status_of(case),
        unfinished=[i for i in unfinished_of(case) if _is_own_intent(i, case, told, owed, start, pack_of(language))],
        called_off=called_off_for(case.job.key.owner, profile.name, entries, case.world.names, start),
        is_off=is_off(case.job.key.owner, profile.name, entries, case.world.names, start),
    )
    owner = Owner(
        profile=profile,
        places=case.world.places,
        routine=case.world.routine_of(profile),
        visits=Counter(place for place, _ in {(e.location, e.minute // 60) for e in case.entries if e.location}),
        done=_done(case),
        language=language,
    )
    slots = build(owner, duties, (start, end))
    if not case.world.clock.has_times:
        slots.sort(key=lambda slot: -slot.priority)
    used = {a.number for a in booked if a.number} | {entry.number for entry in pressing}
    return slots, tuple(used)


def _noted(case: Case, told: Sequence[Entry]) -> list[Entry]:
    """Return the entries that name times and are no lines of a talk."""
    lines = LINES.of(case.entries, case.job.key.owner, case.world.names)
    spoken = {line.number for line in lines if line is not None}
    return [entry for entry in told if entry.number not in spoken]


def _dated(case: Case) -> Entry:
    """Return the sentences of the long-term summary that name a day, in the first person; all others are undated."""
    dated = " ".join(s for s in split_sentences(case.job.summary) if _DAY.search(s))
    if dated and is_english(dated):
        name = case.profile.name
        first = name.partition(" ")[0]  # summaries use it for the owner; before another name it names somebody else
        called = rf"(?<!\w)(?:{re.escape(name)}|{re.escape(first)}(?! [A-Z]))(?![\w'’])"
        dated = re.sub(called, "I", dated)
    return Entry(type="summary", text=dated, minute=case.job.minute)


def unfinished_of(case: Case) -> list[Mapping[str, Any]]:
    items: list[object] = case.job.param("unfinished", [])
    return [item for item in items if isinstance(item, Mapping)]


def _is_own_intent(
    item: Mapping[str, Any], case: Case, told: Sequence[Entry], owed: Owed, start: int, phrases: Pack
) -> bool:
    """Return whether an unfinished item is the owner's own intent, and was not taken up before.

    Apart from promises, an item that repeats a memory was for its hour or day only.
    """
    text = str(item.get("description", ""))
    if first_said(text) != text or text in owed.over or is_over(text, start) or is_work(text, case.profile):
        return False
    if any(anchor_days(text, start, pack) != text for pack in (None, phrases)):
        return False  # it names the day of an earlier plan "today"
    words = TERMS.of(text).keys()
    known = (TERMS.of(e.text).keys() for e in (*told, *case.entries) if e.type != "plan")
    is_promise = text.startswith(KEEP) or phrases.without("keep", text) != text
    return is_promise or not any(len(words & one) >= ALIKE * len(words) for one in known)


def _done(case: Case) -> list[str]:
    done: list[object] = case.job.param("done", [])
    return [str(text) for text in done]


def _told(case: Case, start: int) -> list[Entry]:
    """Return the entries that name times, in the agent's words. Its profile's `currently` counts as said at `start`."""
    owner, names = case.job.key.owner, case.world.display_names
    said = Entry(type="observation", text=case.profile.currently, minute=start)
    summary = first_person(_dated(case), owner, names)
    # Reflections only repeat earlier statements, perhaps in another's words.
    timed = (e for e in TIMED.of(case.entries, owner, names) if e is not None and e.type != "reflection")
    return [said, summary, *timed]


def status_of(case: Case) -> dict[str, Meter]:
    return read_meters(case.job.params.get("status"))
