"""Handle usage that becomes known late: correct admission's view, and journal the usage of earlier attempts.

A job that ends without a result (late, dead, cancelled) counts its full reservation, because the cost of its attempts
may still be unknown. The ledger reports the cost once it is known (`lua/corrections.lua`): zero for an unclaimed job,
otherwise the usage of the newest attempt. The next boundary corrects the view and journals the correction in the tick's
line; the step that commits the tick removes it from the ledger. So each correction is applied once, and at the same
tick after a resume and in a replay. A cost that stays unknown counts in full; the host remembers the newest `MOST`
jobs.

If boundaries wait for results, no decision may depend on how far workers were with a cancelled job. So it continues to
count in full, and its correction only reports the spending. A fork counts as its source did, whether or not either
waits.

The retry pool pays for attempts before a job's newest one (`cogitate.scheduler.budget.budget`), so their usage affects
no decision; the journal records it to charge owners, kinds and days. The ledger notes it when such an attempt settles,
or when a newer attempt follows a settled one (`lua/retries.lua`), and reports it until a tick has journalled it: with
the job's end or, if the job has already ended, at the next boundary.

Keys under the run's prefix:
    charged      hash  job key -> `Charged`, JSON
    corrections  hash  job key -> its final usage
    retries      hash  token -> a job and the usage of this attempt
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
    kept: bool = False  # it continues to count in full, whatever its usage


class Learned(NamedTuple):
    """The final usage of an ended job that admission counts in full."""

    key: JobKey
    usage: Cost  # of its newest attempt; zero if there was none
    saved: bool  # the job spent nothing: the usage is that of an identical call
    at: int  # last committed tick when the usage became known
    kept: bool | None = None  # in a fork: whether its source continues to count the job in full
    inputs: str = ""  # hash of everything that the attempt depended on


class _Usage(msgspec.Struct):
    """The fields of `Learned` as the ledger stores them."""

    usage: tuple[int, int, int]
    at: int
    saved: bool
    kept: bool | None = None
    inputs: str = ""


_USAGE = typed_json.decoder(_Usage)


class Corrections(Part):
    """Tracks the ended jobs of a run that count in full, and applies their corrections."""

    hashes = ("charged", "unsettled", "corrections")

    def __init__(self) -> None:
        self._jobs = JobRecords[Charged]()
        self._taken: set[JobKey] = set()  # corrections to remove from the ledger

    @property
    def charged(self) -> Mapping[JobKey, Charged]:
        """Return the jobs that count in full."""
        return self._jobs.records

    # -- a tick --------------------------------------------------------------------------------------

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Remember the job if it ends without a result."""
        self.charge(closing, item, tick.number, waits=tick.run.rules.waits)

    def begin(self, tick: TickState) -> None:
        """Apply the corrections that the ledger reports."""
        learned = read_learned(tick.boundary.shown.get("corrections", ()), tick.run.unreadable)
        tick.notes["corrected"] = self.take(learned, tick.run.view)

    def end(self, tick: TickState) -> None:
        """Forget all but the newest jobs."""
        self.forget(tick.number)

    def charge(self, closing: Closing, item: OpenJob, tick: int, *, waits: bool) -> None:
        """Remember a job that ends at `tick` if it counts in full.

        Args:
            waits: whether boundaries wait for results.
        """
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
        """Correct the view with the usage that has become known, in the order of the jobs' keys."""
        corrections = []
        for late in sorted(learned, key=lambda late: late.key):
            self._taken.add(late.key)
            job = self.charged.get(late.key)
            if job is None:
                continue  # forgotten, because more than `MOST` jobs counted in full
            self._jobs.drop(late.key)
            kept = job.kept if late.kept is None else late.kept
            if not kept:
                view.correct(job.cells, job.reserved, late.usage)
            corrections.append(
                Correction(key=late.key, usage=late.usage, saved=late.saved, at=late.at, kept=kept, inputs=late.inputs)
            )
        return tuple(corrections)

    def forget(self, tick: int) -> None:
        """Forget all but the newest `MOST` jobs."""
        if len(self.charged) > MOST:
            for key in oldest({key: job.ended for key, job in self.charged.items()}, tick):
                self._jobs.drop(key)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_records(self) -> Records:
        """Return the jobs that count in full since the last call, in the form that the ledger stores."""
        return Records("charged", self._jobs.take_records())

    def take_writes(self) -> list[Write]:
        """Return the commands that remove corrected and forgotten jobs, and corrections that were applied."""
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
        """Return the faults in the records of jobs that count in full, and of their usage."""
        charged, unsettled, corrections = (run.hashes[name] for name in cls.hashes)
        faults = []
        if charged.keys() != run.charged.keys():
            faults.append(
                "the ended jobs that count in full differ from the journal's: "
                f"{sorted(charged.keys() ^ run.charged.keys())[:5]}"
            )
        for key, raw in sorted(charged.items()):
            kept = typed_json.decode(raw, Charged)
            journalled = run.charged.get(key)
            if journalled is not None and (kept.ended, kept.reserved, kept.cells) != (
                journalled.ended,
                journalled.note.reserved,
                journalled.note.cells,
            ):
                faults.append(
                    f"job {key}: counts as {kept.reserved} since tick {kept.ended}, but as {journalled} by the journal"
                )
            # The deletion of a day's window also deletes the attempts whose usage never arrived.
            known = key in unsettled or key in corrections
            if not known and all(c.window in run.windows for c in kept.cells if c.period == "day"):
                faults.append(f"job {key}: counts in full, but no attempt or correction will report its usage")
        for key, raw in sorted(unsettled.items()):
            if run.attempts.get(raw.decode()) != key:
                faults.append(
                    f"job {key}: is to be corrected by {raw.decode()}, which is not one of its unsettled attempts"
                )
            if key not in charged:
                faults.append(f"job {key}: is to be corrected, but does not count in full")
        flat = [part for key, raw in sorted(corrections.items()) for part in (key.encode(), raw)]
        read = {known.key.text(): known for known in read_learned(flat, [])}
        for key in sorted(corrections):
            if key not in read:
                faults.append(f"job {key}: its correction cannot be read")
            elif key in run.open or read[key].at > run.tick:
                faults.append(f"job {key}: has a correction before its end")
        return faults


def read_learned(raw: Sequence[bytes], unreadable: list[Unreadable]) -> list[Learned]:
    """Return the final usage of ended jobs that the ledger reports. A job whose usage is unreadable counts in full."""

    def read(job: str, value: bytes) -> Learned:
        known = _USAGE.decode(value)
        return Learned(JobKey.parse(job), Cost(*known.usage), known.saved, known.at, known.kept, known.inputs)

    return read_shown(raw, "the usage of an ended job", read, unreadable)


class RetriedAttempt(NamedTuple):
    """The usage of an attempt that is not the newest of its job."""

    token: str
    key: JobKey
    used: Cost


class _Retry(msgspec.Struct):
    """The fields of `RetriedAttempt` as the ledger stores them."""

    job: str
    used: tuple[int, int, int]


_RETRY = typed_json.decoder(_Retry)


class Retries(Part):
    """Journals the usage of earlier attempts that the ledger reports."""

    def __init__(self) -> None:
        self._shown: list[RetriedAttempt] = []  # reported at the boundary of this tick
        self._journalled: list[str] = []  # tokens

    def begin(self, tick: TickState) -> None:
        """Read the usage that the ledger reports."""
        self._shown = read_retries(tick.boundary.shown.get("retries", ()), tick.run.unreadable)

    def end(self, tick: TickState) -> None:
        """Journal the usage: with the ends of its jobs, or on its own for jobs that ended earlier."""
        shown, notes = self._shown, (closing.note for closing in tick.closings)
        tick.notes["ended"] = self.close(shown, notes)
        tick.notes["retried"] = self.rest(shown, tick.run.open, tick.closed)

    def close(self, shown: Iterable[RetriedAttempt], notes: Iterable[EndNote]) -> tuple[EndNote, ...]:
        """Return the notes of ending jobs, each with the usage of its earlier attempts."""
        by_key = {note.key: note for note in notes}
        for retry in shown:
            note = by_key.get(retry.key)
            if note is not None:
                by_key[retry.key] = msgspec.structs.replace(note, retried=added(note.retried, retry.used))
                self._journalled.append(retry.token)
        return tuple(by_key.values())

    def rest(self, shown: Iterable[RetriedAttempt], *current: Collection[JobKey]) -> tuple[Retried, ...]:
        """Return the usage of jobs that ended earlier.

        Args:
            current: keys of open jobs and of jobs that end with this tick.
        """
        late = [retry for retry in shown if not any(retry.key in keys for keys in current)]
        self._journalled += [retry.token for retry in late]
        return tuple(Retried(retry.key, retry.used) for retry in late)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        gone, self._journalled = sorted(self._journalled), []
        return chunked("HDEL", "retries", gone)


def read_retries(raw: Sequence[bytes], unreadable: list[Unreadable]) -> list[RetriedAttempt]:
    """Return the usage of earlier attempts that the ledger reports, in order."""

    def read(token: str, value: bytes) -> RetriedAttempt:
        known = _RETRY.decode(value)
        return RetriedAttempt(token, JobKey.parse(known.job), Cost(*known.used))

    return sorted(read_shown(raw, "the usage of an earlier attempt", read, unreadable))
