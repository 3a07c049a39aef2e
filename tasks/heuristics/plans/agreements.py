"""What two people agree on in two lines: one proposes it, and the next line of the other takes it up.

The deed stands in the first, the day, the hour and the place in either. Both are quoted, so that a condition is told
with what it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.appointments import Appointment, calls_off, standing
from cogitate.memory.clock import DAY, Clock, clock_in_force, day_of
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.commitments import MAX_WHAT, Doer
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, languages_of
from cogitate.memory.language.packs import Pack, forget_with_packs, pack_of
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.port import Language, language_called
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, joined, split_sentences
from cogitate.memory.language.times import anchor_days, days_named, find_times, names_date, rounds_named
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.summaries.conversations import GAP, parse_line, resolve_name
from cogitate.tasks.heuristics.owed import with_owed
from cogitate.tasks.heuristics.reading import FoundOnce

_LOOKED_BACK = 20  # entries before a line among which the one that it replies to is looked for ahead of a plan
_FEW_WORDS, _FEW_CHARACTERS = 2, 6  # that a reply may have beside its hour and its assent, and add nothing


class Agreed(NamedTuple):
    """What two agreed on for the window of a plan."""

    timed: tuple[Appointment, ...] = ()  # with the other appointments
    untimed: tuple[
        Appointment, ...
    ] = ()  # for the day, or for a round that is not over: by its minute, the oldest first
    numbers: frozenset[int] = frozenset()  # of the lines of every exchange that agrees on something, or refuses it


class Turn(NamedTuple):
    """What one says to one other before the other speaks."""

    speaker: str
    listener: str
    people: tuple[str, ...]
    text: str
    minute: int
    numbers: tuple[int, ...]


class _Exchange(NamedTuple):
    """What a proposal and its reply come to."""

    doer: Doer  # as the one who proposes says it; "" for nobody: it was refused
    proposal: str
    reply: str  # "" if it adds nothing
    day: int | None = None
    time: int | None = None  # minutes after midnight
    is_early: bool = False  # by noon
    is_undated: bool = False  # the day is that of the talk, as neither line names one
    round: int | None = None


def _turn(entry: Entry, owner: str, names: Mapping[str, str]) -> Turn | None:
    if not is_dialogue(entry):
        return None
    people = tuple(sorted({owner, *entry.subjects}))
    line = parse_line(entry, names)
    called = [resolve_name(one, names) for one in people]
    if len(called) != 2 or line.speaker not in called:
        return None
    other = called[called[0] == line.speaker]
    return Turn(line.speaker, other, people, line.text, entry.minute, (entry.number,))


#: What is said to one other in each entry; None for all else.
TURNS = FoundOnce(_turn)


def find_agreed(
    owner: str,
    entries: Sequence[Entry],
    names: Mapping[str, str],
    places: Sequence[Location],
    appointed: Sequence[Appointment],
    told: Sequence[Entry],
    window: tuple[int, int],
) -> Agreed:
    """Return what an owner agreed on with another for the window of a plan, in game minutes.

    Args:
        appointed: what single entries appoint for this window.
        told: what tells the owner of times, or calls something off.
        window: its first minute and the minute after its last.
    """
    (start, end), clock, me = window, clock_in_force(), resolve_name(owner, names)
    timed: list[Appointment] = []
    untimed: list[Appointment] = []
    numbers: set[int] = set()
    for first, second, after, is_dated in _pairs(TURNS.of(entries, owner, names), clock):
        if first.minute >= end or (first.numbers[0] in numbers and not _asks(first.text)):
            continue  # to come, or a reply itself
        found = _exchange(first.text, first.minute, second.text, second.minute, clock)
        if found is None or (found.is_undated and is_dated):
            continue
        numbers.update(first.numbers, second.numbers if found.doer else ())
        doers = {"we": (first.speaker, second.speaker), "you": (second.speaker,), "I": (first.speaker,), "": ()}
        if me not in doers[found.doer] or (after is not None and calls_off(after.text)):
            continue
        what = _told(found, first, second, me)
        place = find_place(first.text, places) or find_place(second.text, places)
        latest = 12 * 60 if found.is_early else DAY
        minute = end if found.day is None else found.day * DAY + (latest if found.time is None else found.time)
        item = Appointment(minute, what, place.id if place else None, second.numbers[-1])
        if found.round is not None:
            if found.round >= clock.dated(start).get("round", 0):
                untimed.append(item)
        elif found.time is None:
            if found.day == day_of(start):
                untimed.append(item)
        elif clock.has_times:
            named = [one for one in appointed if one.number in first.numbers and one.minute == minute]
            timed.extend(named or [item])
    others = [item for item in appointed if item.number not in numbers]
    told = [*told, *(entry for entry in entries if entry.number in numbers)]
    booked = [item for item in standing(timed, told) if start <= item.minute < end]
    return Agreed(tuple(with_owed(others, booked)), tuple(standing(untimed, told)), frozenset(numbers))


def read_exchange(owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> None:
    """Read what the latest line of an owner and the one before it come to."""
    turns, clock = TURNS.of(entries, owner, names), clock_in_force()
    last = turns[-1] if turns else None
    if last is None:
        return
    before = next((turn for turn in turns[-2:-_LOOKED_BACK:-1] if turn and turn.people == last.people), None)
    if before is not None and before.speaker != last.speaker and _goes_on(before, last, clock):
        _names_day(before.text)
        _exchange(before.text, before.minute, last.text, last.minute, clock)


def _asks(text: str) -> bool:
    return any(sentence.endswith(QUESTIONS) for sentence in split_sentences(text))


@lru_cache(maxsize=32_768)
def _names_day(text: str) -> bool:
    """Return whether a text names a day, by a word, its number or a date."""
    said = text.replace("'s", "").replace("’s", "")  # "tomorrow's feast"
    return names_date(text) or bool(days_named(anchor_days(said, 0)))  # on the first day, those before it stay


def _pairs(turns: Sequence[Turn | None], clock: Clock) -> Iterable[tuple[Turn, Turn, Turn | None, bool]]:
    """Yield each turn with the other's next one in the same talk, with what follows that one, if anything.

    The last of each tells whether a turn before them names a day, which may be that of an hour in these.
    """
    running: dict[tuple[str, ...], list[Turn]] = {}
    talks: list[list[Turn]] = []
    for turn in turns:
        if turn is None:
            continue
        talk = running.get(turn.people)
        if talk is None or not _goes_on(talk[-1], turn, clock):
            talk = running[turn.people] = [turn]
            talks.append(talk)
        elif talk[-1].speaker == turn.speaker:
            text = joined((talk[-1].text, turn.text))
            talk[-1] = turn._replace(text=text, numbers=(*talk[-1].numbers, *turn.numbers))
        else:
            talk.append(turn)
    for talk in talks:
        is_dated = False
        for at in range(len(talk) - 1):
            after = talk[at + 2] if at + 2 < len(talk) else None
            yield talk[at], talk[at + 1], after, is_dated
            is_dated = is_dated or _names_day(talk[at].text)


def _goes_on(last: Turn, turn: Turn, clock: Clock) -> bool:
    if not clock.has_times:
        return turn.minute == last.minute
    return turn.minute - last.minute < GAP and day_of(turn.minute) == day_of(last.minute)


def _language(text: str) -> tuple[Language, Pack]:
    code = languages_of(text)[0]
    return language_called(code), pack_of(ENGLISH if code == UNDETERMINED else code)


@lru_cache(maxsize=32_768)  # an owner's memories are read again by each plan, and both who talked remember the same
def _exchange(proposal: str, asked: int, reply: str, answered: int, clock: Clock) -> _Exchange | None:
    """Return what a proposal and its reply come to; None if nothing was proposed, or it remains without an answer."""
    known, pack = _language(f"{proposal}\n{reply}")
    sentences, replies = split_sentences(proposal), split_sentences(reply)
    if not sentences or not replies or any(s.endswith(QUESTIONS) for s in replies):
        return None
    doer, at = _proposed(known, sentences)
    if (not doer and not any(map(known.accepts, replies))) or known.is_called_off(proposal):
        return None
    if any(map(known.declines, replies)):
        return _Exchange("", "", "") if doer else None
    answers = {known.proposes(sentence) for sentence in replies}
    dated = [anchor_days(s, asked, pack) for s in sentences]
    told = [anchor_days(s, answered, pack) for s in replies]
    times = [_times(told, pack), _times(dated, pack)]
    hours = [s for s in told if find_times(s, pack)]
    is_short = all(_adds_little(known, s, pack) for s in hours)
    if not (any(map(known.accepts, replies)) or answers & {"we", "I"} or (doer == "we" and times[0] and is_short)):
        return None
    if not doer:
        if not times[0] or not answers & {"we", "I"} or not any(map(known.accepts, replies)):
            return None
        at, doer = len(sentences) - 1, "we" if "we" in answers else "you"
    elif "we" in answers:
        doer = "we"
    names_deed = any(known.deed_words(s) & known.deed_words(sentences[at]) for s in hours)
    if all(times) and times[0] != times[1] and not (is_short or names_deed):
        times = [[], []]  # it may be the hour of something else
    time = next((found[0] for found in times if found), None)
    days = days_named(" ".join(told), pack) or days_named(" ".join(dated), pack)
    day, today, is_undated = (days[-1] if days else None), day_of(answered), not days
    if clock.counts_days:
        if is_undated and time is not None and not (_names_day(proposal) or _names_day(reply)):
            day = today
        if day is None or day < today or (day == today and (time is None or today * DAY + time <= answered)):
            return None
    rounds = [] if clock.counts_days else rounds_named(reply, answered) or rounds_named(proposal, asked)
    if not (rounds or clock.counts_days):
        return None
    kept = [s for i, s in enumerate(dated) if i == at or find_times(s, pack)]
    added = [
        s
        for s in told
        if not _adds_little(known, s, pack)
        and (known.proposes(s) or find_times(s, pack) or days_named(s, pack) or rounds_named(s, answered))
    ]
    early = any(pack.says("am", part) for part in (*told, *dated))
    last = max(rounds) if rounds else None
    return _Exchange(doer, joined(kept), joined(added), day, time, early, is_undated, last)


forget_with_packs(_exchange.cache_clear)


def _proposed(known: Language, sentences: Sequence[str]) -> tuple[Doer, int]:
    """Return who is to do what sentences propose, and the index of the one that proposes it."""
    asked = [at for at, s in enumerate(sentences) if s.endswith(QUESTIONS)]
    stated = [at for at, s in enumerate(sentences) if at not in asked and not known.declines(s)]
    found = ((known.proposes(sentences[at]), at) for at in (*asked, *stated))
    return next(((doer, at) for doer, at in found if doer), ("", 0))


def _times(sentences: Iterable[str], pack: Pack) -> list[int]:
    return [time.minute for s in sentences for time in find_times(s, pack)]


def _adds_little(known: Language, sentence: str, pack: Pack) -> bool:
    """Return whether a sentence holds little more than assent and an hour."""
    rest = sentence
    for time in reversed(find_times(sentence, pack)):
        rest = rest[: time.start] + rest[time.end :]
    if pack.is_wide:
        return sum(map(str.isalnum, rest)) <= _FEW_CHARACTERS
    said = [word for word in rest.split() if any(map(str.isalpha, word)) and not known.accepts(word)]
    return len(said) <= _FEW_WORDS


def _told(found: _Exchange, first: Turn, second: Turn, me: str) -> str:
    """Return an agreement as an item of a plan: each part with who says it, or else with whom it was made."""
    _, pack = _language(f"{first.text}\n{second.text}")
    ended = SPACED.replace("?", "") + UNSPACED
    parts = [
        ("" if turn.speaker == me else turn.speaker, text)
        for turn, text in ((first, found.proposal), (second, found.reply))
        if text
    ]
    said = (pack.labelled(who, shorten(text.rstrip(ended), MAX_WHAT, "…")) for who, text in parts)
    text = ("——" if pack.is_wide else " – ").join(said)
    other = second.speaker if first.speaker == me else first.speaker
    return text if any(who for who, _ in parts) else pack.bracketed(text, other)
