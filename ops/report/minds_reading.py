"""The answers to the served page of minds: one owner's memories, the writing of one, a search, what comes to mind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
from redis import Redis

from cogitate.hosting.terminal import visible
from cogitate.memory.clock import DAY, clock_in_force
from cogitate.memory.entry import Entry
from cogitate.memory.errors import quoted
from cogitate.ops.operator_requests import parse_job_id
from cogitate.ops.report.minds_page import ShownRun, entry_data, mind_data, minds_page, shown_run, writing_data
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.minds import Mind, Owner, Past, owners_of, read_minds, read_past, written_by
from cogitate.scheduler.inspection.stored_memory import StoredMemory, read_memory
from cogitate.scheduler.inspection.stored_run import kept_facts, tick_at
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.jobs.stored_texts import captured_of

PARTS = ("owner", "writing", "search", "recall", "past")
MOST_FOUND = 500  # memories that a search returns
RECALLED = 10  # memories that come to mind
KEPT = 2  # past moments that are kept: those of two runs side by side


class MindsReading:
    """Reads the minds of one server's runs. Thread-safe.

    Args:
        capture: the settings of the prompts that a run captured; None: show none.
    """

    def __init__(self, client: Redis, capture: Settings | None = None) -> None:
        self._client = client
        self._capture = capture
        self._read_past = lru_cache(maxsize=KEPT)(read_past)

    def page(self, run: str, runs: Sequence[str] = (), *, at: str = "", beside: str = "") -> str:
        """Return the page of a run.

        Args:
            runs: the runs to choose from.
            at: the time of the memories, as in `tick_at`; "": now.
            beside: a second run; "": none.

        Raises:
            RunMissing: if a run does not exist, as for each answer.
            InputError: if `at` names no time that it has reached.
        """
        return minds_page([self._shown(one, at) for one in (run, beside) if one], at=at, runs=runs)

    def _shown(self, run: str, at: str) -> ShownRun:
        store = RunStore.open(self._client, run)
        facts, past = kept_facts(store), self._past_of(store, at)
        tick = store.tick() if past is None else past.tick
        with facts.clock.in_force():
            return shown_run(run, tick, facts.minute(tick), trimmed_tick(store), owners_of(store, past))

    def _past_of(self, store: RunStore, at: str) -> Past | None:
        return self._read_past(store, tick_at(store, at)) if at else None

    def answer(self, part: str, run: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return one of `PARTS` for a run, as of the time `at`.

        Raises:
            InputError: for an owner that does not exist, or an argument that is missing or wrong.
            JournalError: when the journal was changed.
        """
        store = RunStore.open(self._client, run)
        with kept_facts(store).clock.in_force():
            try:
                past = self._past_of(store, asked.get("at", ""))
            except InputError as error:  # as typed by a visitor
                return {"error": str(error)}
            if part == "past":
                return {}
            if part == "search":
                return {"found": self._search(run, past, _given(asked, "text"))}
            owner = _given(asked, "owner")
            if part == "writing":
                return self._writing(run, owner, _number(asked, "number"), _number(asked, "tick"))
            kept = self._memory(run, owner, past)
            if part == "owner":
                names = kept.facts.world().display_names
                return mind_data(Mind(Owner(owner, names.get(owner, owner), kept.retired), kept.stream, {}, names))
            return {"found": _recalled(kept, _given(asked, "query"))}

    def _memory(self, run: str, owner: str, past: Past | None) -> StoredMemory:
        kept = read_memory(self._client, run, owner)
        if past is None:
            return kept
        if owner not in past.streams:
            raise InputError(f"{quoted(owner)} joined after tick {past.tick}")
        then = kept.facts.minute(past.tick)
        return replace(kept, tick=past.tick, minute=then, stream=past.streams[owner], left_out=())

    def _writing(self, run: str, owner: str, number: int, tick: int) -> dict[str, Any]:
        """Return how an entry was written, with the prompts and answers that `capture` kept; nothing without a job."""
        job = JobHistory(self._client, run).appending(owner, number, tick)
        if job is None:
            return {}
        written = next(one for into, n, one in written_by(job) if (into, n) == (owner, number))
        store, key = RunStore.open(self._client, run), parse_job_id(job.id)[1]
        texts = captured_of(store, self._capture, key) if self._capture is not None else ()
        told = [{name: visible(str(text)) for name, text in msgspec.structs.asdict(one).items()} for one in texts]
        return {**writing_data(written), "texts": told}

    def _search(self, run: str, past: Past | None, text: str) -> list[dict[str, Any]]:
        """Return the first memories of all owners that contain a text, in whatever case, by owner and time."""
        wanted, clock, found = text.strip().casefold(), clock_in_force(), list[dict[str, Any]]()
        for mind in read_minds(self._client, run, past, jobs=False):
            entries = sorted(mind.stream.entries.values(), key=lambda entry: (entry.minute, entry.number))
            for entry in entries if wanted else ():
                if wanted in _words(entry).casefold():
                    day = clock.day_window(entry.minute // DAY)
                    told = entry_data(mind.stream, entry)
                    found.append({"owner": visible(mind.owner.id), "day": day, "entry": told})
                if len(found) == MOST_FOUND:
                    return found
        return found


def _recalled(kept: StoredMemory, query: str) -> list[dict[str, Any]]:
    """Return what the run's profile finds for a query at the memory's time, each with the parts of its score."""
    return [
        {
            "n": one.entry.number,
            "score": f"{one.score:.3f}",
            "parts": [[part.name, f"{part.weight:g} × {part.value:.3f}"] for part in one.parts if part.value],
        }
        for one in kept.view.recall(query, limit=RECALLED)
    ]


def _words(entry: Entry) -> str:
    return entry.text or "; ".join(item.description for item in entry.items)


def _given(asked: Mapping[str, str], name: str) -> str:
    """Return an argument.

    Raises:
        InputError: without it.
    """
    if name not in asked:
        raise InputError(f"{name} is missing: the page sends it")
    return asked[name]


def _number(asked: Mapping[str, str], name: str) -> int:
    given = _given(asked, name)
    if not (given.isascii() and given.isdigit() and len(given) < 16):
        raise InputError(f"{name} is {given[:20]!r}: give a whole number")
    return int(given)
