"""The batch desk of a worker process: it sends batches, polls them, and hands out their answers.

All state is in the ledger (`cogitate.scheduler.ledger.batches`). One process at a time holds a run's desk, and records
each step before the next one:

1. The desk gathers waiting requests into a batch: it records their tokens under a tag, sends the file, and records the
   batch's id. After a crash in between, the next process asks the endpoint for a batch with that tag. If there is none,
   workers ask the requests singly.
2. The desk polls a batch until it ends, whatever its status. A line counts once, and only if it has the token and the
   digest of a request in this batch. The desk claims the line's job again, then judges and settles the answer.
3. The desk gives back a job without an answer at no cost (its line expired, failed or is missing, or the whole batch
   failed or was cancelled), and a worker asks singly.
4. The desk charges a job that ended before its answer arrived. It cancels a batch if no job waits for it, or if its run
   was deleted.
5. If the host waits for a job and little time is left, another attempt asks singly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import structlog
from msgspec.structs import replace
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.batches import REFUSED, Batch, Batched, Batches, Desk, custom_id, new_tag
from cogitate.scheduler.ledger.claims import Claim, Claims
from cogitate.scheduler.ledger.real_day import Held, RealDay
from cogitate.scheduler.ledger.run_store import run_names
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.batches.parking import completion_cost, patience_of
from cogitate.workers.jobs.call import BatchAnswer
from cogitate.workers.llm.batch_files import BatchFiles, BatchLine, BatchRefused, BatchStatus, BatchUnknown
from cogitate.workers.llm.requests.address import address_of
from cogitate.workers.processes.lazy_thread import LazyThread

GATHER = 2.0  # seconds without a further request before the waiting ones are sent
LONGEST_GATHER = 20.0  # seconds that a request waits for others at most
MOST_LINES = 1_000  # requests in one file
HOLD = 10.0  # seconds after which another process may take over the desk of a dead one
HOLD_SENDING = 90.0  # the same while a file is sent or read, or its answers are handed out
LISTED_WITHIN = 60  # seconds after which a batch that the endpoint does not list counts as never made
LONGEST_LIFE = 86_400  # seconds after which every batch has ended
LOST_AFTER = 120  # seconds until a batch without an id is given up if the endpoint cannot be asked for it
SHORTEST_POLL, LONGEST_POLL = 1.0, 60.0  # seconds
POLLS_AN_AGE = 10  # approximate polls of a batch while its age doubles
LOOK = 1.0  # seconds between two checks of runs with batches
SEARCH = 10.0  # seconds between two searches for such runs

log = structlog.get_logger()


class BatchDesk:
    """The desk of one worker process; its thread starts once a model may be asked in batches.

    Args:
        answered: judges and settles the answer to a job that was claimed again.
        files: opens the batch files of an endpoint.
    """

    def __init__(
        self,
        client: Redis,
        batches: Batches,
        claims: Claims,
        settings: Settings,
        answered: Callable[[Claim, BatchAnswer], object],
        files: Callable[[Endpoint], BatchFiles] = lambda endpoint: BatchFiles(address_of(endpoint)),
    ) -> None:
        self._client = client
        self._batches = batches
        self._claims = claims
        self._endpoints = settings.endpoint_table()
        self._patience = patience_of(settings)
        self._answered = answered
        self._open_files = files
        self._files: dict[str, BatchFiles] = {}  # by endpoint
        self._day = RealDay(client, settings)
        self._runs: dict[str, _Run] = {}
        self._woken: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = LazyThread(self._work, "batches")

    def start(self) -> None:
        """Start the thread, unless it runs already or the desk is closed."""
        with self._changed:
            if not self._closed:
                self._thread.start()

    def wake(self, run: str) -> None:
        """Tell the thread that a request of this run waits for a batch."""
        with self._changed:
            self._woken.add(run)
            self._changed.notify()

    def stop(self) -> None:
        """End the thread after its current step; another process takes the desk over."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def close(self) -> None:
        """End the thread, wait for it at most `HOLD` seconds, and close the files."""
        self.stop()
        self._thread.join(HOLD)
        for files in self._files.values():
            files.close()

    def _work(self) -> None:
        searched = -SEARCH
        while not self._closed:
            try:
                names = set(self._runs)
                searches = time.monotonic() - searched >= SEARCH
                if searches:
                    searched = time.monotonic()
                    names |= set(run_names(self._client))
                with self._changed:
                    names |= self._woken
                    self._woken.clear()
                for run in sorted(names):
                    self.serve(run)
                if searches:
                    self.cancel_deleted()
            except (RedisError, OSError) as error:
                log.warning("batch.ledger_away", error=type(error).__name__)
            except Exception as error:  # without this thread, jobs would wait until they are due
                log.error("batch.failed", error=type(error).__name__)
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._woken, LOOK if self._runs else SEARCH)

    def serve(self, run: str) -> None:
        """Take the next step for each batch of a run, if this process holds the run's desk or can take it."""
        incarnation = self._batches.has_any(run)
        if run in self._runs and self._runs[run].incarnation != incarnation:
            del self._runs[run]
        if incarnation is None:
            return
        desk = self._batches.look(run, incarnation, HOLD)
        if desk is None:
            self._runs.pop(run, None)  # `_work` finds it again
            return
        state = self._runs.setdefault(run, _Run(run, incarnation))
        self._forget_ended(state, desk)
        for tag, batch in sorted(desk.batches.items()):
            if not self._closed:
                self._follow(state, desk, tag, batch)
        self._give_up_overdue(state, desk)
        if desk.status == "running":
            self._gather(state, desk)

    # -- sending ---------------------------------------------------------------------------------------

    def _gather(self, run: _Run, desk: Desk) -> None:
        """Send the requests that are in no batch, once no further ones have joined for a while."""
        taken = {token for batch in desk.batches.values() for token in batch.tokens}
        unsent = [token for token in desk.batched if token not in taken and token in desk.waiting]
        now = time.monotonic()
        if set(unsent) != run.unsent:
            if not run.unsent:
                run.unsent_since = now
            run.unsent, run.unsent_changed = set(unsent), now
        if not unsent:
            return
        if len(unsent) < MOST_LINES and now - run.unsent_changed < GATHER and now - run.unsent_since < LONGEST_GATHER:
            return
        run.unsent = set()
        groups: dict[tuple[str, str], list[str]] = {}  # vendors accept one model per file
        for token in unsent:
            model = desk.batched[token].model
            groups.setdefault((model.endpoint, model.model), []).append(token)
        for (endpoint, _), tokens in sorted(groups.items()):
            self._send(run, desk, endpoint, tuple(tokens[:MOST_LINES]))

    def _send(self, run: _Run, desk: Desk, endpoint: str, tokens: tuple[str, ...]) -> None:
        files = self._files_of(endpoint)
        if files is None:
            self._give_back(run, tokens, desk.batched)
            return
        tag, batch = new_tag(), Batch(endpoint=endpoint, at=desk.now, tokens=tokens)
        if not self._batches.record(*run.name, tag, batch, HOLD_SENDING):
            return
        lines = self._batches.lines(*run.name, tokens, HOLD_SENDING)
        if len(lines) < len(tokens):
            return
        try:
            status = files.submit(lines, tag)
        except BatchRefused as error:
            log.warning("batch.refused", run=run.run, endpoint=endpoint, jobs=len(tokens), why=str(error))
            self._batches.took(endpoint, REFUSED)
            self._give_back(run, tokens, desk.batched)
            self._batches.close(*run.name, tag, HOLD)
            return
        except BatchUnknown as error:
            log.warning("batch.in_doubt", run=run.run, endpoint=endpoint, jobs=len(tokens), why=str(error))
            return  # `_follow` looks for it
        if not self._batches.sent(*run.name, tag, replace(batch, id=status.id), HOLD):
            files.cancel(status.id)  # another process has the desk, and may send these requests again
            return
        log.info("batch.sent", run=run.run, endpoint=endpoint, batch=status.id, jobs=len(tokens))

    # -- following -------------------------------------------------------------------------------------

    def _follow(self, run: _Run, desk: Desk, tag: str, batch: Batch) -> None:
        """Poll a batch if its next poll is due, and hand out its answers if it has ended."""
        if time.monotonic() < run.polls.get(tag, 0.0):
            return
        age = max(0, desk.now - batch.at)
        run.polls[tag] = time.monotonic() + min(max(SHORTEST_POLL, age / POLLS_AN_AGE), LONGEST_POLL)
        files = self._files_of(batch.endpoint)
        if files is None:
            return  # another worker may know the endpoint
        try:
            if not batch.id:
                self._find(run, desk, tag, batch, files)
                return
            status = files.poll(batch.id)
            if status is not None and status.is_open:
                if not batch.cancelled and not desk.waiting.intersection(batch.tokens):
                    log.info("batch.cancelled", run=run.run, batch=batch.id, why="no job waits for it")
                    self._batches.record(*run.name, tag, replace(batch, cancelled=True), HOLD)
                    files.cancel(batch.id)
                return
            if not _must_wait(desk, batch):
                self._end(run, desk, tag, batch, files, status)
        except BatchUnknown as error:
            log.warning("batch.away", run=run.run, endpoint=batch.endpoint, batch=batch.id, why=str(error))
            if not batch.id and age > LOST_AFTER:
                self._lose(run, desk, tag, batch)

    def _find(self, run: _Run, desk: Desk, tag: str, batch: Batch, files: BatchFiles) -> None:
        """Look up a batch by its tag: its sender did not record whether it was made."""
        found = files.find(tag)
        if found is not None:
            self._batches.sent(*run.name, tag, replace(batch, id=found.id), HOLD)
            return
        if desk.now - batch.at <= LISTED_WITHIN:
            return
        self._give_back(run, batch.tokens, desk.batched)
        self._batches.close(*run.name, tag, HOLD)

    def _end(
        self, run: _Run, desk: Desk, tag: str, batch: Batch, files: BatchFiles, status: BatchStatus | None
    ) -> None:
        """Hand out the answers of an ended batch, and give back the requests without an answer."""
        if status is None:  # the endpoint has forgotten it: it may have charged for it
            self._lose(run, desk, tag, batch)
            return
        unanswered = {custom_id(t, desk.batched[t].digest): t for t in batch.tokens if t in desk.batched}
        answers: dict[str, BatchLine] = {}
        foreign = 0
        for line in files.read(status):
            if line.custom_id not in unanswered:
                foreign += 1
            else:
                answers.setdefault(line.custom_id, line)  # the first of duplicate lines counts
        answered = 0
        for line_id, line in answers.items():
            if line.completion is None:
                continue
            current = self._batches.look(*run.name, HOLD_SENDING)
            if current is None or _must_wait(current, batch):
                return  # another process has the desk, or the run pauses: the rest is handed out later
            if not self._hand_out(run, unanswered[line_id], desk.batched[unanswered[line_id]], line.completion):
                return
            del unanswered[line_id]
            answered += 1
        self._give_back(run, tuple(unanswered.values()), desk.batched)
        if status.status == "completed":
            self._batches.took(batch.endpoint, max(0, desk.now - batch.at))
        elif status.status == "failed":
            self._batches.took(batch.endpoint, REFUSED)
        self._batches.close(*run.name, tag, HOLD)
        files.remove(status)
        log.info(
            "batch.ended",
            run=run.run,
            batch=batch.id,
            status=status.status,
            answered=answered,
            left=len(unanswered),
            foreign=foreign,
        )

    def _hand_out(self, run: _Run, token: str, batched: Batched, completion: bytes) -> bool:
        """Judge and settle one answer; charge its job if it has ended. Return False if the job cannot take it now."""
        claim = self._claims.claim(f"{run.run}/{batched.job}", held=token)
        if claim in ("paused", "newer", "older"):
            return False
        held = Held(*batched.real_day)
        if isinstance(claim, Claim):
            self._answered(claim, BatchAnswer(batched.digest, batched.size, completion, held))
        else:
            self._charge(run, token, batched, completion_cost(batched, completion))
        self._batches.done(*run.name, [token], HOLD_SENDING)
        return True

    def _charge(self, run: _Run, token: str, batched: Batched, used: Cost) -> None:
        self._claims.account(run.run, run.incarnation, batched.key, token, used)
        self._day.settle(Held(*batched.real_day), used)

    def cancel_deleted(self) -> None:
        """Cancel the batches of deleted runs at the endpoints in this worker's settings."""
        for tag, batch, age in self._batches.of_deleted_runs():
            forget = age > LONGEST_LIFE
            if batch.endpoint in self._endpoints and (files := self._files_of(batch.endpoint)) is not None:
                try:
                    batch_id = batch.id or getattr(files.find(tag), "id", "")
                    if batch_id:
                        files.cancel(batch_id)
                        log.info("batch.cancelled", batch=batch_id, why="its run was deleted")
                    forget = forget or bool(batch_id) or age > LISTED_WITHIN
                except BatchUnknown as error:
                    log.warning("batch.away", endpoint=batch.endpoint, batch=batch.id, why=str(error))
            if forget:
                self._batches.forget_deleted(tag)

    # -- giving back -----------------------------------------------------------------------------------

    def _give_back(self, run: _Run, tokens: Sequence[str], batched: Mapping[str, Batched]) -> None:
        """Give back the attempts of these requests at no cost."""
        ended = self._batches.release(*run.name, tokens, HOLD_SENDING)
        for token in tokens:
            if token in batched:
                self._day.settle(Held(*batched[token].real_day), Cost())
        for token in ended:
            self._claims.account(run.run, run.incarnation, batched[token].key, token, Cost())
        self._batches.done(*run.name, ended, HOLD)

    def _lose(self, run: _Run, desk: Desk, tag: str, batch: Batch) -> None:
        """Give up a batch that will return nothing, and charge it in full: the endpoint may have charged for it."""
        log.error("batch.lost", run=run.run, endpoint=batch.endpoint, batch=batch.id, jobs=len(batch.tokens))
        tokens = [token for token in batch.tokens if token in desk.batched]
        self._batches.abandon(*run.name, tokens, HOLD_SENDING)
        for token in tokens:
            self._charge(run, token, desk.batched[token], desk.batched[token].reserved)
        self._batches.done(*run.name, tokens, HOLD)
        self._batches.close(*run.name, tag, HOLD)

    def _forget_ended(self, run: _Run, desk: Desk) -> None:
        """Give back requests that were never sent and whose jobs have ended."""
        taken = {token for batch in desk.batches.values() for token in batch.tokens}
        idle = [token for token in desk.batched if token not in taken and token not in desk.waiting]
        if idle:
            self._give_back(run, idle, desk.batched)

    def _give_up_overdue(self, run: _Run, desk: Desk) -> None:
        """Abandon requests whose host has waited so long that the time left just suffices to ask singly."""
        awaited = [token for token in desk.waiting if desk.batched[token].due <= desk.tick + 1]
        now = time.monotonic()
        run.awaited = {token: run.awaited.get(token, now) for token in awaited}
        overdue = [token for token, since in run.awaited.items() if now - since > self._patience]
        if overdue:
            log.warning("batch.overdue", run=run.run, jobs=len(overdue))
            self._batches.abandon(*run.name, overdue, HOLD)

    def _files_of(self, endpoint: str) -> BatchFiles | None:
        try:
            if endpoint not in self._files:
                self._files[endpoint] = self._open_files(self._endpoints[endpoint])
            return self._files[endpoint]
        except (KeyError, ConfigurationError) as error:
            log.error("batch.unknown_endpoint", endpoint=endpoint, error=type(error).__name__)
            return None


class _Run:
    """The state of a run whose desk this process holds. Losing it does no harm."""

    def __init__(self, run: str, incarnation: str) -> None:
        self.run = run
        self.incarnation = incarnation
        self.unsent: set[str] = set()  # requests in no batch, with the instants of the first and the latest
        self.unsent_since = self.unsent_changed = 0.0
        self.polls: dict[str, float] = {}  # tag -> instant of its next poll
        self.awaited: dict[str, float] = {}  # token -> instant since which the host waits for it

    @property
    def name(self) -> _Name:
        return _Name(self.run, self.incarnation)


class _Name(NamedTuple):
    run: str
    incarnation: str


def _must_wait(desk: Desk, batch: Batch) -> bool:
    """Return whether a batch's answers must wait for the host: jobs of a paused run cannot be claimed."""
    return desk.status not in ("running", "finished") and bool(desk.waiting.intersection(batch.tokens))
