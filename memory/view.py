"""A read-only view of one owner's memory, for hosts and for people who inspect a run.

A view copies no stream: each call reads the current memory and stops once its result is complete; a search scores every
memory that passes its filters. Results are frozen or copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, NoReturn

import msgspec

from cogitate.memory.checks import MAX_LABEL, check_integer, check_text, check_texts
from cogitate.memory.clock import Clock
from cogitate.memory.entry import (
    ENTRY_TYPES,
    MAX_TEXT,
    Character,
    Entry,
    EntryType,
    PlanItem,
    present_items,
    resolve_name,
)
from cogitate.memory.errors import InputError, UsageError, quoted
from cogitate.memory.prompt_context import context_lines
from cogitate.memory.retrieval.candidates import Query
from cogitate.memory.retrieval.profiles import ProfileChoice, check_choice, profile_of
from cogitate.memory.retrieval.retrieval import RetrievalProfile, Scored, retrieve
from cogitate.memory.retrieval.similarity import Similarity, SimilarityUnavailable, similarity_by_number
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import Conversation, conversations

MAX_LIMIT = 1_000_000  # entries
MAX_MINUTE = 2**53 - 1  # game time
MAX_TOKENS = 1_000_000
WITHOUT_QUERY = 50  # newest memories that a context without a query considers

_EXCEPT_PLANS: tuple[EntryType, ...] = tuple(name for name in ENTRY_TYPES if name != "plan")


class Present(NamedTuple):
    """The facts of a run, as of the last boundary, that a view of memories reads."""

    minute: int  # game time, total minutes
    clock: Clock
    names: Mapping[str, str]  # display names of owners and places by id
    profile: ProfileChoice  # for retrieval


@dataclass(frozen=True, kw_only=True)
class CurrentPlan:
    """The plan that is valid now, each item with its current status."""

    number: int  # of its entry
    valid_until: int  # game time at which it ends
    items: tuple[PlanItem, ...]  # in order of time
    now: PlanItem | None  # the latest item that has begun, unless it is completed or cancelled
    next: PlanItem | None  # the first pending item to come


@dataclass(frozen=True, kw_only=True)
class Relationship:
    """An owner's relationship with another: the words that the host stated, and the memories that involve the other."""

    who: str  # the other, as entries name it: an owner, or a name
    name: str  # its display name
    words: str  # the relationship in words (`Character.relationships`); empty: none is stated
    memories: int  # live memories that involve it
    last_minute: int | None  # game time of the latest of them; None: no memory


class MemoryView:
    """A read-only view of one owner's memory, as of the last boundary.

    Lists are in the order in which the memories were formed, the newest last; `limit` keeps the newest. They hold live
    memories, no archived ones. A host may keep a view: it always reads the current memory.
    """

    def __init__(
        self,
        owner: str,
        stream: Callable[[], Stream],  # returns the owner's current stream
        present: Callable[[], Present],
        similarity: Similarity | None = None,
    ) -> None:
        self._owner = owner
        self._stream = stream
        self._present = present
        self._similarity = similarity
        self._unavailable = ""

    @property
    def owner(self) -> str:
        """The owner whose memory this is."""
        return self._owner

    @property
    def minute(self) -> int:
        """The game time of the last boundary, in total minutes."""
        return self._present().minute

    @property
    def clock(self) -> Clock:
        """The clock of the run, which names game times in texts."""
        return self._present().clock

    @property
    def similarity_failure(self) -> str:
        """Why the latest search of this view could not use embeddings; "" if it could or did not try."""
        return self._unavailable

    @property
    def summary(self) -> str:
        """The long-term summary; "" before the first one."""
        return self._stream().head.summary

    @property
    def character(self) -> Character:
        """The facts that compaction always keeps; a copy."""
        kept = self._stream().head.character
        return msgspec.structs.replace(kept, relationships=dict(kept.relationships))

    def __len__(self) -> int:
        """Return the number of live memories."""
        return self._stream().count()

    def __repr__(self) -> str:
        return f"<MemoryView of {self._owner}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError(f"the memory of {self._owner!r} cannot be pickled or copied: read it where the run is open")

    # -- searching -----------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        profile: str | Mapping[str, float] | None = None,
        about: str | Iterable[str] = (),
        types: EntryType | Iterable[EntryType] = (),
        since: int | None = None,
    ) -> tuple[Scored, ...]:
        """Return the memories that matter most for a query, best first, each with its score by component.

        Args:
            query: a situation or a question; "": score without one.
            limit: the largest number of memories.
            profile: "default", "dialogue", "spec", or a table of weights by component; None: the run's.
            about: only memories that involve one of these owners or names.
            types: only memories of these types.
            since: only memories from this game time on.

        Raises:
            InputError: naming the invalid argument.
        """
        choice = self._present().profile if profile is None else check_choice("profile", profile)
        return self._recall(
            check_text("query", query, MAX_TEXT, blank=True),
            limit=check_integer("limit", limit, 0, MAX_LIMIT),
            profile=profile_of(choice),
            subjects=self._subjects(_listed("about", about)),
            types=_types(types),
            since=0 if since is None else check_integer("since", since, 0, MAX_MINUTE),
        )

    # -- lists ---------------------------------------------------------------------------------------

    def recent(self, limit: int = 10) -> tuple[Entry, ...]:
        """Return the newest memories.

        Raises:
            InputError: for an invalid limit, as in the other lists.
        """
        return self._newest(check_integer("limit", limit, 0, MAX_LIMIT), lambda entry: True)

    def by_type(self, type: EntryType, limit: int | None = None) -> tuple[Entry, ...]:
        """Return the memories of a type: "observation", "message", "reflection", "plan" or "summary".

        Raises:
            InputError: for another type.
        """
        (wanted,) = _types(check_text("type", type, MAX_LABEL))
        return self._newest(_limit(limit), lambda entry: entry.type == wanted)

    def about(self, subject: str, limit: int | None = None) -> tuple[Entry, ...]:
        """Return the memories that involve an owner, by id or display name.

        Raises:
            InputError: for an invalid subject.
        """
        subjects = self._subjects((check_text("subject", subject, MAX_LABEL),))
        return self._newest(_limit(limit), lambda entry: any(one in subjects for one in entry.subjects))

    def between(self, start: int, end: int) -> tuple[Entry, ...]:
        """Return the memories whose game time is in [start, end).

        Raises:
            InputError: for an invalid time.
        """
        first = check_integer("start", start, 0, MAX_MINUTE)
        last = check_integer("end", end, first, MAX_MINUTE)
        return self._newest(None, lambda entry: first <= entry.minute < last)

    def reflections(self, limit: int | None = None) -> tuple[Entry, ...]:
        """Return the reflections; the `evidence` of each names the entries that it is based on."""
        return self._newest(_limit(limit), lambda entry: entry.type == "reflection")

    def conversations(self, limit: int | None = None) -> tuple[Conversation, ...]:
        """Return the conversations that the owner remembers, in order of their first lines.

        A summarised conversation holds only its summary.
        """
        most = _limit(limit)
        dialogue = self._newest(None, lambda entry: entry.source == "dialogue" or entry.type == "message")
        summarised = [
            Conversation(tuple(sorted({self._owner, *entry.subjects})), (entry,))
            for entry in dialogue
            if entry.type == "summary"
        ]
        talks = sorted([*summarised, *conversations(self._owner, dialogue)], key=lambda talk: talk.oldest)
        return tuple(talks if most is None else talks[len(talks) - min(most, len(talks)) :])

    def relationships(self) -> tuple[Relationship, ...]:
        """Return a relationship with each person in the memories or in the host's statements, in order of name."""
        names, words = self._present().names, dict(self._stream().head.character.relationships)
        count: dict[str, int] = {}
        latest: dict[str, int] = {}
        for entry in self._stream().newest():
            for who in {*entry.subjects} - {self._owner}:
                count[who] = count.get(who, 0) + 1
                latest[who] = max(latest.get(who, 0), entry.minute)
        for stated in words:  # a name, or an id
            if stated not in count and not any(resolve_name(who, names) == stated for who in count):
                count[stated] = 0
        relationships = [
            Relationship(
                who=who,
                name=(name := resolve_name(who, names)),
                words=words.get(who) or words.get(name, ""),
                memories=memories,
                last_minute=latest.get(who),
            )
            for who, memories in count.items()
        ]
        return tuple(sorted(relationships, key=lambda one: (one.name, one.who)))

    def plan(self) -> CurrentPlan | None:
        """Return the current plan, with the status of each item and the next one; None without a plan."""
        stream, minute = self._stream(), self._present().minute
        entry = stream.current_plan(minute)
        if entry is None:
            return None
        items = tuple(sorted(stream.plan_items(entry), key=lambda item: item.minute or 0))
        now, later = present_items(items, minute)
        return CurrentPlan(number=entry.number, valid_until=entry.valid_until, items=items, now=now, next=later)

    # -- for prompts ---------------------------------------------------------------------------------

    def context(
        self,
        query: str = "",
        *,
        tokens: int = 1_000,
        profile: str | Mapping[str, float] | None = None,
        about: str | Iterable[str] = (),
    ) -> str:
        """Return lines for a prompt of the host, within a limit of tokens.

        They are the owner's known facts, its long-term summary in at most a quarter of the limit, the current and the
        next item of its plan, and memories with their times, in order of time: those that matter most for `query`, or
        the newest without one. Memories are never cut.

        Args:
            tokens: the limit, at 1.3 tokens a word.

        Raises:
            InputError: naming the invalid argument.
        """
        room = check_integer("tokens", tokens, 1, MAX_TOKENS)
        choice = self._present().profile if profile is None else check_choice("profile", profile)
        asked = check_text("query", query, MAX_TEXT, blank=True)
        subjects = self._subjects(_listed("about", about))
        if asked.strip():
            scored = self._recall(
                asked, limit=room, profile=profile_of(choice), subjects=subjects, types=_EXCEPT_PLANS, since=0
            )
            ranked = [one.entry for one in scored]
        else:
            ranked = list(islice(self._newest_except_plans(subjects), min(room, WITHOUT_QUERY)))
        plan = self.plan()
        with self.clock.in_force():
            return context_lines(
                room=room,
                character=self.character,
                summary=self.summary,
                now=plan.now if plan is not None else None,
                later=plan.next if plan is not None else None,
                memories=ranked,
                names=self._present().names,
            )

    # -- internals -----------------------------------------------------------------------------------

    def _recall(
        self,
        query: str,
        *,
        limit: int,
        profile: RetrievalProfile,
        subjects: tuple[str, ...],
        types: tuple[EntryType, ...],
        since: int,
    ) -> tuple[Scored, ...]:
        wanted = Query(minute=self.minute, text=query, limit=limit, types=types, subjects=subjects)
        entries = [e for e in self._stream().live() if e.minute >= since and wanted.admits(e)]
        if self._similarity is not None and profile.weighs_similarity:
            try:
                wanted = replace(wanted, similarity=similarity_by_number(self._similarity, query, entries))
                self._unavailable = ""
            except SimilarityUnavailable as error:
                self._unavailable = str(error)
        with self.clock.in_force():
            return tuple(retrieve(entries, wanted, profile))

    def _newest_except_plans(self, subjects: tuple[str, ...]) -> Iterable[Entry]:
        """Return the memories that a context may list, the newest first; it shows the plan separately."""
        wanted = Query(minute=0, types=_EXCEPT_PLANS, subjects=subjects)
        return filter(wanted.admits, self._stream().newest())

    def _newest(self, limit: int | None, fits: Callable[[Entry], bool]) -> tuple[Entry, ...]:
        """Return the newest entries that fit, in order of number, and read no more entries than necessary."""
        newest = islice(filter(fits, self._stream().newest()), limit)
        return tuple(newest)[::-1]

    def _subjects(self, named: Sequence[str]) -> tuple[str, ...]:
        return subjects_named(named, self._present().names)


def subjects_named(named: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the subjects that these words mean: each word itself, and the owners and places of that display name."""
    if not named:
        return ()
    return tuple(dict.fromkeys([*named, *(owner for owner, name in sorted(names.items()) if name in named)]))


def _limit(limit: object) -> int | None:
    return None if limit is None else check_integer("limit", limit, 0, MAX_LIMIT)


def _listed(what: str, value: object) -> tuple[str, ...]:
    return (check_text(what, value, MAX_LABEL),) if isinstance(value, str) else check_texts(what, value)


def _types(value: object) -> tuple[EntryType, ...]:
    """Return types of entries.

    Raises:
        InputError: naming an unknown one.
    """
    named = _listed("types", value)
    types: tuple[EntryType, ...] = tuple(known for known in ENTRY_TYPES if known in named)
    for name in named:
        if name not in types:
            raise InputError(f"types: unknown type {quoted(name)}; use one of {', '.join(ENTRY_TYPES)}")
    return types
