"""The lines of the journal: one line per tick with its decisions, effects and observations, as compressed JSON.

Two hashes run along the lines. `digest` covers tick, decisions, ends, effects and observations: the same inputs and
results give the same digest. `chain` covers every byte of JSON of every line, so no alteration goes unnoticed. The
digest never covers tokens, money, attempts, the sources llm and cached, epochs and wall time; these are in a line's
notes.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Effect, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.errors import CogitateError
from cogitate.memory.profile import Profile
from cogitate.memory.unreadable import as_it_is, effect_as_it_is
from cogitate.scheduler.budget.admission import CANCELLED, DecidedLine, Grant
from cogitate.scheduler.config.controls import Control, ControlAnswer
from cogitate.scheduler.config.facts import SCHEMA, Facts
from cogitate.scheduler.journal.changes import Origin
from cogitate.scheduler.latency.due_ticks import UNTIMELY
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.claims import PromptCount, Reason, Source, Tried
from cogitate.scheduler.ledger.run_store import pack, unpack
from cogitate.tasks.job import Cost, JobKey

End = Literal["applied", "dropped", "deferred", "stale", "cancelled"]


class Ended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of one job, or its late answer, with its effects (if `stale`: the effects that were not applied)."""

    key: JobKey
    end: End
    reason: Reason = "none"
    effects: tuple[Effect, ...] = ()


def reason_of(refused: str) -> Reason:
    """Return the reason why a refused request gets no model's answer."""
    if refused == CANCELLED:
        return "cancelled"
    return "too_slow" if refused in UNTIMELY else "denied"


class Repeat(NamedTuple):
    """An observation that was counted on the entry that it repeats instead of stored."""

    owner: str
    number: int
    minute: int  # game time, total minutes
    importance: int  # 1 to 10


class Rated(NamedTuple):
    """An entry that arrived unrated and got a rating at the boundary."""

    owner: str
    number: int
    importance: int  # 1 to 10


class Stepped(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step of the controller of a kind's cadence: its inputs and its decision."""

    kind: str
    before: int  # cadence, in thousandths of the usual one
    factor: int  # new cadence
    ended: int = 0  # jobs in the past interval
    late: int = 0
    failed: int = 0
    oldest: int = 0  # ticks between admission and end of the oldest late job
    burn: int = 0  # the budget's pace, in percent of the day's


class Postponed(NamedTuple):
    """An owner for which a due kind has to wait, because the kind is throttled."""

    kind: str
    owner: str


class Core(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of a line that the digest covers. Readers apply its fields in their order."""

    tick: int
    minute: int
    unread: tuple[tuple[str, tuple[int, ...]], ...] = ()  # unreadable entries, left out from now on; 0: head and marks
    joined: tuple[tuple[str, Profile], ...] = ()
    left: tuple[str, ...] = ()
    profiled: tuple[tuple[str, Profile], ...] = ()  # profiles that a fork changes
    facts: Facts | None = None  # None: unchanged
    ended: tuple[Ended, ...] = ()
    late: tuple[Ended, ...] = ()  # late answers, with the effects that replace their heuristics' entries
    world_effects: tuple[Effect, ...] = msgspec.field(name="asked", default=())  # such as the status of a plan item
    observed: tuple[tuple[str, Entry], ...] = ()  # observations that were appended
    waiting: tuple[tuple[str, Entry], ...] = ()  # observations that wait in the head for a free cell
    repeated: tuple[Repeat, ...] = ()
    rated: tuple[Rated, ...] = ()
    cuts: tuple[Effect, ...] = ()  # effects by which the boundary enforced limits
    deleted: tuple[tuple[str, tuple[int, ...]], ...] = ()
    controls: tuple[Control, ...] = ()  # operators' requests that affect decisions
    stepped: Stepped | None = None
    postponed: tuple[Postponed, ...] = ()
    decided: tuple[DecidedLine, ...] = ()

    @property
    def ends(self) -> tuple[Ended, ...]:
        """Return the ends of jobs and then the late answers, in the order in which their effects apply."""
        return (*self.ended, *self.late)


class EndNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The circumstances of a job's end, or of its late answer, beyond its effects."""

    key: JobKey
    source: Source
    usage: Cost = Cost()
    retried: Cost = Cost()  # the known usage of attempts before the newest
    attempts: int = 0
    arrival: int = 0  # the ordinal of its result among all staged results of the run; 0: no result
    model: str = ""
    prompt: str = ""  # content hash of the prompt's template
    failure: str = ""  # class of the failure; for an unusable answer "unusable:" and the failed check
    # For "breaker_open": class of the failure that opened it; for "unusable:kind": the place; for a cancelled job: the
    # operator's reason; otherwise the refusing cell, or "run_ends".
    because: str = ""
    empty: str = ""  # the cell whose retry pool had no room for another attempt
    refusal: str = ""  # the fault in the kind's own code, whose result changed nothing
    count: PromptCount | None = None
    unreported: bool = False  # whether the usage is an estimate
    reasoning: int = 0  # reasoning tokens that the model reported, of the usage
    packed: int = 0  # jobs in the request, if several
    hybrid: bool = False  # whether retrieval compared vectors too
    embedded: int = 0  # tokens for vectors, of the usage
    service_tier: str = ""  # that answered, as the endpoint reports
    discount: int = 0  # micro-dollars saved against the standard service tier
    saved: bool = False  # True: the job spent nothing; the usage is that of an identical call
    inputs: str = ""  # hash of everything that an answer depends on
    appended: tuple[int, ...] = ()  # numbers of the entries that it appended
    worker: str = ""  # that staged its result
    tries: tuple[Tried, ...] = ()  # attempts of that worker that asked a model

    @property
    def spent(self) -> Cost:
        """Return the true cost of the winning attempt; `usage` is its cost in admission's view."""
        return Cost() if self.saved else self.usage


class Correction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The final usage of an ended job for which admission counted the full reservation until then."""

    key: JobKey
    usage: Cost = Cost()  # of its newest attempt
    saved: bool = False  # True: the job spent nothing; the usage is that of an identical call
    at: int  # last committed tick when the usage became known
    kept: bool = False  # admission continues to count it in full: see `cogitate.scheduler.engine.corrections`
    inputs: str = ""  # hash of everything its newest attempt depended on; "": it made no prompt, or was lost

    @property
    def spent(self) -> Cost:
        """Return the true cost of the newest attempt."""
        return Cost() if self.saved else self.usage


class Retried(NamedTuple):
    """The usage of an earlier attempt of a job, learned after the job's end."""

    key: JobKey
    used: Cost


class TickNotes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of a tick's line that the digest does not cover."""

    epoch: int = 0  # of the host that commits it
    origin: Origin | None = None  # in the first line of a fork: its source and its changes
    ended: tuple[EndNote, ...] = ()
    late: tuple[EndNote, ...] = ()
    corrected: tuple[Correction, ...] = ()
    retried: tuple[Retried, ...] = ()
    opened: tuple[Grant, ...] = ()
    answers: tuple[ControlAnswer, ...] = ()  # to operators
    timed: tuple[Timed, ...] = ()  # latencies of answers that the run learned at this boundary
    overdue: tuple[Overdue, ...] = ()  # the same for jobs that ended late while a worker ran them
    warnings: dict[str, int] = msgspec.field(default_factory=dict)
    view: tuple[tuple[str, int], ...] = ()  # fields of admission's view that changed
    posted: str = ""  # digest of the message with the host's turn; a repeated message gets the same answer


class JournalLine(msgspec.Struct, frozen=True, kw_only=True):
    """One tick in the form that the journal stores."""

    v: int
    core: msgspec.Raw
    notes: TickNotes
    digest: str


class Versioned(msgspec.Struct, frozen=True):
    """The readable part of a line that a newer version wrote."""

    v: int


class JournalError(CogitateError, ValueError):
    """A line of the journal differs from what its host wrote; the message names its tick.

    Restore the data of the Redis server from a copy, or start the run anew: a damaged history cannot be replayed.
    """


_CORE = typed_json.decoder(Core)
_LINE = typed_json.decoder(JournalLine)
_APPEND = Append.__struct_config__.tag
_STAND_IN: dict[str, object] = {"type": Tell.__struct_config__.tag, "owner": "", "topic": "", "data": {}}
_VERSION = typed_json.decoder(Versioned)


def next_digest(previous: str, core: bytes) -> str:
    """Return the digest after a tick whose core is `core`."""
    return hashlib.blake2b(previous.encode() + core, digest_size=16).hexdigest()


def next_chain(previous: str, line: bytes) -> str:
    """Return the chain after a line."""
    return hashlib.blake2b(previous.encode() + line, digest_size=16).hexdigest()


def pack_line(chain: str, body: bytes) -> bytes:
    """Return the stored form of a line: the chain after it, then its JSON, compressed to about a seventh."""
    return chain.encode() + b" " + pack(body)


def unpack_line(stored: bytes) -> tuple[str, bytes]:
    """Return the chain after a line or checkpoint, and its JSON, which may be compressed."""
    chain, _, body = stored.partition(b" ")
    if not body.startswith(b"{"):
        try:
            body = unpack(body)
        except ValueError as error:
            raise JournalError(f"the journal was changed: a line of it {error}") from error
    return chain.decode("ascii", "replace"), body


def read_hashes(stored: bytes | None, tick: int) -> tuple[str, str]:
    """Return digest and chain after the line of a tick, without verifying it.

    Raises:
        JournalError: if there is no such line, or it cannot be read.
    """
    if stored is None:
        raise JournalError(f"tick {tick}: the journal has no line for it")
    try:
        chain, body = unpack_line(stored)
        return typed_json.decode(body, JournalLine).digest, chain
    except ValueError as error:
        raise JournalError(f"tick {tick}: the journal cannot be read: {error}") from error


def verified(stored: bytes, chain: str) -> tuple[str, bytes]:
    """Return the chain after a stored line, and its JSON, given the chain before it."""
    written, body = unpack_line(stored)
    now = next_chain(chain, body)
    if written != now:
        raise JournalError(f"the journal was changed: chain {now} where {written[:40]!r} was written")
    return now, body


def write_line(core: Core, notes: TickNotes, digest: str, chain: str, version: int) -> tuple[bytes, str, str]:
    """Encode a tick; return the stored line, which begins with the new chain, the new digest and the new chain."""
    raw = msgspec.json.encode(core)
    digest = next_digest(digest, raw)
    body = msgspec.json.encode(JournalLine(v=version, core=msgspec.Raw(raw), notes=notes, digest=digest))
    chain = next_chain(chain, body)
    return pack_line(chain, body), digest, chain


def _read_core(raw: bytes) -> Core:
    """Decode a core; stand-ins replace the unreadable entries of kinds (`memory.unreadable`).

    Raises:
        msgspec.DecodeError: if anything else in it is unreadable.
    """
    try:
        return _CORE.decode(raw)
    except msgspec.ValidationError:
        tree = typed_json.decode(raw)
    stand_ins: dict[tuple[str, int, int], Effect] = {}
    for part in ("ended", "late"):
        for i, ended in enumerate(tree.get(part, ())):
            for j, effect in enumerate(ended.get("effects", ())):
                try:
                    typed_json.convert(effect, Effect)
                except msgspec.ValidationError as error:
                    stand_ins[part, i, j] = _as_it_is(effect, error)
                    ended["effects"][j] = _STAND_IN
    core = _CORE.decode(msgspec.json.encode(tree))
    for (part, i, j), effect in stand_ins.items():
        ends = list(getattr(core, part))
        effects = list(ends[i].effects)
        effects[j] = effect
        ends[i] = msgspec.structs.replace(ends[i], effects=tuple(effects))
        core = msgspec.structs.replace(core, **{part: tuple(ends)})
    return core


def _as_it_is(effect: Any, error: msgspec.ValidationError) -> Effect:
    if not isinstance(effect, dict) or effect.get("type") != _APPEND:
        return effect_as_it_is(effect, error)
    read = typed_json.convert(effect | {"entry": {"type": "observation", "text": "", "minute": 0}}, Append)
    return msgspec.structs.replace(read, entry=as_it_is(effect.get("entry"), error))


def wrong_version(found: int) -> str:
    """Return a predicate that explains a foreign schema of a line or checkpoint, and names a remedy."""
    remedy = "upgrade Cogitate" if found > SCHEMA else "read it with the version that wrote it"
    return f"has schema {found}, this version reads only {SCHEMA}: {remedy}"


class ReadLine(msgspec.Struct, frozen=True):
    """One verified tick of the journal."""

    core: Core
    notes: TickNotes
    digest: str
    chain: str

    @property
    def ends(self) -> list[tuple[Ended, EndNote]]:
        """Return the ends of jobs and then the late answers, each with its note."""
        return [*zip(self.core.ended, self.notes.ended, strict=True), *self.later_ends]

    @property
    def later_ends(self) -> list[tuple[Ended, EndNote]]:
        """Return the late answers, each with its note."""
        return list(zip(self.core.late, self.notes.late, strict=True))


def read_line(stored: bytes, tick: int, digest: str, chain: str) -> ReadLine:
    """Verify and decode the line of `tick`, given digest and chain before it."""
    try:
        now, body = verified(stored, chain)
    except JournalError as error:
        raise JournalError(f"tick {tick}: {error}") from error
    try:
        version = _VERSION.decode(body).v
        if version != SCHEMA:
            raise JournalError(f"tick {tick}: its line {wrong_version(version)}")
        line = _LINE.decode(body)
        core = _read_core(bytes(line.core))
    except msgspec.DecodeError as error:
        raise JournalError(f"tick {tick}: the journal cannot be read: {error}") from error
    expected = next_digest(digest, bytes(line.core))
    if line.digest != expected or core.tick != tick:
        raise JournalError(
            f"tick {tick}: digest {line.digest} of tick {core.tick} does not follow; expected {expected}"
        )
    for part in ("ended", "late"):
        jobs, notes = len(getattr(core, part)), len(getattr(line.notes, part))
        if jobs != notes:
            raise JournalError(f"tick {tick}: {part} has {jobs} jobs and {notes} notes; each job needs one note")
    return ReadLine(core, line.notes, line.digest, now)
