"""An owner's memory stream in process: a cache of what Redis holds, readable as of any tick.

Only `cogitate.memory.apply` and the tick loop change a stream. It records each change for the ledger, which writes
exactly these records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from cogitate.memory.entry import (
    ENTRY_TYPES,
    OBSERVED_TYPES,
    UNRATED,
    Archived,
    Entry,
    EntryType,
    Head,
    Marks,
    PlanItem,
    PlanStatus,
    as_known,
    is_dialogue,
    shared,
)
from cogitate.memory.seal import Seal

_encode = msgspec.json.Encoder().encode


class OlderChanges(msgspec.Struct, gc=False):
    """Numbers of entries whose archive record, marks or rating changed after the tick that appended them."""

    archived: list[int] = msgspec.field(default_factory=list)  # including entries appended in the same tick
    marked: set[int] = msgspec.field(default_factory=set)  # likewise
    rated: set[int] = msgspec.field(default_factory=set)
    deleted: list[int] = msgspec.field(default_factory=list)
    deleted_into: list[int] = msgspec.field(default_factory=list)  # entries whose archive target is deleted
    deleted_marks: list[int] = msgspec.field(default_factory=list)  # entries whose marks are deleted


class Changes(msgspec.Struct, frozen=True, gc=False):
    """What changed in a stream since the last `Stream.take_changes`."""

    appended: Mapping[int, bytes]  # number -> JSON of the entry
    head: bytes  # its JSON; empty: unchanged
    older: OlderChanges | None  # None after nearly all observations

    def __bool__(self) -> bool:
        return bool(self.appended or self.head or self.older)


class Stream:
    """Entries by number in ascending order, archive records, marks and the head of one owner."""

    def __init__(
        self,
        owner: str,
        *,
        entries: Iterable[Entry] = (),
        archived: dict[int, Archived] | None = None,
        marks: dict[int, Marks] | None = None,
        head: Head | None = None,
    ) -> None:
        self.owner = owner
        self.entries: dict[int, Entry] = {e.number: shared(e) for e in sorted(entries, key=lambda e: e.number)}
        self.archived: dict[int, Archived] = dict(archived or {})
        self.marks: dict[int, Marks] = dict(marks or {})
        self.head = head or Head()
        self._appended: dict[int, bytes] = _NONE  # new entries, and their JSON once there is a seal
        self._older: OlderChanges | None = None
        self._head_changed = False
        self._head = b""  # its JSON; empty: outdated
        self._changed: set[str] | None = None
        self._vacant = 0  # slots that deleted entries leave in the dicts
        self._live: dict[int, Entry] = {n: e for n, e in self.entries.items() if n not in self.archived}
        self._counts: dict[EntryType, int] = {}
        for entry in self._live.values():
            self._counts[entry.type] = self._counts.get(entry.type, 0) + 1
        self._observed = sum(self._counts.get(name, 0) for name in OBSERVED_TYPES)  # live entries under their limit
        self._unrated = {n for n, e in self._live.items() if e.importance == UNRATED}
        self._provisional = {n for n, e in self._live.items() if e.provisional}
        self._lines = {n: e.minute for n, e in self._live.items() if is_dialogue(e)}
        self._oldest_line: int | None = None  # game time; None: unknown, or no line
        self._seal: Seal | None = None  # maintained once requested

    # -- reading ---------------------------------------------------------------------------------

    def live(self, *types: EntryType) -> list[Entry]:
        """Return live entries in order of number, of all types unless some are named."""
        if not types:
            return list(self._live.values())
        return [e for e in self._live.values() if e.type in types]

    def newest(self) -> Iterator[Entry]:
        """Yield live entries, the highest number first, without a copy."""
        return reversed(self._live.values())

    def is_live(self, number: int) -> bool:
        """Return whether the entry exists and is not archived."""
        return number in self._live

    def count(self, *types: EntryType) -> int:
        """Return the number of live entries of these types (all types unless some are named)."""
        if not types:
            return len(self._live)
        total = 0
        for name in types:  # sum() of a generator takes twice as long, and kinds call this for every observation
            total += self._counts.get(name, 0)
        return total

    def observed(self) -> int:
        """Return the number of live entries that count against the limit of observations."""
        return self._observed

    def as_of(self, upto: int, tick: int) -> list[Entry]:
        """Return the entries numbered up to `upto` that were live at the end of `tick`, in order of number."""
        return list(self._iter_as_of(upto, tick))

    def _iter_as_of(self, upto: int, tick: int) -> Iterator[Entry]:
        for number, entry in self.entries.items():
            if number > upto:
                return
            record = self.archived.get(number)
            if record is None or record.tick > tick:
                yield as_known(entry, tick)

    def between(self, start: int, end: int) -> list[Entry]:
        """Return live entries whose game time is in [start, end), in order of number."""
        return [e for e in self._live.values() if start <= e.minute < end]

    def about(self, subject: str) -> list[Entry]:
        """Return live entries that involve this owner or name, in order of number."""
        return [e for e in self._live.values() if subject in e.subjects]

    def stats(self) -> dict[str, int]:
        """Return the numbers of live entries by type, and of archived, unrated and provisional entries."""
        return {
            **{name: self.count(name) for name in ENTRY_TYPES},
            "archived": len(self.archived),
            "unrated": len(self._unrated),
            "provisional": len(self._provisional),
        }

    def is_unrated(self, number: int) -> bool:
        """Return whether the entry is live and unrated."""
        return number in self._unrated

    def unrated(self) -> list[int]:
        """Return the numbers of live unrated entries, ascending."""
        return sorted(self._unrated)

    def provisional(self) -> list[Entry]:
        """Return live entries that a heuristic wrote because budget, time or model failed, in order of number."""
        return [self._live[number] for number in sorted(self._provisional)]

    def is_provisional(self, number: int) -> bool:
        """Return whether the entry is live and a heuristic wrote it in place of a model."""
        return number in self._provisional

    def oldest_line(self) -> int | None:
        """Return the game time of the oldest live line of a conversation; None without a line."""
        if self._oldest_line is None:
            self._oldest_line = min(self._lines.values(), default=None)
        return self._oldest_line

    def latest(self, entry_type: EntryType) -> Entry | None:
        """Return the live entry of this type with the highest number."""
        if not self._counts.get(entry_type):
            return None
        for entry in self.newest():
            if entry.type == entry_type:
                return entry
        return None

    def current_plan(self, minute: int) -> Entry | None:
        """Return the newest live plan if it is still valid at game time `minute`."""
        plan = self.latest("plan")
        return plan if plan is not None and plan.valid_until > minute else None

    def plan_items(self, plan: Entry) -> list[PlanItem]:
        """Return the items of a plan with their current status."""
        status = self.head.plan_status
        return [
            msgspec.structs.replace(item, status=status[item.id]) if item.id in status else item for item in plan.items
        ]

    def seal(self) -> str:
        """Return the seal of what the stream holds (`cogitate.memory.seal`)."""
        if self._seal is None:
            self._seal = Seal()
            for number, entry in self.entries.items():
                written = self._seal.entry(entry, 1)
                if number in self._appended:
                    self._appended[number] = written
            for number, record in self.archived.items():
                self._seal.archived(number, record, 1)
            for number, marks in self.marks.items():
                self._seal.marks(number, marks, 1)
        return self._seal.text(self._head_written())

    # -- changing (tick loop and cogitate.memory.apply only) ------------------------------------------------

    @property
    def new(self) -> Collection[int]:
        """The numbers of the entries that were appended since `take_changes`, live or not."""
        return self._appended.keys()

    @property
    def newly_archived(self) -> Sequence[int]:
        """The numbers of the entries that were archived since `take_changes`."""
        return self._older.archived if self._older is not None else ()

    def _note(self) -> OlderChanges:
        """Return the record of changes to older entries, for the caller to add to."""
        if self._older is None:
            self._older = OlderChanges()
            self._report()
        return self._older

    def note_head(self) -> None:
        """Record that the head has changed."""
        self._head = b""
        if not self._head_changed:
            self._head_changed = True
            self._report()

    def _report(self) -> None:
        if self._changed is not None:
            self._changed.add(self.owner)

    def _head_written(self) -> bytes:
        if not self._head:
            self._head = _encode(self.head)
        return self._head

    def report_to(self, changed: set[str]) -> None:
        """Add the owner's name to a set whenever the stream changes; at once if changes are pending."""
        self._changed = changed
        if self._appended or self._older is not None or self._head_changed:
            changed.add(self.owner)

    def append(self, entry: Entry, tick: int) -> Entry:
        """Number the entry and append it."""
        number = self.head.last_number + 1
        entry = shared(entry, number=number, tick=tick, rated=0)
        self.entries[number] = entry
        self._live[number] = entry
        self._counts[entry.type] = self._counts.get(entry.type, 0) + 1
        self._observed += entry.type in OBSERVED_TYPES
        if entry.importance == UNRATED:
            self._unrated.add(number)
        if entry.provisional:
            self._provisional.add(number)
        if is_dialogue(entry):
            self._lines[number] = entry.minute
            if self._oldest_line is not None:
                self._oldest_line = min(self._oldest_line, entry.minute)
        self.head.last_number = number
        if self._appended is _NONE:
            self._appended = {}
        self._appended[number] = b"" if self._seal is None else self._seal.entry(entry, 1)
        self.note_head()
        return entry

    def archive(self, number: int, tick: int, into: int = 0) -> None:
        """Archive a live entry (soft delete, with the tick that did it)."""
        entry = self._live.pop(number)
        self._counts[entry.type] -= 1
        self._observed -= entry.type in OBSERVED_TYPES
        self._unrated.discard(number)
        self._provisional.discard(number)
        if self._lines.pop(number, None) == self._oldest_line:
            self._oldest_line = None
        record = next(reversed(self.archived.values()), None)  # entries archived together share one record
        if record is None or record.tick != tick or record.into != into:
            record = Archived(tick, into)
        self.archived[entry.number] = record  # not the effect's equal number: the entry's own is in memory
        if self._seal is not None:
            self._seal.archived(entry.number, record, 1)
        self._note().archived.append(entry.number)
        for item in entry.items:
            if self.head.plan_status.pop(item.id, None) is not None:
                self.note_head()

    def wait(self, entry: Entry) -> None:
        """Queue an entry in the head."""
        self.head.waiting.append(entry)
        self.note_head()

    def take_waiting(self, count: int, tick: int) -> None:
        """Append the oldest entries that wait in the head."""
        taken, self.head.waiting = self.head.waiting[:count], self.head.waiting[count:]
        for entry in taken:
            self.append(entry, tick)

    def forget_waiting(self, start: int, count: int) -> None:
        """Drop entries that wait in the head."""
        del self.head.waiting[start : start + count]
        self.note_head()

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete archived entries permanently (after their retention, when no open job may read them)."""
        for number in numbers:
            record, marks = self.archived.pop(number), self.marks.pop(number, None)
            if record.into:
                self._note().deleted_into.append(number)
            if marks is not None:
                self._note().deleted_marks.append(number)
            entry = self.entries.pop(number)
            if self._seal is not None:
                self._seal.entry(entry, -1)
                self._seal.archived(number, record, -1)
                if marks is not None:
                    self._seal.marks(number, marks, -1)
            self._note().deleted.append(number)
            self._vacant += 1
        # A dict never shrinks after deletions; a copy takes half the memory.
        if self._vacant > len(self.entries) // 4:
            self.entries, self.archived, self.marks = dict(self.entries), dict(self.archived), dict(self.marks)
            self._live = dict(self._live)
            self._vacant = 0

    def forget_target(self, number: int) -> None:
        """Clear the archive target of an entry, since that target is about to be deleted."""
        before = self.archived[number]
        self.archived[number] = Archived(before.tick)
        if self._seal is not None:
            self._seal.archived(number, before, -1)
            self._seal.archived(number, self.archived[number], 1)
        self._note().deleted_into.append(number)

    def mark(self, number: int, marks: Marks) -> None:
        """Replace the marks of an entry."""
        before = self.marks.get(number)
        self.marks[number] = marks
        if self._seal is not None:
            if before is not None:
                self._seal.marks(number, before, -1)
            self._seal.marks(number, marks, 1)
        self._note().marked.add(number)

    def forget_marks(self, number: int) -> None:
        """Remove the marks of an entry."""
        before = self.marks.pop(number)
        changes = self._note()
        changes.marked.discard(number)
        changes.deleted_marks.append(number)
        if self._seal is not None:
            self._seal.marks(number, before, -1)

    def rate(self, number: int, importance: int, tick: int) -> None:
        """Give an unrated entry its rating, from this tick on."""
        before = self.entries[number]
        entry = msgspec.structs.replace(before, importance=importance, rated=tick)
        self.entries[number] = entry
        written = b""
        if self._seal is not None:
            self._seal.entry(before, -1)
            written = self._seal.entry(entry, 1)
        if number in self._live:
            self._live[number] = entry
        self._unrated.discard(number)
        if number in self._appended:
            self._appended[number] = written
        else:
            self._note().rated.add(number)

    def set_plan_status(self, item: str, status: PlanStatus) -> None:
        """Set the current status of a plan item."""
        self.head.plan_status[item] = status
        self.note_head()

    def set_counter(self, name: str, value: int) -> None:
        """Set a counter of the head."""
        if self.head.counters.get(name) != value:
            self.head.counters[name] = value
            self.note_head()

    def note_all(self) -> None:
        """Record everything as changed, so that a ledger without this stream receives all of it."""
        self._appended = {number: _encode(entry) for number, entry in self.entries.items()}
        self._older = OlderChanges(archived=sorted(self.archived), marked=set(self.marks))
        self.note_head()

    def take_changes(self) -> Changes:
        """Return the changes since the last call and start a new record; callers must not modify the result."""
        head = self._head_written() if self._head_changed else b""
        appended: Mapping[int, bytes] = self._appended
        if self._seal is None and appended:
            appended = {number: _encode(self.entries[number]) for number in appended if number in self.entries}
        taken = Changes(appended, head, self._older)
        self._appended, self._older, self._head_changed = _NONE, None, False
        return taken


_NONE: dict[int, bytes] = {}  # shared by all streams without new entries; never changed
