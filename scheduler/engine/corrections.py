"""Usage that becomes known late: corrections of admission's view, and the usage of earlier attempts.

A job that ends without a result (late, dead, cancelled) counts its full reservation, since the cost of its attempts may
not be known yet. The ledger reports the cost when it is known (`lua/corrections.lua`): nothing for an unclaimed job,
otherwise the usage of the newest attempt. The next boundary moves the view, the tick's line says so, and the step that
commits it removes the correction: each is applied once, at the same tick on resume and in a replay. A cost that never
becomes known stays counted in full; the host keeps the newest `MOST` jobs.

Where boundaries wait for results, nothing may depend on how far workers were with a cancelled job: it keeps counting in
full, and its correction reports only the spending. A fork counts as its source did, however long either waits.

The retry pool carries the usage of attempts before a job's newest one (`cogitate.scheduler.budget.budget`), so it
decides nothing; it is journalled so that owners, kinds and days are charged. The ledger notes it when such an attempt
settles, or when a newer one follows a settled one (`lua/retries.lua`), and shows it until a tick has journalled it:
with the job's end or, if the job has ended, at the next boundary.

Keys under the run's prefix:
    charged      hash  job key -> `Charged`, JSON
    corrections  hash  job key -> its final usage
    retries      hash  token -> a job and what it used
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.open_jobs import OpenJob, reservation
from cogitate.scheduler.engine.part import AuditedRun, JobRecords, Part, TickState
from cogitate.scheduler.journal.lines import Correction, EndNote, Retried
from cogitate.scheduler.journal.run_totals import MOST, WITHOUT_RESULT, oldest
from cogitate.scheduler.ledger.ledger import Records, Value, Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import Unreadable, read_shown
from cogitate.scheduler.ledger.streams import chunked
from cogitate.tasks.job import Cost, JobKey, added


class Charged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An ended job that admission counts in full."""

    ended: int  # tick of its end
    due: int
    reserved: Cost
    cells: tuple[Cell, ...]
    model: str = ""
    kept: bool = False  # it keeps counting in full, whatever its usage


class Learned(NamedTuple):
    """The final usage of an ended job that admission counts in full."""

    key: JobKey
    usage: Cost  # of its newest attempt; nothing if there was none
    saved: bool  # nothing was spent: the usage is that of an identical call
    at: int  # tick that was committed when it became known
    kept: bool | None = None  # in a fork: whether its source continues to count the job in full
    inputs: str = ""  # hash of all that the attempt depended on


class _Usage(msgspec.Struct):
    """The same, as the ledger keeps it."""

    usage: tuple[int, int, int]
    at: int
    saved: bool
    kept: bool | None = None
    inputs: str = ""


_USAGE = typed_json.decoder(_Usage)


class Corrections(Part):
    """The jobs of a run that count in full, and the corrections of them."""

    hashes = ("charged", "unsettled", "corrections")

    def __init__(self) -> None:
        self._jobs = JobRecords[Charged]()
        self._taken: set[JobKey] = set()  # corrections to be removed

    @property
    def charged(self) -> Mapping[JobKey, Charged]:
        """The jobs that count in full."""
        return self._jobs.records

    # -- a tick --------------------------------------------------------------------------------------

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Remember a job that ends without a result."""
        self.charge(closing, item, tick.number, waits=tick.run.rules.waits)

    def begin(self, tick: TickState) -> None:
        """Correct the view by the costs that have become known."""
        learned = read_learned(tick.boundary.shown.get("corrections", ()), tick.run.unreadable)
        tick.notes["corrected"] = self.take(learned, tick.run.view)

    def end(self, tick: TickState) -> None:
        """Remember the newest jobs only."""
        self.forget(tick.number)

    def charge(self, closing: Closing, item: OpenJob, tick: int, *, waits: bool) -> None:
        """Remember a job that ends at `tick`, if it counts in full."""
        reason = closing.ended.reason
        if reason not in WITHOUT_RESULT or reservation(item) == Cost():
            return
        charged = Charged(
            ended=tick,
            due=item.job.due,
            reserved=item.job.reserved,
            cells=item.cells,
            model=item.job.model,
            kept=reason == "cancelled" and waits,
        )
        self._jobs.remember(item.job.key, charged)

    def take(self, learned: Iterable[Learned], view: BudgetView) -> tuple[Correction, ...]:
        """Correct the view by the costs that have become known, in the order of the jobs' keys."""
        corrections = []
        for known in sorted(learned, key=lambda known: known.key):
            self._taken.add(known.key)
            job = self.charged.get(known.key)
            if job is None:
                continue  # one of too many
            self._jobs.drop(known.key)
            kept = job.kept if known.kept is None else known.kept
            if not kept:
                view.correct(job.cells, job.reserved, known.usage)
            corrections.append(
                Correction(
                    key=known.key, usage=known.usage, saved=known.saved, at=known.at, kept=kept, inputs=known.inputs
                )
            )
        return tuple(corrections)

    def forget(self, tick: int) -> None:
        """Remember the newest jobs only."""
        if len(self.charged) > MOST:
            for key in oldest({key: job.ended for key, job in self.charged.items()}, tick):
                self._jobs.drop(key)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_records(self) -> Records:
        """Return the jobs that count in full since the last call, as the ledger keeps them."""
        return Records("charged", self._jobs.take_records())

    def take_writes(self) -> list[Write]:
        """Return the commands that remove jobs that are known or forgotten, and corrections that were taken."""
        gone = self._jobs.take_gone()
        taken: list[Value] = [key.text() for key in sorted(self._taken)]
        self._taken = set()
        writes = [*chunked("HDEL", "charged", gone), *chunked("HDEL", "unsettled", gone)]
        return [*writes, *chunked("HDEL", "corrections", taken)]

    def load(self, store: RunStore) -> None:
        kept = store.mapping("charged")
        self._jobs.records = {
            JobKey.parse(key.decode()): typed_json.decode(raw, Charged) for key, raw in sorted(kept.items())
        }

    @classmethod
    def audit(cls, run: AuditedRun) -> list[str]:
        """Return what is wrong with the jobs that count in full, and with what the ledger knows of their usage."""
        charged, unsettled, corrections = (run.hashes[name] for name in cls.hashes)
        found = []
        if charged.keys() != run.charged.keys():
            found.append(
                "the ended jobs that count in full differ from the journal's: "
                f"{sorted(charged.keys() ^ run.charged.keys())[:5]}"
            )
        for key, raw in sorted(charged.items()):
            kept = typed_json.decode(raw, Charged)
            said = run.charged.get(key)
            if said is not None and (kept.ended, kept.reserved, kept.cells) != (
                said.ended,
                said.note.reserved,
                said.note.cells,
            ):
                found.append(
                    f"job {key}: counts as {kept.reserved} since tick {kept.ended}, but as {said} by the journal"
                )
            # When a day's window is deleted, so are the attempts whose usage never arrived.
            known = key in unsettled or key in corrections
            if not known and all(c.window in run.windows for c in kept.cells if c.period == "day"):
                found.append(f"job {key}: counts in full, but no attempt or correction will report its usage")
        for key, raw in sorted(unsettled.items()):
            if run.attempts.get(raw.decode()) != key:
                found.append(
                    f"job {key}: is to be corrected by {raw.decode()}, which is not one of its unsettled attempts"
                )
            if key not in charged:
                found.append(f"job {key}: is to be corrected, but does not count in full")
        flat = [part for key, raw in sorted(corrections.items()) for part in (key.encode(), raw)]
        read = {known.key.text(): known for known in read_learned(flat, [])}
        for key in sorted(corrections):
            if key not in read:
                found.append(f"job {key}: its correction cannot be read")
            elif key in run.open or read[key].at > run.tick:
                found.append(f"job {key}: has a correction before its end")
        return found


def read_learned(raw: Sequence[bytes], unreadable: list[Unreadable]) -> list[Learned]:
    """Return the final usage of ended jobs, as shown by the ledger. A job with an unreadable one counts in full."""

    def read(job: str, value: bytes) -> Learned:
        known = _USAGE.decode(value)
        return Learned(JobKey.parse(job), Cost(*known.usage), known.saved, known.at, known.kept, known.inputs)

    return read_shown(raw, "the usage of an ended job", read, unreadable)


class RetriedAttempt(NamedTuple):
    """The usage of an attempt that a newer one of its job has superseded."""

    token: str
    key: JobKey
    used: Cost


class _Retry(msgspec.Struct):
    """The same, as the ledger keeps it."""

    job: str
    used: tuple[int, int, int]


_RETRY = typed_json.decoder(_Retry)


class Retries(Part):
    """The usage that the ledger has shown and no tick has journalled yet."""

    def __init__(self) -> None:
        self._shown: list[RetriedAttempt] = []  # at the boundary of this tick
        self._journalled: list[str] = []  # tokens

    def begin(self, tick: TickState) -> None:
        """Read the usage that the ledger shows."""
        self._shown = read_retries(tick.boundary.shown.get("retries", ()), tick.run.unreadable)

    def end(self, tick: TickState) -> None:
        """Journal the usage that the ledger shows: with the ends of its jobs, or, of jobs that ended before, itself."""
        shown, notes = self._shown, (closing.note for closing in tick.closings)
        tick.notes["ended"] = self.close(shown, notes)
        tick.notes["retried"] = self.rest(shown, tick.run.open, tick.closed)

    def close(self, shown: Iterable[RetriedAttempt], notes: Iterable[EndNote]) -> tuple[EndNote, ...]:
        """Return the notes of jobs that end, each with the usage of its earlier attempts."""
        used = {note.key: note for note in notes}
        for retry in shown:
            note = used.get(retry.key)
            if note is not None:
                used[retry.key] = msgspec.structs.replace(note, retried=added(note.retried, retry.used))
                self._journalled.append(retry.token)
        return tuple(used.values())

    def rest(self, shown: Iterable[RetriedAttempt], *known: Collection[JobKey]) -> tuple[Retried, ...]:
        """Return the usage for jobs that had ended before, which are not among the known ones."""
        late = [retry for retry in shown if not any(retry.key in keys for keys in known)]
        self._journalled += [retry.token for retry in late]
        return tuple(Retried(retry.key, retry.used) for retry in late)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        gone, self._journalled = sorted(self._journalled), []
        return chunked("HDEL", "retries", gone)


def read_retries(raw: Sequence[bytes], unreadable: list[Unreadable]) -> list[RetriedAttempt]:
    """Return the usage of earlier attempts, as shown by the ledger, in order."""

    def read(token: str, value: bytes) -> RetriedAttempt:
        known = _RETRY.decode(value)
        return RetriedAttempt(token, JobKey.parse(known.job), Cost(*known.used))

    return sorted(read_shown(raw, "the usage of an earlier attempt", read, unreadable))
