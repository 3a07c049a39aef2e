"""Questions about a memory, one for each method of `MemoryView`, and their answers as JSON types."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from cogitate.hosting.protocol.answers import plain
from cogitate.hosting.protocol.messages import Figure, Label, Labels, Message, Owner
from cogitate.memory.entry import MAX_TEXT, Entry, EntryType
from cogitate.memory.retrieval.retrieval import Scored
from cogitate.memory.view import MAX_LIMIT, MAX_TOKENS, MemoryView

Limit = Annotated[Figure, Field(le=MAX_LIMIT)]
Types = tuple[EntryType, ...]
Asked = Annotated[str, Field(max_length=MAX_TEXT)]
Weights = Annotated[str, Field(max_length=100)] | dict[Label, float] | None


class _Question(Message):
    owner: Owner

    @abstractmethod
    def found(self, view: MemoryView) -> Any:
        """Return a memory's answer as JSON types, with entries and conversations oldest first."""


class Recall(_Question):
    """Ask for the best memories for a query, best first, each with its score."""

    read: Literal["recall"]
    query: Asked = ""
    limit: Limit = 10
    profile: Weights = None
    about: Labels = ()
    types: Types = ()
    since: Figure | None = None

    def found(self, view: MemoryView) -> Any:
        scored = view.recall(
            self.query, limit=self.limit, profile=self.profile, about=self.about, types=self.types, since=self.since
        )
        return [_scored(one) for one in scored]


class Recent(_Question):
    """Ask for the newest memories."""

    read: Literal["recent"]
    limit: Limit = 10

    def found(self, view: MemoryView) -> Any:
        return _entries(view.recent(self.limit))


class ByType(_Question):
    """Ask for the memories of a type."""

    read: Literal["by_type"]
    type: EntryType
    limit: Limit | None = None

    def found(self, view: MemoryView) -> Any:
        return _entries(view.by_type(self.type, self.limit))


class About(_Question):
    """Ask for the memories that involve an owner or a name."""

    read: Literal["about"]
    subject: Annotated[Label, Field(min_length=1)]
    limit: Limit | None = None

    def found(self, view: MemoryView) -> Any:
        return _entries(view.about(self.subject, self.limit))


class Between(_Question):
    """Ask for the memories of a span of game time, its end excluded."""

    read: Literal["between"]
    start: Figure
    end: Figure

    def found(self, view: MemoryView) -> Any:
        return _entries(view.between(self.start, self.end))


class Reflections(_Question):
    """Ask for the reflections."""

    read: Literal["reflections"]
    limit: Limit | None = None

    def found(self, view: MemoryView) -> Any:
        return _entries(view.reflections(self.limit))


class Conversations(_Question):
    """Ask for the conversations that the owner remembers."""

    read: Literal["conversations"]
    limit: Limit | None = None

    def found(self, view: MemoryView) -> Any:
        return [
            {"participants": list(talk.participants), "entries": _entries(talk.entries)}
            for talk in view.conversations(self.limit)
        ]


class Relationships(_Question):
    """Ask for the relationships to all owners that the memories mention or that the host stated."""

    read: Literal["relationships"]

    def found(self, view: MemoryView) -> Any:
        return [asdict(one) for one in view.relationships()]


class Plan(_Question):
    """Ask for the plan that is valid now."""

    read: Literal["plan"]

    def found(self, view: MemoryView) -> Any:
        plan = view.plan()
        if plan is None:
            return None
        return {
            "number": plan.number,
            "valid_until": plan.valid_until,
            "items": [plain(item) for item in plan.items],
            "now": None if plan.now is None else plain(plan.now),
            "next": None if plan.next is None else plain(plan.next),
        }


class Summary(_Question):
    """Ask for the long-term summary."""

    read: Literal["summary"]

    def found(self, view: MemoryView) -> Any:
        return view.summary


class Facts(_Question):
    """Ask for the facts that compaction never drops."""

    read: Literal["character"]

    def found(self, view: MemoryView) -> Any:
        return plain(view.character)


class Context(_Question):
    """Ask for lines for the host's prompts."""

    read: Literal["context"]
    query: Asked = ""
    tokens: Annotated[Figure, Field(ge=1, le=MAX_TOKENS)] = 1_000
    profile: Weights = None
    about: Labels = ()

    def found(self, view: MemoryView) -> Any:
        return view.context(self.query, tokens=self.tokens, profile=self.profile, about=self.about)


class Question(
    RootModel[
        Annotated[
            Recall
            | Recent
            | ByType
            | About
            | Between
            | Reflections
            | Conversations
            | Relationships
            | Plan
            | Summary
            | Facts
            | Context,
            Field(discriminator="read"),
        ]
    ]
):
    """A question about one owner's memory; `read` names a method of `MemoryView`."""


def _entries(entries: Iterable[Entry]) -> list[Any]:
    return [plain(entry) for entry in entries]


def _scored(one: Scored) -> dict[str, Any]:
    return {"entry": plain(one.entry), "score": one.score, "parts": [asdict(part) for part in one.parts]}
