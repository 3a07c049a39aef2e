"""Planted bugs in a run itself: its steps, leases, memories, latencies, admission, digest and forks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import msgspec

import cogitate.memory.apply
import cogitate.scheduler.engine.boundary
import cogitate.scheduler.journal.history
import cogitate.scheduler.journal.lines
import cogitate.scheduler.tick.commit
import cogitate.scheduler.tick.following
import cogitate.scheduler.tick.source_outcomes
import cogitate.tasks.long_term
import cogitate.tasks.recount
from cogitate.memory import typed_json
from cogitate.memory.policies.window import buffer
from cogitate.memory.seal import Seal
from cogitate.scheduler.engine.admitting import Admitting
from cogitate.scheduler.engine.answer_times import AnswerTimes
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.retention import Retention
from cogitate.scheduler.journal.lines import Core, JournalLine, TickNotes, unpack_line
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.ledger import Commit, HostLedger
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import Advanced
from cogitate.scheduler.tick.commit import Committer
from cogitate.scheduler.tick.result_collector import Hints
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Case
from cogitate.tasks.shown import everything
from cogitate.tasks.summarise import Summarise
from tests.simulation.seeded.actors import current
from tests.simulation.seeded.cluster import Cluster

SHORT = 500  # tokens of a prompt that shows a part of a world's messages


@contextmanager
def usage_in_the_digest() -> Iterator[None]:
    """How many attempts there were is hashed, by whoever writes a line and by whoever reads it."""
    write, read = cogitate.scheduler.journal.lines.write_line, cogitate.scheduler.journal.lines.read_line
    digest = cogitate.scheduler.journal.lines.next_digest
    attempts = [0]

    def writing(core: Core, notes: TickNotes, *rest: Any) -> Any:
        attempts[0] = sum(note.attempts for note in notes.ended)
        return write(core, notes, *rest)

    def reading(stored: bytes, *rest: Any) -> Any:
        line = typed_json.decode(unpack_line(stored)[1], JournalLine)
        attempts[0] = sum(note.attempts for note in line.notes.ended)
        return read(stored, *rest)

    with (
        patch.object(cogitate.scheduler.tick.commit, "write_line", writing),
        patch.object(cogitate.scheduler.journal.history, "read_line", reading),
        patch.object(
            cogitate.scheduler.journal.lines, "next_digest", lambda before, core: digest(before, core + bytes(attempts))
        ),
    ):
        yield


def steps_by_two() -> AbstractContextManager[Any]:
    """A tick is written in two steps: first what it writes, then that it happened."""
    advance = HostLedger.advance

    def changed(self: HostLedger, commit: Commit, apply: Any, *before: Any) -> Advanced | None:
        with self.client.pipeline() as pipeline:
            for write in commit.writes:
                pipeline.execute_command(write.command, self.store.prefix + write.key, *write.args, *write.shared)
            pipeline.execute()
        return advance(self, replace(commit, writes=()), apply, *before)

    return patch.object(HostLedger, "advance", changed)


def preconditions_ignored() -> AbstractContextManager[Any]:
    """Effects are applied whatever they expect, as far as that can be done."""

    def apply(streams: Any, effects: Any, tick: int) -> Any:
        possible = [effect for effect in effects if cogitate.memory.apply.unmet(streams, (effect,)) is None]
        return cogitate.memory.apply.apply(streams, possible, tick)

    @contextmanager
    def changed() -> Iterator[None]:
        with (
            patch.object(cogitate.scheduler.engine.boundary, "unmet", lambda streams, effects: None),
            patch.object(cogitate.scheduler.engine.boundary, "apply", apply),
        ):
            yield

    return changed()


def deleted_early() -> AbstractContextManager[Any]:
    """Archived entries are deleted although open jobs may read them."""
    forget = Retention.forget
    return patch.object(
        Retention, "forget", lambda self, streams, facts, jobs, tick: forget(self, streams, facts, (), tick + 1)
    )


def retries_seen_by_admission() -> AbstractContextManager[Any]:
    """A job counts in admission's view with all of its attempts."""
    close = cogitate.scheduler.engine.boundary._close

    def changed(row: Any, *rest: Any) -> Closing:
        closing = close(row, *rest)
        one = closing.counts_as
        times = max(1, row.claims)
        return closing._replace(counts_as=Cost(one.calls * times, one.tokens * times, one.usd_micros * times))

    return patch.object(cogitate.scheduler.engine.boundary, "_close", changed)


def reservation_shrunk_at_settle() -> AbstractContextManager[Any]:
    """Admission sees what the ledger holds now, not what the journal says."""
    decide = Admitting._decide

    def changed(self: Admitting, *rest: Any, **more: Any) -> Any:
        actor = current()
        if actor is not None:
            client = actor.process._cluster.server.plain  # type: ignore[attr-defined]
            store = RunStore.open(client, self._state.run)
            for field in list(self._state.view.held):
                window, scope, unit = field.split("|")
                told = client.hmget(store.window_key(window), f"{scope}|{unit}|reserved", f"{scope}|{unit}|spent")
                self._state.view.held[field] = sum(int(amount or 0) for amount in told)
        return decide(self, *rest, **more)

    return patch.object(Admitting, "_decide", changed)


def leases_by_wall_clock() -> AbstractContextManager[Any]:
    """A lease is over when the machine's clock says so."""
    return patch.object(Cluster, "clock", Cluster.wall)


def hints_without_repeat() -> AbstractContextManager[Any]:
    """A hint counts as an attempt: after one of them nobody is told of the job again."""
    repeat = Hints.repeat

    def changed(self: Any, unclaimed: Any, now: float) -> Any:
        told = self.__dict__.setdefault("told", {})
        again = repeat(self, unclaimed, now)
        for key in again:
            told[key] = told.get(key, 0) + 1
        return [key for key in again if told[key] <= 1]

    return patch.object(Hints, "repeat", changed)


def latencies_forgotten() -> AbstractContextManager[Any]:
    """Who resumes a run knows nothing of its model's latencies."""
    return patch.object(Latencies, "load", lambda *known: None)


def guesses_unjournalled() -> AbstractContextManager[Any]:
    """A job that ends late counts as slow at once, and the journal has nothing of it."""
    learn = AnswerTimes._learn_overdue

    def changed(self: AnswerTimes, *facts: Any) -> tuple[()]:
        learn(self, *facts)
        return ()

    return patch.object(AnswerTimes, "_learn_overdue", changed)


def times_taken_again() -> AbstractContextManager[Any]:
    """What was learned of an answer's time stays in the ledger's list, and is learned at the next boundary too."""
    writes = Latencies.take_writes
    return patch.object(Latencies, "take_writes", lambda self: [one for one in writes(self) if one.command != "LTRIM"])


def replies_unread() -> AbstractContextManager[Any]:
    """A host takes a commit that is under way for one whose reply it has read."""

    def changed(self: Committer) -> tuple[()]:
        self._sent.clear()
        return ()

    return patch.object(Committer, "read_reply", changed)


@contextmanager
def unseen_entries_archived() -> Iterator[None]:
    """A summary's job archives all that it may read, whatever part of it the prompt showed.

    Prompts are short, since the world's few messages fit into a usual one.
    """
    talk, context = Summarise._passed, cogitate.tasks.long_term._passed
    with (
        patch.object(Summarise, "prompt_cap", SHORT),
        patch.object(Summarise, "_passed", lambda self, case, shown: talk(self, case, everything(self._group(case)))),
        patch.object(
            cogitate.tasks.long_term, "_passed", lambda case, shown: context(case, everything(buffer(case.entries)))
        ),
    ):
        yield


@contextmanager
def cursor_past_what_was_shown() -> Iterator[None]:
    """A scope's cursor passes every message of its job, whatever part of them the prompt showed.

    Prompts are short, since the world's few messages fit into a usual one.
    """
    recount = cogitate.tasks.recount
    passed = recount._passed

    def changed(case: Case, shown: Any) -> Any:
        return passed(case, everything(recount._material(case).messages))

    with patch.object(recount, "_passed", changed), patch.object(recount.Recount, "prompt_cap", SHORT):
        yield


def late_answers_not_repeated() -> AbstractContextManager[Any]:
    """A fork takes over no answer that came late in its source."""
    return patch.object(cogitate.scheduler.tick.following, "_offers", lambda line: iter(()))


def corrections_not_repeated() -> AbstractContextManager[Any]:
    """A fork counts jobs without a result in full, whatever its source has learned of their usage."""
    return patch.object(cogitate.scheduler.tick.following, "_corrections", lambda line: iter(()))


def fork_pays_again() -> AbstractContextManager[Any]:
    """A fork is charged for what its source paid."""
    result = cogitate.scheduler.tick.source_outcomes.result_of

    def changed(ended: Any, note: Any) -> Any:
        return msgspec.structs.replace(result(ended, note), saved=False)

    return patch.object(cogitate.scheduler.tick.source_outcomes, "result_of", changed)


def seals_that_only_grow() -> AbstractContextManager[Any]:
    """Marks that were replaced go on counting in the seal of their stream."""
    marks = Seal.marks
    return patch.object(Seal, "marks", lambda self, number, kept, sign: marks(self, number, kept, max(0, sign)))
