"""Races of hosts, workers and lost leases on a real Valkey: the accounts agree after every step.

`COGITATE_TEST_EXAMPLES=2000` searches longer, with random seeds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.budget.budget import amounts
from cogitate.scheduler.config.limits import UNITS
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.summary import usage_by_owner
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.errors import Fenced
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import KINDS, OTHER, OWNER, Host, settle, worker

EXAMPLES = os.environ.get("COGITATE_TEST_EXAMPLES")
COSTS = {"think": Cost(calls=1, tokens=30, usd_micros=9), "muse": Cost(calls=2, tokens=50), "doze": Cost(calls=1)}
CELLS = (
    "tick.run.calls",
    "day.run.calls",
    "day.run.tokens",
    "day.kind:think.tokens",
    "day.kind:*.calls",
    "day.owner:*.tokens",
    "run.run.tokens",
    "run.run.usd_micros",
    "run.owner:*.calls",
)
OWNERS = (OWNER, OTHER, "agent:cy")

limits = st.dictionaries(st.sampled_from(CELLS), st.integers(0, 12), max_size=5).map(
    lambda found: {cell: n if cell.endswith("calls") else n * 40 for cell, n in found.items()}
)
requests = st.lists(st.tuples(st.sampled_from([kind.name for kind in KINDS]), st.sampled_from(OWNERS)), max_size=5)
index = st.integers(0, 1000)
factor = st.sampled_from([0.0, 0.3, 1.0, 1.0, 2.5])  # the share of its reservation that an attempt uses


class Races(RuleBasedStateMachine):
    """A state machine of hosts and workers. `attempts` is the model: the reservation and usage of each attempt."""

    client: ClassVar[Redis]

    @initialize(limits=limits, retry_share=st.sampled_from([0.0, 0.2, 0.5]), apply=st.sampled_from(["due", "ready"]))
    def begin(self, limits: dict[str, int], retry_share: float, apply: str) -> None:
        self.client.flushall()
        self.options: dict[str, Any] = {"limits": limits, "retry_share": retry_share, "apply": apply, "cost": COSTS}
        self.host = Host(self.client, owners=OWNERS, **self.options)
        self.host.turn()
        self.stale: list[Host] = []
        self.workers = [worker(self.client, f"w{i}") for i in range(3)]
        self.jobs: list[Job] = []
        self.newest: dict[JobKey, str] = {}  # token of each job's last claimed attempt
        self.claims: list[tuple[int, Claim]] = []
        self.attempts: dict[str, tuple[Cost, Cost | None]] = {}  # token -> reserved, used
        self.lost: set[str] = set()

    # -- hosts ---------------------------------------------------------------------------------------

    @rule(requests=requests, seen=st.integers(0, 3))
    def turn(self, requests: list[tuple[str, str]], seen: int) -> None:
        here = self.host.loop.state.streams
        for i in range(seen):
            owner = sorted(here)[0]
            self.host.loop.calls.observe(
                owner, Entry(type="observation", text=f"saw {i}", minute=self.host.tick.minute)
            )
        self.jobs += self.host.turn(*[(kind, owner) for kind, owner in requests if owner in here])

    @precondition(lambda self: len(self.host.loop.state.streams) > 1)
    @rule(requests=requests)
    def leave(self, requests: list[tuple[str, str]]) -> None:
        self.host.loop.calls.leave(sorted(self.host.loop.state.streams)[-1])
        self.turn(requests, 1)

    @rule()
    def join(self) -> None:
        owner = f"npc:{self.host.tick.number}"
        self.host.loop.calls.join(owner, Profile(name=owner))
        self.turn([], 1)
        self.jobs += self.host.turn(("think", owner))

    @rule()
    def take_over(self) -> None:
        self.stale = [*self.stale[-1:], self.host]
        self.host = Host(self.client, resume=True, **self.options)

    @precondition(lambda self: self.stale)
    @rule(which=index)
    def stale_host(self, which: int) -> None:
        host = self.stale.pop(which % len(self.stale))
        with pytest.raises(Fenced):
            host.ledger.collect(host.tick.number, "due", list(self.attempts)[:3])
        with pytest.raises(Fenced):
            host.turn(("think", sorted(host.loop.state.streams)[0]))

    @rule(which=index)
    def expire(self, which: int) -> None:
        """Expire leases of running, settled and unknown attempts."""
        now = sorted(self.host.ledger.collect(self.host.tick.number, "due").attempts)
        tokens = [*now[which % (len(now) + 1) :][:2], *list(self.attempts)[:1], "00"]
        self.lost |= set(now) & set(tokens)
        self.host.ledger.collect(self.host.tick.number, "due", tokens)

    # -- workers -------------------------------------------------------------------------------------

    @precondition(lambda self: self.jobs)
    @rule(which=index, who=st.integers(0, 2))
    def claim(self, which: int, who: int) -> None:
        job = self.jobs[-1 - which % min(len(self.jobs), 6)]
        claim = self.workers[who].claim(job.id)
        if isinstance(claim, Claim):
            assert claim.token not in self.attempts
            state = self.host.loop.state
            if job.key in state.open:  # otherwise the host has ended it without having committed that
                assert claim.case == state.case_of(state.open[job.key])
            self.claims.append((who, claim))
            self.attempts[claim.token] = (job.reserved, None)
            self.newest[job.key] = claim.token

    @precondition(lambda self: self.claims)
    @rule(which=index, factor=factor, good=st.booleans(), twice=st.booleans())
    def settle(self, which: int, factor: float, good: bool, twice: bool) -> None:
        who, claim = self.claims[-1 - which % min(len(self.claims), 6)]
        reserved, told = self.attempts[claim.token]
        used = Cost(*(int(amount * factor) for amount in amounts(reserved)))
        for _ in range(1 + twice):
            answer = settle(self.workers[who], claim, "a thought" if good else None, used)
            assert (answer in ("already", "unknown")) == (told is not None)
            if told is None:
                told = used
                self.attempts[claim.token] = (reserved, used)
                self.lost.discard(claim.token)

    # -- invariants ----------------------------------------------------------------------------------

    @invariant()
    def sound(self) -> None:
        assert audit(self.client, "r") == []

    @invariant()
    def accounts_follow_from_attempts(self) -> None:
        for i, unit in enumerate(UNITS):
            found = self.host.window("run:0", unit=unit)
            told = [(amounts(reserved)[i], amounts(used)[i]) for reserved, used in self.attempts.values() if used]
            lost = sum(amounts(self.attempts[token][0])[i] for token in self.lost)
            assert found.get("spent", 0) == lost + sum(used for _, used in told)
            assert found.get("overrun", 0) == sum(max(0, used - reserved) for reserved, used in told)

    def teardown(self) -> None:
        if not hasattr(self, "host"):
            return
        while self.host.loop.state.open or self.host.loop.state.deferred:
            self.host.turn()
            self.sound()
        self.host.turn()  # commits the ends of the last tick
        for who, claim in self.claims[::2]:  # the other claims are never settled
            reserved, told = self.attempts[claim.token]
            if told is None:
                settle(self.workers[who], claim, None, reserved)
                self.attempts[claim.token] = (reserved, reserved)
        for _ in range(3):  # one turn finds the settlements, one corrects the view, one commits the correction
            self.host.turn()
            self.sound()
        self.view_follows_from_attempts()
        self.owners_are_charged_for_all()
        ends: dict[JobKey, str] = {}
        for line in read_journal(RunStore.open(self.client, "r"), 1, self.host.loop.tick):
            for decided in line.core.decided:
                if decided.decision in ("deferred", "dropped"):
                    assert ends.setdefault(decided.key, decided.decision) is decided.decision
            for ended in line.core.ended:
                assert ended.key not in ends
                ends[ended.key] = ended.end
        assert {job.key for job in self.jobs} <= ends.keys()

    def view_follows_from_attempts(self) -> None:
        """Check that the view counts each job as its newest attempt, in full if that was never settled."""
        for i, unit in enumerate(UNITS):
            held = 0
            for key in {job.key for job in self.jobs} & self.newest.keys():
                reserved, used = self.attempts[self.newest[key]]
                held += amounts(reserved if used is None else used)[i]
            assert self.host.loop.state.view.held.get(f"run:0|run|{unit}", 0) == held

    def owners_are_charged_for_all(self) -> None:
        """Check that each settled attempt is charged once, to the owner of its job."""
        expected: Counter[str] = Counter()
        for _, claim in self.claims:
            used = self.attempts[claim.token][1]
            if used is not None:
                expected[claim.job.key.owner] += used.tokens
        charged = {owner: cost.tokens for owner, cost in usage_by_owner(self.client, "r").items() if cost.tokens}
        assert charged == dict(+expected)
        by_job = [(record.owner, record.spent.tokens) for record in JobHistory(self.client, "r").all()]
        assert sum(tokens for _, tokens in by_job) == sum(charged.values())


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def test_the_accounts_hold_under_any_interleaving(client: Redis) -> None:
    machine = type("Machine", (Races,), {"client": client})
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=int(EXAMPLES or 15),
            stateful_step_count=40,
            derandomize=EXAMPLES is None,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
