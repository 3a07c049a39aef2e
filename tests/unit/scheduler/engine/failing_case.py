"""A run whose kind fails, and how its jobs ended."""

from __future__ import annotations

from typing import Any

from fakeredis import FakeRedis

from cogitate import Profile, TickLoop
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.unit.tasks.own_kind_case import Said

ADA = {"agent:ada": Profile(name="Ada Smith")}
TICKS = 5


def ended(client: FakeRedis, run: str = "test") -> list[tuple[Ended, EndNote]]:
    """The ends of the kind's jobs."""
    lines = read_journal(RunStore.open(client, run), 1, TICKS)
    pairs = [pair for line in lines for pair in zip(line.core.ended, line.notes.ended, strict=True)]
    return [(end, note) for end, note in pairs if end.key.kind == "hum"]


def readable(client: FakeRedis, loop: TickLoop) -> None:
    """Everything that reads a run reads this one."""
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == loop.digest
    assert list(JobHistory(client, "test").all())


class Dreams:
    """Models that say what the kind makes a bad effect of, until they are told what is wrong."""

    learns = True

    def __init__(self, *args: Any) -> None:
        pass

    def context_of(self, model: Any) -> int:
        return 0

    def get_ready(self, prompt: Prompt, **options: Any) -> None:
        """Nothing has to be loaded."""

    def of(self, endpoint: str) -> Dreams:
        return self

    def ask(self, prompt: Prompt, **options: Any) -> ModelAnswer:
        text = "A tune." if "importance 77 is not from 1 to 10" in prompt.user and self.learns else "A dream."
        return ModelAnswer(usage=Cost(calls=1, tokens=50), value=Said(text=text), text=f'{{"text": "{text}"}}')

    def close(self) -> None:
        """Nothing is open."""
