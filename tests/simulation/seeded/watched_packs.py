"""What a pack promises its jobs, checked at each pack: their own answers, and shares that add up to what it used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from cogitate.tasks.job import Cost, added
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.packs.request import Result, ask_together
from cogitate.workers.jobs.packs.sizes import PackSizes
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.simulation.seeded.actors import current
from tests.simulation.seeded.model import ECHO, own_answer


class BrokenPack(AssertionError):
    """A pack gave a job what is not its own."""


def watched_pack(calls: Sequence[Call], following: Ask, sizes: PackSizes) -> Iterator[tuple[int, Result]]:
    """Ask together, and check what comes of it."""
    actor = current()
    used: list[Cost] = []
    shares: list[Cost] = []

    def counted(call: Call) -> ModelAnswer | Refused:
        answer = following(call)
        if isinstance(answer, ModelAnswer):
            used.append(answer.usage)
        return answer

    def check(holds: bool, what: str) -> None:
        if not holds:
            broken = BrokenPack(what)
            if actor is not None:
                actor.process._cluster.broken = broken  # type: ignore[attr-defined]
            raise broken

    for index, result in ask_together(calls, counted, sizes):
        prompt = calls[index].prompt
        if isinstance(result, ModelAnswer):
            shares.append(result.usage)
            own = own_answer(prompt)
            check(
                own is None or result.value in (None, own),
                f"{calls[index].claim.job.id} got the answer to another case",
            )
            leaked = f'"{ECHO}"' in result.text and result.packed > 1
            check(not leaked, f"{calls[index].claim.job.id} got the text of another case")
        yield index, result
    check(
        reduce(added, used, Cost()) == reduce(added, shares, Cost()), f"shares of a pack are {shares}, it used {used}"
    )
