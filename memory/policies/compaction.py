"""Compaction: the entries that pruning archives, and the hard limits that the boundary enforces (streams, task 10).

Cells (`cogitate.memory.policies.cells`) and the token window (`cogitate.memory.policies.window`) bound the observations
of their owners; for such owners this module handles only reflections and plans.

An entry whose importance reaches the threshold is archived only into a summary that names it as evidence. Unrated
entries count as ordinary (importance 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cogitate.memory.effects import Append, Archive, Effect
from cogitate.memory.entry import MAX_TEXT, OBSERVED_TYPES, Entry, EntryType, is_dialogue, rating, resolve_name
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, is_english
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import QUESTIONS, joined, split_sentences, with_end
from cogitate.memory.language.text import stems
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies import cells, window
from cogitate.memory.retrieval.scoring import recency
from cogitate.memory.routing.history import is_shared, trim
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import conversations, summarise_entries
from cogitate.memory.summaries.statements import news_of

MUNDANE = 3  # importance of a summary of routine events (streams design, task 9)
WORTHWHILE = 0.85  # share of the limit of observations at which pruning takes routine ones
TARGET = 0.75  # share that pruning aims at
FEWEST = 3  # routine entries: a summary of fewer saves nothing
SETTLED = 36 * 60  # game minutes after which a routine conversation is compacted without a model
MOST_SUBJECTS = 12  # of a summary: a summary of summaries would otherwise keep every name for ever


@dataclass(frozen=True)
class Cut:
    """The entries that pruning takes: unique numbers, ascending."""

    routine: tuple[int, ...] = ()  # unimportant observations: into one summary by place
    talks: tuple[tuple[int, ...], ...] = ()  # each into a separate summary
    reflections: tuple[int, ...] = ()  # beyond the limit; important ones go into one reflection
    plans: tuple[int, ...] = ()  # beyond the limit

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return all numbers, ascending."""
        talks = (n for talk in self.talks for n in talk)
        return tuple(sorted([*self.routine, *talks, *self.reflections, *self.plans]))


def keeping_score(entry: Entry, minute: int) -> float:
    """Return 0.7 × importance + 0.3 × recency × 10 (streams design, task 10)."""
    return 0.7 * rating(entry) + 0.3 * 10 * recency(entry.minute, minute)


def deserves_summary(size: int, importance: float, limits: MemoryLimits) -> bool:
    """Return whether a conversation is long enough for a model, and very long or valuable (streams design, task 10)."""
    return size >= limits.summary_threshold and (size >= 2 * limits.summary_threshold or importance >= 6)


def choose(owner: str, entries: Sequence[Entry], limits: MemoryLimits, minute: int, busy: Collection[int] = ()) -> Cut:
    """Return which of these live entries pruning takes; it skips `busy` entries, which open jobs read."""
    free = [e for e in entries if e.number not in busy]
    streams = limits.policy_of(owner) == "stream"
    talks = conversations(owner, free) if streams else ()
    observed = sum(e.type in OBSERVED_TYPES for e in entries)
    return Cut(
        routine=_routine(free, observed, limits, minute) if streams else (),
        talks=tuple(
            talk.numbers
            for talk in talks
            if minute - talk.oldest >= SETTLED and not deserves_summary(len(talk.entries), talk.importance, limits)
        ),
        reflections=tuple(sorted(e.number for e in _surplus_reflections(free, limits))),
        plans=tuple(sorted(e.number for e in _surplus(free, "plan", limits.max_plans))),
    )


def carry_out(
    owner: str,
    cut: Cut,
    entries: Iterable[Entry],
    limits: MemoryLimits,
    names: Mapping[str, str],
    minute: int | None = None,
    language: str = UNDETERMINED,
) -> tuple[Effect, ...]:
    """Return the effects of a cut, without numbers that are no longer among `entries`.

    Summaries tell plans that are over at game time `minute`, if given, in the past tense. They are in `language`, or
    else in the language of their entries.
    """
    by_number = {e.number: e for e in entries}

    def present(numbers: Iterable[int]) -> list[Entry]:
        return [by_number[n] for n in numbers if n in by_number]

    effects: list[Effect] = []
    for talk in cut.talks:
        if group := present(talk):
            text = summarise_entries(group, names, minute=minute, owner=owner, language=language)
            effects += _replace(owner, group, text, max(map(rating, group)))
    if routine := present(cut.routine):
        effects += _replace(owner, routine, by_place(routine, names, owner, language), MUNDANE)
    effects += _cut_reflections(owner, present(cut.reflections), limits, names, language)
    if plans := present(cut.plans):
        effects.append(Archive(owner=owner, numbers=tuple(e.number for e in plans)))
    return tuple(effects)


def enforce_limits(
    stream: Stream,
    limits: MemoryLimits,
    minute: int,
    names: Mapping[str, str] | None = None,
    language_of_owner: Callable[[], str] = lambda: UNDETERMINED,
) -> tuple[Effect, ...]:
    """Return the effects by which the boundary enforces the hard limits; none if all limits hold.

    After these effects the limits hold for any stream. They cut to about 5% below the limit, so that they are rarely
    needed: first the unimportant observations with the lowest scores, then the oldest important ones. These go into one
    summary in the owner's language.

    Args:
        language_of_owner: detects that language; called only for a summary.
    """
    names = names or {}
    owner = stream.owner
    effects: list[Effect] = []  # empty for nearly every stream at nearly every tick
    if is_shared(owner):
        effects += trim(stream, limits)
    elif (policy := limits.policy_of(owner)) == "cells":
        effects += cells.enforce(stream, limits, names, language_of_owner)
    elif policy == "tokens":
        effects += window.enforce(stream, limits, names, language_of_owner)
    elif stream.observed() > limits.max_observations:
        effects += _cut_observed(owner, stream.live(*OBSERVED_TYPES), limits, minute, names, language_of_owner())
    if stream.count("reflection") > limits.max_reflections:
        surplus = _surplus_reflections(stream.live("reflection"), limits)
        effects += _cut_reflections(owner, surplus, limits, names, language_of_owner())
    if stream.count("plan") > limits.max_plans:
        plans = _surplus(stream.live("plan"), "plan", limits.max_plans)
        effects.append(Archive(owner=owner, numbers=tuple(sorted(e.number for e in plans))))
    return tuple(effects)


def by_place(entries: Sequence[Entry], names: Mapping[str, str], owner: str = "", language: str = UNDETERMINED) -> str:
    """Return routine events grouped by place, in the order of each place's first event (streams design, task 9).

    For each place it quotes the most important event; of several, the one with the most words that the others and the
    place's name lack. An earlier summary ranks with the most important event.
    """
    places: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda e: (e.minute, e.number)):
        places.setdefault(entry.location, []).append(entry)
    parts = []
    for place, group in places.items():
        name = resolve_name(place, names) if place else ""
        where = f"At {name}" if name else "Elsewhere"
        best = _most_distinctive(group, name)
        text = " ".join(anchor_days(news_of(best), best.minute, around=language).split())
        plain = _without_names(text, best, names)
        text = language_of(plain).with_subject(text, names.get(owner, "")) if best.type != "summary" else text
        text = text if len(text) <= 200 else _cut(text, 200)
        text = text if text.endswith((*QUESTIONS, "!", "…")) else with_end(text.rstrip(" ."))
        count = sum(len(e.evidence) if e.type == "summary" else 1 for e in group)
        if not is_english(plain) or language not in (ENGLISH, UNDETERMINED):
            text = f"{name}: {text}" if name and name not in text else text
        elif best.type != "summary" and count > 1:
            text = f"{where}, {count} routine events occurred, among them: {text}"
        elif best.type != "summary" and not (name and name in text):
            text = f"{where}: {text}"
        parts.append(text)
    text = joined(parts)
    return shorten(text, MAX_TEXT, "…")


def _without_names(text: str, entry: Entry, names: Mapping[str, str]) -> str:
    """Return a text without the names of its entry's subjects, which may be in another script."""
    for subject in entry.subjects:
        text = text.replace(resolve_name(subject, names), "")
    return text


def _most_distinctive(group: Sequence[Entry], place: str) -> Entry:
    words_of_place = set(stems(place))
    words_of = {entry.number: set(stems(entry.text)) - words_of_place for entry in group}
    entries_with = Counter(word for words in words_of.values() for word in words)
    most = max((rating(entry) for entry in group if entry.type != "summary"), default=0)

    def worth(entry: Entry) -> tuple[int, int, int]:
        importance = most if entry.type == "summary" else rating(entry)
        return importance, sum(len(group) // entries_with[word] for word in words_of[entry.number]), entry.number

    return max(group, key=worth)


def _cut(text: str, most: int) -> str:
    """Return the whole sentences within the first `most` characters of a text, or else its whole words."""
    whole, size = [], -1
    for sentence in split_sentences(text):
        size += len(sentence) + 1
        if size > most:
            break
        whole.append(sentence)
    return " ".join(whole) or shorten(text, most, "…")


def _below(limit: int) -> int:
    return limit - limit // 20


def _routine(free: Sequence[Entry], observed: int, limits: MemoryLimits, minute: int) -> tuple[int, ...]:
    if observed < WORTHWHILE * limits.max_observations:
        return ()
    spare = [
        e for e in free if e.type in OBSERVED_TYPES and not is_dialogue(e) and rating(e) < limits.importance_threshold
    ]
    spare.sort(key=lambda e: (keeping_score(e, minute), e.number))
    taken = spare[: observed - int(TARGET * limits.max_observations) + 1]
    return tuple(sorted(e.number for e in taken)) if len(taken) >= FEWEST else ()


def _surplus(entries: Iterable[Entry], entry_type: EntryType, limit: int, more: int = 0) -> list[Entry]:
    """Return the oldest entries of a type, enough to bring it a little below its limit; none if it is within it."""
    ordered = sorted((e for e in entries if e.type == entry_type), key=lambda e: (e.minute, e.number))
    return ordered[: len(ordered) - _below(limit) + more] if len(ordered) > limit else []


def _surplus_reflections(entries: Iterable[Entry], limits: MemoryLimits) -> list[Entry]:
    """Return the reflections to cut: one more if any is important, since a new reflection then replaces those."""
    entries = list(entries)
    surplus = _surplus(entries, "reflection", limits.max_reflections)
    if any(rating(e) >= limits.importance_threshold for e in surplus):
        surplus = _surplus(entries, "reflection", limits.max_reflections, more=1)
    return surplus


def _cut_observed(
    owner: str, live: Sequence[Entry], limits: MemoryLimits, minute: int, names: Mapping[str, str], language: str
) -> list[Effect]:
    excess = len(live) - _below(limits.max_observations)
    spare = [e for e in live if rating(e) < limits.importance_threshold]
    spare.sort(key=lambda e: (keeping_score(e, minute), e.number))
    effects: list[Effect] = []
    if dropped := spare[:excess]:
        effects.append(Archive(owner=owner, numbers=tuple(sorted(e.number for e in dropped))))
    if left := excess - len(dropped):
        important = [e for e in live if rating(e) >= limits.importance_threshold]
        important.sort(key=lambda e: (e.minute, e.number))
        oldest = important[: left + 1]  # one more, for the summary itself
        text = summarise_entries(oldest, names, minute=minute, owner=owner, language=language)
        effects += _replace(owner, oldest, text, max(map(rating, oldest)))
    return effects


def _cut_reflections(
    owner: str, surplus: Sequence[Entry], limits: MemoryLimits, names: Mapping[str, str], language: str
) -> list[Effect]:
    """Return effects that archive reflections, the important ones into one new reflection."""
    important = [e for e in surplus if rating(e) >= limits.importance_threshold]
    rest = tuple(e.number for e in surplus if rating(e) < limits.importance_threshold)
    effects: list[Effect] = [Archive(owner=owner, numbers=rest)] if rest else []
    if important:
        importance = max(map(rating, important))
        text = summarise_entries(important, names, owner=owner, language=language)
        effects += _replace(owner, important, text, importance, "reflection")
    return effects


def _replace(
    owner: str, group: Sequence[Entry], text: str, importance: int, entry_type: EntryType = "summary"
) -> list[Effect]:
    """Append a summary of the group, dated to its last entry, and archive the group into it."""
    summary = summary_entry(group, text, importance, entry_type)
    return [
        Append(owner=owner, entry=summary),
        Archive(owner=owner, numbers=summary.evidence, into_appended=True),
    ]


def summary_entry(group: Sequence[Entry], text: str, importance: int, entry_type: EntryType = "summary") -> Entry:
    """Return a summary entry of a group: dated to the last, placed at the first (streams design, task 9).

    It names at most 12 subjects, the most frequent ones, in order of time.
    """
    ordered = sorted(group, key=lambda e: (e.minute, e.number))
    involved = Counter(s for e in ordered for s in e.subjects)
    most = dict(involved.most_common(MOST_SUBJECTS))  # a tie goes to the first
    numbers = tuple(sorted(e.number for e in group))
    begins = [e.minute if e.since_minute is None else e.since_minute for e in group]
    return Entry(
        type=entry_type,
        text=text,
        minute=ordered[-1].minute,
        location=ordered[0].location,
        subjects=tuple(s for s in involved if s in most),
        importance=importance,
        source="dialogue" if all(is_dialogue(e) for e in group) else "internal",
        evidence=numbers,
        tags=tuple(dict.fromkeys(t for e in ordered for t in e.tags)),
        quest_id=_common(e.quest_id for e in group),
        encounter_id=_common(e.encounter_id for e in group),
        since_minute=min(begins),
        since_number=numbers[-1],
    )


def _common(values: Iterable[str]) -> str:
    """Return the value that all share, or "" if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else ""
