"""The answers for the served page Minds: one owner's memories, how one was written, promises, a search, and recall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from redis import Redis

from cogitate.hosting.terminal import visible
from cogitate.memory.clock import DAY, clock_in_force
from cogitate.memory.errors import quoted
from cogitate.memory.language.port import language_of
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import read_entry, why_unreadable
from cogitate.ops.operator_requests import parse_job_id
from cogitate.ops.report.minds_page import (
    MOST_FOUND,
    ShownRun,
    entry_data,
    mind_data,
    minds_page,
    shown_run,
    writing_data,
)
from cogitate.ops.report.minds_promises import RememberedPromise, of_others, promises_data, remembered_promises
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.memory_search import search_memories, search_past, stored_memories
from cogitate.scheduler.inspection.minds import Mind, Owner, Past, owners_of, read_past, written_by
from cogitate.scheduler.inspection.stored_memory import StoredMemory, read_memory
from cogitate.scheduler.inspection.stored_run import kept_facts, tick_at
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.jobs.stored_texts import recorded_of

MOST_OWNERS = 20_000  # the most owners whose promises are kept


class _Read(NamedTuple):
    mark: int  # hash of the memories that were read
    promises: list[RememberedPromise]


class PromisesReading:
    """The promises that owners remember. It reads an owner again only if its memories have changed. Thread-safe."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], _Read] = {}  # by a run's prefix and an owner

    def of(
        self, store: RunStore, owners: Sequence[str], names: Mapping[str, str], about: str
    ) -> dict[str, list[RememberedPromise]]:
        """Return the promises in owners' memories, by owner; archived entries count, unreadable ones do not.

        Args:
            names: display names by owner and place.
            about: read only this owner, and others with an entry that names it and may promise something; "": read all.
        """
        names_hash = hash(frozenset(names.items()))
        return {
            owner: self._promises(store.prefix, owner, raws, names, hash((names_hash, *raws)))
            for owner, raws in stored_memories(store, owners)
            if about in ("", owner) or any(_vows(raws, about))
        }

    def _promises(
        self, prefix: str, owner: str, raws: Sequence[bytes], names: Mapping[str, str], mark: int
    ) -> list[RememberedPromise]:
        kept = self._read.get((prefix, owner))
        if kept is None or kept.mark != mark:
            readable = [entry for entry in map(read_entry, raws) if not why_unreadable(entry)]
            found = remembered_promises(owner, readable, names) if any(_vows(raws, "")) else []
            if len(self._read) >= MOST_OWNERS:
                self._read.clear()
            self._read[prefix, owner] = kept = _Read(mark, found)
        return kept.promises


def _vows(raws: Sequence[bytes], about: str) -> Iterator[bool]:
    """Yield for each stored entry that names an owner whether it may promise something; "": for each entry."""
    name = msgspec.json.encode(about) if about else b""
    for raw in raws:
        if name in raw:
            text = read_entry(raw).text
            yield language_of(text).may_vow(text)


PARTS = ("owner", "promises", "heuristics", "writing", "search", "recall", "past")
THOUGHTS = frozenset({"plan", "reflection", "summary"})  # types of entries that jobs write
RECALLED = 10  # the most memories that a recall returns
KEPT = 2  # past states kept in memory, enough for two runs side by side


class MindsReading:
    """Reads the minds of one server's runs. Thread-safe.

    Args:
        record: the settings that locate recorded prompts; None: show no prompts.
        elsewhere: clients of runs that the server does not have, by run.
    """

    def __init__(
        self, client: Redis, record: Settings | None = None, elsewhere: Mapping[str, Redis] | None = None
    ) -> None:
        self._client = client
        self._record = record
        self._elsewhere = elsewhere or {}
        self._promised = PromisesReading()
        self._read_past = lru_cache(maxsize=KEPT)(read_past)

    def page(self, run: str, runs: Sequence[str] = (), *, at: str = "", beside: str = "") -> str:
        """Return the page of a run.

        Args:
            runs: the runs to choose from.
            at: the time of the memories, as in `tick_at`; "": now.
            beside: a second run; "": none.

        Raises:
            RunMissing: if a run does not exist, as from each method.
            InputError: if `at` names no time that the run has reached.
        """
        return minds_page([self._shown(one, at) for one in (run, beside) if one], at=at, runs=runs)

    def _shown(self, run: str, at: str) -> ShownRun:
        store = RunStore.open(self._at(run), run)
        facts, past = kept_facts(store), self._past_of(store, at)
        tick = store.tick() if past is None else past.tick
        with facts.clock.in_force():
            return shown_run(run, tick, facts.minute(tick), trimmed_tick(store), owners_of(store, past))

    def _at(self, run: str) -> Redis:
        return self._elsewhere.get(run, self._client)

    def _past_of(self, store: RunStore, at: str) -> Past | None:
        return self._read_past(store, tick_at(store, at)) if at else None

    def answer(self, part: str, run: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return one of `PARTS` for a run, as of the time `at`.

        Raises:
            InputError: for an unknown owner, or a missing or invalid argument.
            JournalError: when the journal was changed.
        """
        store = RunStore.open(self._at(run), run)
        with kept_facts(store).clock.in_force():
            try:
                past = self._past_of(store, asked.get("at", ""))
            except InputError as error:  # as typed by a visitor
                return {"error": str(error)}
            if part == "past":
                return {}
            if part == "search":
                return self._search(store, past, _given(asked, "text"))
            owner = _given(asked, "owner")
            if part == "writing":
                return self._writing(store, run, owner, _number(asked, "number"), _number(asked, "tick"))
            if part == "promises":
                return {"promises": self._promises(store, past, owner)}
            kept = self._memory(run, owner, past)
            if part == "owner":
                names = kept.facts.world().display_names
                return mind_data(Mind(Owner(owner, names.get(owner, owner), kept.retired), kept.stream, {}, names))
            if part == "heuristics":
                return {"numbers": self._by_heuristics(run, kept.stream, _number(asked, "day"))}
            return {"found": _recalled(kept, _given(asked, "query"))}

    def _memory(self, run: str, owner: str, past: Past | None) -> StoredMemory:
        kept = read_memory(self._at(run), run, owner)
        if past is None:
            return kept
        if owner not in past.streams:
            raise InputError(f"{quoted(owner)} joined after tick {past.tick}")
        then = kept.facts.minute(past.tick)
        return replace(kept, tick=past.tick, minute=then, stream=past.streams[owner], left_out=())

    def _by_heuristics(self, run: str, stream: Stream, day: int) -> list[int]:
        """Return the thoughts of a day (from 0) that heuristics wrote, according to the journal."""
        thoughts = (one for one in stream.entries.values() if one.minute // DAY == day and one.type in THOUGHTS)
        sources = JobHistory(self._at(run), run).sources(stream.owner, {one.tick for one in thoughts})
        return [number for number, source in sources.items() if source == "heuristic"]

    def _writing(self, store: RunStore, run: str, owner: str, number: int, tick: int) -> dict[str, Any]:
        """Return how a job wrote an entry, with the prompts and answers that `record` kept; {} if no job wrote it."""
        job = JobHistory(self._at(run), run).appending(owner, number, tick)
        if job is None:
            return {}
        written = next(one for into, n, one in written_by(job) if (into, n) == (owner, number))
        key, facts = parse_job_id(job.id)[1], kept_facts(store)
        texts = recorded_of(store, self._record, key) if self._record is not None else ()
        recorded = [{name: visible(str(text)) for name, text in msgspec.structs.asdict(one).items()} for one in texts]
        return {**writing_data(written, {model.name: model.model for model in facts.models}), "texts": recorded}

    def _search(self, store: RunStore, past: Past | None, text: str) -> dict[str, Any]:
        """Return the number of memories that contain a text, and the first of them by time."""
        clock = clock_in_force()
        if past is None:
            found = search_memories(store, [one.id for one in owners_of(store)], text, MOST_FOUND)
        else:
            found = search_past(past, text, MOST_FOUND)
        hits = [
            {
                "owner": visible(hit.owner),
                "day": clock.day_window(hit.entry.minute // DAY),
                "entry": entry_data(Stream(hit.owner), hit.entry) | ({"archived": 1} if hit.archived else {}),
            }
            for hit in found.hits
        ]
        return {"found": hits, "count": found.total}

    def _promises(self, store: RunStore, past: Past | None, owner: str) -> list[dict[str, Any]]:
        """Return the promises that an owner remembers, and those by or to it that only others remember.

        Args:
            owner: "": return the promises that any owner remembers, each once.
        """
        names = kept_facts(store).world().display_names
        if past is None:
            promises = self._promised.of(store, [one.id for one in owners_of(store)], names, owner)
        else:
            promises = {
                one: remembered_promises(one, stream.entries.values(), names) for one, stream in past.streams.items()
            }
        if not owner:
            return promises_data((), chain.from_iterable(promises.values()))
        own = promises.get(owner, [])
        return promises_data(own, of_others(chain.from_iterable(promises.values())).get(owner, ()))


def _recalled(kept: StoredMemory, query: str) -> list[dict[str, Any]]:
    """Return the memories that the run's profile recalls for a query, each with the parts of its score."""
    return [
        {
            "n": one.entry.number,
            "score": f"{one.score:.3f}",
            "parts": [[part.name, f"{part.weight:g} × {part.value:.3f}"] for part in one.parts if part.value],
        }
        for one in kept.view.recall(query, limit=RECALLED)
    ]


def _given(asked: Mapping[str, str], name: str) -> str:
    """Return an argument.

    Raises:
        InputError: when it is missing.
    """
    if name not in asked:
        raise InputError(f"{name} is missing: the page sends it")
    return asked[name]


def _number(asked: Mapping[str, str], name: str) -> int:
    given = _given(asked, name)
    if not (given.isascii() and given.isdigit() and len(given) < 16):
        raise InputError(f"{name} is {given[:20]!r}: give a whole number")
    return int(given)
