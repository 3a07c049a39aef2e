"""The layer that packs calls of one process: one request thinks for several owners.

Threads that ask one model for one kind of job form a batch. The first thread waits a moment for the others, makes one
request for all (`cogitate.workers.jobs.packs.request`), and gives each thread its own answer. A job does not depend on
its pack: it keeps its own claim, reservation, settlement, retries and failure. If hosts wait for results, a batch may
be larger than any pack that its model has answered so far. Its requests then grow one by one, and other batches wait to
learn how large theirs may be.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import Future
from contextlib import closing

from cogitate.scheduler.config.endpoints import Model
from cogitate.tasks.registry import kind_of
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.packs.request import MOST_OUTPUT, Result, ask_together, output_cap_of
from cogitate.workers.jobs.packs.sizes import MOST, PackSizes
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.tokens import prompt_tokens

BATCH_WAIT = 0.05  # seconds without a further call before a batch is sent
LONGEST_WAIT = 1.0  # seconds that the first call of a batch waits at most
GRACE = 5.0  # seconds past a call's deadline that its thread waits for the thread that asks


class Packing:
    """Packs calls of one process.

    Args:
        context_of: returns the context length learned for a model, prompt and answer together, in tokens; 0 if unknown.
        host_waits: whether hosts wait at a tick boundary for due jobs; if so, waiting makes no result late.
        batch_wait: seconds without a further call before a batch is sent.
    """

    def __init__(self, context_of: Callable[[Model], int], *, host_waits: bool, batch_wait: float = BATCH_WAIT) -> None:
        self._context_of = context_of
        self._host_waits = host_waits
        self._batch_wait = batch_wait
        self._sizes = PackSizes()
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Batch] = {}

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Ask in a pack; ask alone on a retry, if the result is due at once, or if no other call joins."""
        return self._ask(call, following, grows=self._host_waits and self._sizes.grows(call))

    def _ask(self, call: Call, following: Ask, *, grows: bool) -> ModelAnswer | Refused:
        if not self._may_pack(call) or (size := self._sizes.next(call)) < 2:
            return following(call)
        context = self._context_of(call.model)  # reads Redis now and then: not under the lock
        key, future = (grows, _batch_key(call)), Future[Result | None]()
        with self._lock:
            batch = self._open.get(key)
            if leads := batch is None or not (grows or self._fit([*batch.calls, call], context)):
                if batch is not None:
                    batch.full.set()
                batch = self._open[key] = _Batch(MOST if grows else size)
            assert batch is not None
            batch.calls.append(call)
            batch.futures.append(future)
            if len(batch.calls) >= batch.size:
                batch.full.set()
                del self._open[key]
        if leads:
            self._lead(key, batch, context, following, grows=grows)
        result = future.result(max(0.0, call.deadline - time.monotonic()) + GRACE)
        return self._ask(call, following, grows=False) if result is None else result

    def _lead(self, key: Hashable, batch: _Batch, context: int, following: Ask, *, grows: bool) -> None:
        """Wait for other calls, ask for all, and set each result as it arrives; None: the call's thread asks again."""
        try:
            try:
                batch.wait(self._batch_wait)
            finally:
                with self._lock:
                    if self._open.get(key) is batch:
                        del self._open[key]
            with closing(self._parts(batch.calls, context, grows=grows)) as parts:
                for part in parts:
                    for index, result in ask_together(batch.calls[part], following, self._sizes):
                        batch.futures[part][index].set_result(result)
            for future in batch.futures:
                if not future.done():
                    future.set_result(None)
        except BaseException as error:
            for future in batch.futures:
                if not future.done():
                    future.set_exception(error)
            raise

    def _parts(self, calls: Sequence[Call], context: int, *, grows: bool) -> Generator[slice]:
        """Yield the slice of calls for each request, until all are asked, the model fails, or little time is left."""
        if not grows:
            yield slice(len(calls))
            return
        began, deadline, at = time.monotonic(), min(call.deadline for call in calls), 0
        while at < len(calls):
            now = time.monotonic()
            if deadline - now < 2 * (now - began):
                return
            with self._sizes.shown(calls[0], len(calls) - at, (deadline - now) / 3) as size:
                if not size:
                    return
                while size > 1 and not self._fit(calls[at : at + size], context):
                    size -= 1
                yield slice(at, at + size)
                at += size

    def _fit(self, calls: Sequence[Call], context: int) -> bool:
        """Return whether calls fit one request: expected answers within `MOST_OUTPUT`, everything within the context.

        Args:
            context: the context length learned for the model, in tokens; 0 if unknown.
        """
        model = calls[0].model
        context = min((limit for limit in (model.context, context) if limit), default=0)
        answers = self._sizes.expected_output(calls)
        prompts = sum(prompt_tokens(call.prompt) for call in calls) if context else 0
        return answers <= MOST_OUTPUT and not 0 < context < prompts + output_cap_of(calls)

    def _may_pack(self, call: Call) -> bool:
        """Return whether this call may wait for others and share a request."""
        claim, job = call.claim, call.claim.job
        now = job.key.tick if self._host_waits else max(job.key.tick, claim.tick)
        return claim.number == 1 and job.due - now > 1 and kind_of(job.key.kind).packs


class _Batch:
    """Calls that one thread sends together."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: list[Call] = []
        self.futures: list[Future[Result | None]] = []
        self.full = threading.Event()

    def wait(self, seconds: float) -> None:
        """Wait until the batch is full, or no call has joined it for this many seconds."""
        ends, seen = time.monotonic() + max(seconds, LONGEST_WAIT), 0
        while seen < len(self.calls) and (left := ends - time.monotonic()) > 0:
            seen = len(self.calls)
            if self.full.wait(min(seconds, left)):
                return


def _batch_key(call: Call) -> Hashable:
    claim, question = call.claim, call.question
    return (
        claim.job.run,
        claim.incarnation,
        claim.job.key.kind,
        call.model.name,
        *question[:4],
        question.system,
        question.answer,
    )
