"""The base class of the kinds that `cogitate.kind` makes from a declaration and the host's class."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, get_args
from zlib import crc32

from pydantic import BaseModel

from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.prompts.render import Templates
from cogitate.tasks.job import Job, JobKey, Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt, WorldFacts
from cogitate.tasks.own.answer_example import example_of
from cogitate.tasks.own.cadences import Cadence
from cogitate.tasks.own.choices import Choice
from cogitate.tasks.own.method_faults import called, fault_of_method
from cogitate.tasks.recall import access_marks, long_term_context, persona, share_of, template_entry, template_time
from cogitate.tasks.registry import kinds, templates

BUILT_IN_TEMPLATE = "own"  # the template of a question over memories
_SHORT = {"heuristic": "instead", "effects": "store"}  # names of these methods in a host's class
FIRST_ORDER, ORDERS = 1_000, 900_000  # for kinds without an order: after the built-in ones, by name

Made = str | Entry | tuple[Effect, ...] | None  # result of a job: a text or an entry to remember, or effects
EFFECTS: tuple[type[Effect], ...] = get_args(Effect)
RETURNS = "return a text, an Entry, an effect such as Tell, a tuple of effects, or None"


def order_of(name: str) -> int:
    """Return the default order of a kind within a boundary: after the built-in kinds, by its name."""
    return FIRST_ORDER + crc32(name.encode(errors="replace")) % ORDERS


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A host's declaration of a kind."""

    name: str
    module: str  # the module that workers import
    due: Cadence | None
    owners: tuple[str, ...]  # types of owners: the prefixes of their names
    reads: Choice
    ask: str
    template: Templates | None  # with the host's file; None: the built-in template, or the class's `prompt`
    template_name: str
    answer: type[BaseModel] | None
    importance: int


class DeclaredKind(Kind):
    """The defaults of a declared kind. The host's class precedes this one in the MRO and overrides them."""

    declared: ClassVar[Declaration]

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return a request at each due time of an owner that has memories for the kind to read."""
        cadence, owners = self.declared.due, self.declared.owners
        if cadence is None or moment.owner.partition(":")[0] not in owners or not cadence.is_now(moment):
            return ()
        return (Request(kind=self.name, owner=moment.owner),) if _read(self, _case_of(moment, self.name)) else ()

    @property
    def time_of_day(self) -> str:
        """Return the time of `daily`; "" for other cadences."""
        return getattr(self.declared.due, "time", "")

    def wake(self, moment: Moment) -> int | None:
        """Return the tick of the next due time."""
        cadence, owners = self.declared.due, self.declared.owners
        return None if cadence is None or moment.owner.partition(":")[0] not in owners else cadence.next_tick(moment)

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return False for a cadence, which no observation changes; True if the host's class has a `due`."""
        return defines(self, "due")

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the host's question and the chosen memories."""
        declared, memories = self.declared, share_of(_read(self, case), memory_share)
        assert declared.answer is not None  # never called for a kind without a model
        example = example_of(declared.answer)
        rendered = (declared.template or templates()).render(
            declared.template_name,
            {
                "ask": declared.ask,
                "example": example,
                **persona(case),
                **template_time(case.job.minute, case.job.key.tick),
                "memories": [template_entry(entry, case.job.minute) for entry in memories],
                "params": case.job.params,
                **long_term_context(case, memory_share),
            },
        )
        version = hashlib.sha256(f"{rendered.version}\0{declared.ask}\0{example}".encode()).hexdigest()[:16]
        # The question is the host's, even in the built-in template.
        return Prompt.of(rendered._replace(version=version, built_in=False), declared.answer, memories)

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the effects of the host's `store`."""
        read = [entry for entry in case.entries if entry.number in set(used)]
        result = _call(self, "store", self.store, case, answer, read, passes=ValueError)
        return _effects_of(self, case, result, read)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the effects of the host's `instead`."""
        if not defines(self, "instead"):
            return ()
        read = list(_read(self, case))
        return _effects_of(self, case, _call(self, "instead", self.instead, case, read), read)

    def store(self, case: Case, answer: Any, memories: list[Entry]) -> object:
        """Return the answer's one text, to remember."""
        (name,) = texts_in(type(answer))
        return str(getattr(answer, name))

    def instead(self, case: Case, memories: list[Entry]) -> object:
        """Return nothing: without a model the job has no effect."""
        return None


# Functions, not methods, so that no name in the host's class overrides them.


def _read(kind: DeclaredKind, case: Case) -> Sequence[Entry]:
    """Return the memories that the kind's choice selects.

    Raises:
        MethodFault: if the host's choice raises, or returns anything but entries.
    """
    reads = kind.declared.reads
    memories = called(kind.name, "reads", reads, case)
    if not isinstance(memories, Sequence) or not all(isinstance(one, Entry) for one in memories):
        what = f"returned {_type_of(memories)}: return a list of entries out of case.entries"
        raise fault_of_method(kind.name, "reads", reads, what)
    return memories


def _call(
    kind: DeclaredKind,
    name: str,
    method: Callable[..., object],
    *arguments: object,
    passes: type[BaseException] | None = None,
) -> Made:
    """Call a method of the host's class, and return its result, with effects as a tuple.

    Args:
        passes: class of the method's errors that propagate unchanged.

    Raises:
        MethodFault: if the method raises anything else, or its result is invalid.
    """

    @wraps(method)
    def consumed(*given: object) -> object:  # a generator's errors are the method's
        result: Any = method(*given)
        several = isinstance(result, Iterable) and not isinstance(result, str | bytes | Mapping)
        return tuple(result) if several else result

    result = called(kind.name, name, consumed, *arguments, passes=passes)
    if result is None or isinstance(result, str | Entry):
        return result
    if isinstance(result, EFFECTS):
        return (result,)
    if not isinstance(result, tuple):
        raise fault_of_method(kind.name, name, method, f"returned {_type_of(result)}: {RETURNS}")
    for one in result:
        if not isinstance(one, EFFECTS):
            raise fault_of_method(kind.name, name, method, f"returned {_type_of(one)} among its effects: {RETURNS}")
    return result


def _effects_of(kind: DeclaredKind, case: Case, result: Made, read: Sequence[Entry]) -> tuple[Effect, ...]:
    """Convert a job's result into effects: a text becomes an entry that cites its memories."""
    if result is None:
        return ()
    if isinstance(result, str):
        result = Entry(
            type="observation",
            text=result,
            minute=case.job.minute,
            importance=kind.declared.importance,
            source="internal",
            subjects=tuple(dict.fromkeys(subject for entry in read for subject in entry.subjects)),
            evidence=tuple(sorted(entry.number for entry in read)),
            tags=(kind.name,),
        )
    if isinstance(result, tuple):
        return result
    return Append(case.job.key.owner, result), *access_marks(case, (entry.number for entry in read))


def name_by_author(kind: Kind, method: str) -> str:
    """Return the name under which errors mention a method: the one that the kind's author wrote."""
    if method == "halve" and type(kind).halve is Kind.halve:
        method = "heuristic"
    declared = isinstance(kind, DeclaredKind) and method in _SHORT and not defines(kind, method)
    return _SHORT[method] if declared else method


def defines(kind: DeclaredKind, method: str) -> bool:
    """Return whether the host's class defines a method itself."""
    return getattr(getattr(kind, method), "__func__", None) is not getattr(DeclaredKind, method)


def _type_of(value: object) -> str:
    """Return a value's type with its article: "a dict", "an int"."""
    name = "None" if value is None else type(value).__name__
    return name if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _case_of(moment: Moment, kind: str) -> Case:
    """Return the case of a job that is requested now."""
    key = JobKey(moment.tick, kind, moment.owner, 0, 0)
    job = Job(run="", key=key, minute=moment.minute, due=moment.tick, reads=())
    return Case(job=job, profile=moment.profile, world=moment.world, memories={moment.owner: moment.stream.live()})


def declaring_modules() -> list[str]:
    """Return the modules in which this process declared kinds; "" stands for a script."""
    return sorted({kind.declared.module for kind in kinds() if isinstance(kind, DeclaredKind)})


def texts_in(answer: type[BaseModel]) -> list[str]:
    """Return the names of an answer's text fields."""
    return [name for name, field in answer.model_fields.items() if field.annotation is str]
