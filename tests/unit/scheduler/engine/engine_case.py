"""A run of two owners, tick by tick in the engine alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from cogitate.memory.effects import Append
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.controls import ControlRequest
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.engine.engine import RunEngine
from cogitate.scheduler.engine.run_data import FinishedTick, WorldTurn
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.ledger.claims import Result
from cogitate.scheduler.ledger.step_replies import BoundaryInput, DueJob
from cogitate.tasks.job import Cost, JobKey, Request
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker

RESERVED, USED = Cost(calls=1, tokens=30), Cost(calls=1, tokens=7)
RUN = Cell("run:0", "run")


def offered(key: JobKey) -> dict[str, list[bytes]]:
    """What the ledger shows of a late answer."""
    return {"offered": [key.text().encode(), msgspec.json.encode(row(key).result)]}


class Run:
    """A run of two owners and a kind that a host asks for, whose heuristic guesses."""

    def __init__(
        self, *more: Thinker, limits: dict[str, int] | None = None, model: str = "default", **rules: Any
    ) -> None:
        kinds = [Thinker("think"), Thinker("muse", 20, on_denied="defer"), Thinker("recount", 35), *more]
        chosen = Rules(
            kinds=kinds,
            offers_of=lambda kind, tier: [ModelOption(model, 100, RESERVED)],
            latency_of=lambda kind: 2,
            brief=lambda owner: {},
            **rules,
        )
        view = BudgetView(LimitTable(limits or {}), retry_share=0.0, guarantees={})
        self.state = RunState(run="r", rules=chosen, facts=Facts(), view=view)
        self.engine, self.tick = RunEngine(self.state), 0
        self.turn(joins={owner: Profile(name=owner) for owner in (ANN, BOB)})

    def turn(
        self,
        *requests: Request,
        rows: Sequence[DueJob] = (),
        boundary: BoundaryInput | None = None,
        controls: Sequence[Any] = (),
        away: bool = False,
        **world: Any,
    ) -> FinishedTick:
        """Live through the next tick."""
        self.tick += 1
        self.engine.begin(self.tick, boundary or BoundaryInput([*rows]))
        asked = [ControlRequest(f"id{n}", control) for n, control in enumerate(controls)]
        done = self.engine.end(self.tick, WorldTurn(requests=[*requests], **world), asked, away=away)
        for stream in self.state.streams.values():
            stream.take_changes()
        return done

    def asked(self, kind: str = "think", owner: str = ANN, **request: Any) -> JobKey:
        """Ask for a job, and return its key."""
        done = self.turn(Request(kind=kind, owner=owner, **request))
        return done.core.decided[-1].key

    def held(self) -> int:
        """Tokens that admission counts."""
        return self.state.view.get(RUN, "tokens")


def row(key: JobKey, state: Any = "staged", **result: Any) -> DueJob:
    effect = Append(owner=key.owner, entry=Entry(type="reflection", text="So it is.", minute=1, importance=3))
    values = {"effects": (effect,), "source": "llm", "usage": USED, "model": "default"} | result
    return DueJob(key, state, Result(**values) if state == "staged" else None, 1, arrival=1)
