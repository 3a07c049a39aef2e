"""The layer in which calls of one process meet, so that one request thinks for several owners.

Threads that ask one model for one kind of job meet here. The first waits a moment for the others, makes one request for
all (`cogitate.workers.jobs.packs.request`), and gives each its own answer. Their jobs know nothing of it: each keeps
its claim, its reservation, its end, its retry and its failure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future

from cogitate.scheduler.config.endpoints import Model
from cogitate.tasks.registry import kind_of
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.packs.request import Result, ask_together
from cogitate.workers.jobs.packs.sizes import PackSizes
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.requests.tokens import prompt_tokens

PATIENCE = 0.05  # seconds without another arrival after which a pack is sent
MOST_OUTPUT = 4_096  # tokens of answers in one request: widely used models refuse a higher cap


class Packing:
    """Packs calls of one process.

    Args:
        context_of: returns the learned limit of a model for prompt and answer together, in tokens; 0 if none is known.
        host_waits: whether hosts wait for due jobs at their boundary, so that a moment makes no result late.
        patience: seconds without another arrival after which a pack is sent.
    """

    def __init__(self, context_of: Callable[[Model], int], *, host_waits: bool, patience: float = PATIENCE) -> None:
        self._context_of = context_of
        self._host_waits = host_waits
        self._patience = patience
        self._sizes = PackSizes()
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Meeting] = {}

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Ask together with others, or alone: on a further attempt, if the result is due at once, or without others."""
        if not self._may_pack(call) or (size := self._sizes.next(call.model)) < 2:
            return following(call)
        key, future = _meeting_key(call), Future[Result]()
        with self._lock:
            meeting = self._open.get(key)
            if leads := meeting is None or not self._has_room(meeting.calls, call):
                if meeting is not None:
                    meeting.full.set()
                meeting = self._open[key] = _Meeting(size)
            assert meeting is not None
            meeting.calls.append(call)
            meeting.futures.append(future)
            meeting.arrived.set()
            if len(meeting.calls) >= meeting.size:
                meeting.full.set()
                del self._open[key]
        if leads:
            self._lead(key, meeting, following)
        return future.result()

    def _lead(self, key: Hashable, meeting: _Meeting, following: Ask) -> None:
        """Wait for companions, ask for all, and hand out the answers."""
        while not meeting.full.is_set() and meeting.arrived.wait(self._patience):
            meeting.arrived.clear()
        with self._lock:
            if self._open.get(key) is meeting:
                del self._open[key]
        try:
            results = ask_together(meeting.calls, following, self._sizes)
        except BaseException as error:
            for future in meeting.futures:
                future.set_exception(error)
            return
        for future, result in zip(meeting.futures, results, strict=True):
            future.set_result(result)

    def _may_pack(self, call: Call) -> bool:
        """Return whether this call may wait a moment, and share its request."""
        claim, job = call.claim, call.claim.job
        now = job.key.tick if self._host_waits else max(job.key.tick, claim.tick)
        return call.model.pack == "auto" and claim.number == 1 and job.due - now > 1 and kind_of(job.key.kind).packs

    def _has_room(self, calls: Sequence[Call], call: Call) -> bool:
        """Return whether one more call fits: its answer below what models allow, all within the context."""
        together = [*calls, call]
        headroom = call.model.headroom_of(call.claim.job.key.kind)
        answers = sum(one.output_cap for one in together)
        context = min((c for c in (call.model.context, self._context_of(call.model)) if c), default=0)
        return answers - len(together) * headroom <= MOST_OUTPUT and not (
            0 < context < answers + sum(prompt_tokens(one.prompt) for one in together)
        )


class _Meeting:
    """Calls that meet before they are sent."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: list[Call] = []
        self.futures: list[Future[Result]] = []
        self.arrived, self.full = threading.Event(), threading.Event()


def _meeting_key(call: Call) -> Hashable:
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
