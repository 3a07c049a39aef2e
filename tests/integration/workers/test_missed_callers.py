"""The slots, places in line and trial calls at an endpoint of a process that is missed, slow, or ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import pytest
from hypothesis import settings as of_hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis import ConnectionPool, Redis, UnixDomainSocketConnection

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.workers.gate.gate import Gate
from tests.integration.workers.gate_case import NAME, MakeGate, answer, call, entered, refused, vitals
from tests.integration.workers.gate_script_case import ENTER, KEYS, LEAVE, NOW, SECOND, gate, given, ran, slots
from tests.patience import LONGEST

MISSED = 6 * SECOND  # a caller unheard for this long is missed


def ask(client: Redis, caller: str, at: int = NOW, nonce: str = "1", **changed: Any) -> list[Any]:
    """Ask for admission of a caller's call at a time."""
    return ran(client, "enter", [*(ENTER | {"token": f"{caller}:{nonce}"} | changed).values()], now=at)  # type: ignore[no-any-return]


def report(client: Redis, caller: str, at: int = NOW, nonce: str = "1", **changed: Any) -> None:
    ran(client, "leave", [*(LEAVE | {"token": f"{caller}:{nonce}"} | changed).values()], now=at)


def hear(client: Redis, caller: str, at: int, *held: Any, cap: int = 0) -> list[str]:
    """Report a caller as alive, and return the tokens that count again."""
    return ran(client, "renew", ["heard", caller, cap, *held], now=at)  # type: ignore[no-any-return]


# -- what is freed and when --------------------------------------------------------------------------


@pytest.mark.parametrize(("changed", "room"), [({"cap": 1}, 0), ({}, 1)])
def test_the_slot_of_a_missed_caller_is_free_for_another(client: Redis, changed: dict[str, int], room: int) -> None:
    if room:
        given(client, **{"room:m": room})
    assert ask(client, "dead", **changed)[0] == "go"
    assert ask(client, "alive", NOW + 1, **changed)[0] == "wait"
    hear(client, "alive", NOW + MISSED - 1)
    assert ask(client, "alive", NOW + MISSED - 1, **changed)[0] == "wait", "the caller may still report"
    assert ask(client, "alive", NOW + MISSED, **changed)[0] == "go"


def test_a_caller_that_keeps_reporting_keeps_its_slot(client: Redis) -> None:
    ask(client, "slow", cap=1)
    for after in range(SECOND, 5 * MISSED, 2 * SECOND):
        assert hear(client, "slow", NOW + after, "slow:1", NOW + 60 * SECOND, "m", cap=1) == []
        assert ask(client, "other", NOW + after, cap=1)[0] == "wait"


def test_a_returning_caller_counts_its_calls_again_without_taking_slots_of_others(client: Redis) -> None:
    ask(client, "slow", cap=1)
    ask(client, "other", NOW + 5 * SECOND, cap=1, nonce="waits")
    assert ask(client, "other", NOW + MISSED, cap=1)[0] == "go"
    held = ("slow:1", NOW + 60 * SECOND, "m")
    assert hear(client, "slow", NOW + MISSED + 1, *held, cap=1) == ["slow:1"]
    assert hear(client, "slow", NOW + MISSED + 2, *held, cap=1) == [], "once"
    assert slots(client).keys() == {"slow:1", "other:1"}, "two calls really are in flight"
    report(client, "slow", NOW + MISSED + 3)
    assert slots(client).keys() == {"other:1"}
    assert ask(client, "slow", NOW + MISSED + 4, cap=1, nonce="2")[0] == "wait"


def test_a_call_that_ended_while_its_process_returned_holds_no_slot(client: Redis) -> None:
    hear(client, "slow", NOW, "slow:1", NOW + 60 * SECOND, "m", cap=1)
    assert slots(client).keys() == {"slow:1"}
    ran(client, "renew", ["left", "slow:1"])
    assert slots(client) == {}
    assert hear(client, "slow", NOW, "slow:2", NOW, "m", cap=1) == [], "its deadline has passed"


def test_no_caller_is_missed_if_none_was_heard(client: Redis) -> None:
    """Let all callers be silent, as when Redis is down: the first to return must not free the others' slots."""
    ask(client, "one", cap=1)
    back = NOW + 20 * SECOND
    assert ask(client, "other", back, cap=1)[0] == "wait"
    hear(client, "other", back + MISSED - 1)
    assert ask(client, "other", back + MISSED - 1, cap=1)[0] == "wait"
    assert ask(client, "other", back + MISSED + 1, cap=1)[0] == "go", "the caller has had time to report"


def test_a_dead_caller_gets_its_grace_period_only_once(client: Redis) -> None:
    ask(client, "dead", cap=1)
    first, second = NOW + 2 * MISSED, NOW + 4 * MISSED
    assert ask(client, "other", first, cap=1)[0] == "wait"
    assert ask(client, "other", second, cap=1)[0] == "go"


def test_a_caller_that_leaves_normally_frees_its_slots_at_once(client: Redis) -> None:
    ask(client, "one", cap=1)
    ran(client, "renew", ["gone", "one"])
    assert ask(client, "other", NOW + 1, cap=1)[0] == "go"


def test_callers_behind_a_missed_one_move_up_in_line(client: Redis) -> None:
    minute = 60 * SECOND
    limits = {"pace": 10 * SECOND, "cost": 3 * SECOND, "patience": 2 * minute}
    assert ask(client, "alive", **limits)[0] == "go"
    for nonce in "123":
        assert ask(client, "dead", nonce=nonce, **limits)[0] == "wait"
    what, wait, place, token_place = ask(client, "alive", nonce="behind", **limits)
    assert (what, wait) == ("wait", 40 * SECOND)
    hear(client, "alive", NOW + MISSED - 1)
    behind = {"place": place, "token_place": token_place, "waited": 1}
    assert ask(client, "alive", NOW + MISSED, nonce="behind", **limits, **behind)[:2] == ["wait", 4 * SECOND]
    assert ask(client, "alive", NOW + 10 * SECOND, nonce="behind", **limits, **behind)[0] == "go"
    assert ask(client, "alive", NOW + 10 * SECOND, nonce="next", **limits)[:2] == ["wait", 10 * SECOND], (
        "one pace later"
    )


def test_a_waiting_call_that_is_refused_gives_back_its_place(client: Redis) -> None:
    limits = {"pace": 10 * SECOND}
    ask(client, "one", **limits)
    _, _, place, _ = ask(client, "one", nonce="2", **limits)
    assert ask(client, "one", nonce="2", place=place, patience=SECOND, waited=1, **limits)[0] == "late"
    assert ask(client, "one", nonce="3", **limits)[:2] == ["wait", 10 * SECOND]


def test_the_probe_of_a_missed_caller_passes_to_the_next(client: Redis) -> None:
    given(client, state="open", why="http", probe_at=NOW)
    assert ask(client, "dead")[0] == "go"
    assert ask(client, "alive", NOW + 1)[0] == "open"
    hear(client, "alive", NOW + 5 * SECOND)
    assert ask(client, "alive", NOW + MISSED)[0] == "go"
    report(client, "dead", NOW + MISSED)
    assert gate(client)["state"] == "open", "its outcome no longer counts"


def test_the_trial_of_a_model_set_aside_passes_to_the_next_caller_and_the_slow_one_cannot_end_it(client: Redis) -> None:
    given(client, **{"aside:m": f"{NOW} model_missing 2 7"})
    assert ask(client, "slow")[3] == "1"
    assert ask(client, "other", NOW + 1)[0] == "aside"
    hear(client, "other", NOW + 5 * SECOND)
    assert ask(client, "other", NOW + MISSED)[3] == "1"
    report(client, "slow", NOW + MISSED, tried_aside=1, verdict="silent", failure="timeout")
    assert ask(client, "third", NOW + MISSED)[0] == "aside", "the other caller is trying it"
    report(client, "other", NOW + MISSED, tried_aside=1)
    assert "trying:m" not in gate(client)


def test_the_slot_of_an_older_version_is_free_when_it_expires(client: Redis) -> None:
    given(client)
    client.zadd(KEYS[1], {"of-an-older-version": NOW + 30 * SECOND})
    for after in range(0, 30 * SECOND, 3 * SECOND):
        assert ask(client, "one", NOW + after, cap=1)[0] == "wait"
    assert ask(client, "one", NOW + 30 * SECOND, cap=1)[0] == "go"


# -- processes ---------------------------------------------------------------------------------------


def _hold(path: str, slots: int, told: Connection) -> None:
    """Hold slots of an endpoint until this process is killed, and end one call per message."""
    settings = Settings.tuned(endpoints={NAME: Endpoint(concurrency=slots)})
    made = Gate(Redis(unix_socket_path=path), settings, threading.Event())
    held = [entered(made, within=3 * LONGEST) for _ in range(slots)]
    told.send(len(held))
    while told.recv():
        made.leave(held.pop(), answer())


@contextmanager
def holding(client: Redis, slots: int) -> Iterator[tuple[int, Connection]]:
    """Run a process that holds all slots of an endpoint; yield its process id and its pipe."""
    ours, theirs = get_context("spawn").Pipe()
    path = client.connection_pool.connection_kwargs["path"]
    process = get_context("spawn").Process(target=_hold, args=(path, slots, theirs), daemon=True)
    process.start()
    try:
        assert ours.poll(LONGEST)
        assert ours.recv() == slots
        assert process.pid is not None
        yield process.pid, ours
    finally:
        process.kill()
        process.join()


def test_the_slots_of_a_killed_process_are_free_before_its_calls_deadlines(gate_of: MakeGate, client: Redis) -> None:
    alive = gate_of(concurrency=2)
    with holding(client, 2) as (pid, _):
        os.kill(pid, signal.SIGKILL)
        one, other = entered(alive, within=LONGEST), entered(alive, within=LONGEST)
        assert vitals(client).in_flight == 2
        for each in (one, other):
            alive.leave(each, answer())


def test_a_resumed_process_counts_its_calls_again_and_frees_only_its_own(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    alive = gate_of(concurrency=2)
    with holding(client, 2) as (pid, told):
        os.kill(pid, signal.SIGSTOP)
        mine = entered(alive, within=LONGEST)
        os.kill(pid, signal.SIGCONT)
        eventually(lambda: vitals(client).in_flight == 3, "its calls to count again")
        told.send(True)
        eventually(lambda: vitals(client).in_flight == 2, "one of its calls to end")
        assert refused(alive, within=0.2).why == "no_slot"
        told.send(True)
        alive.leave(entered(alive, within=LONGEST), answer())
        alive.leave(mine, answer())
        eventually(lambda: vitals(client).in_flight == 0, "all to end")


def test_a_call_that_ends_during_an_outage_of_redis_frees_its_slot_afterwards(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    pool = ConnectionPool(UnixDomainSocketConnection, **client.connection_pool.connection_kwargs)
    one = Gate(Redis.from_pool(pool), Settings.tuned(endpoints={NAME: Endpoint(concurrency=1)}), threading.Event())
    ended = entered(one, within=3 * LONGEST)

    def move(path: str) -> None:
        pool.connection_kwargs["path"] = path
        pool.reset()

    server = pool.connection_kwargs["path"]
    move(f"{server}.away")
    one.leave(ended, answer())
    one._reports.close()
    assert vitals(client).in_flight == 1, "its report is lost"
    move(server)
    eventually(lambda: vitals(client).in_flight == 0, "the slot to be free")
    one.close()


def test_a_closed_gate_holds_nothing(gate_of: MakeGate, client: Redis) -> None:
    one, other = gate_of(concurrency=1), gate_of(concurrency=1)
    entered(one, within=3 * LONGEST)
    one.close()
    other.leave(entered(other, within=LONGEST), answer())
    other.close()
    assert client.exists(endpoint_keys(NAME)[5]) == 0, "no call is recorded any more"


def test_callers_without_limits_leave_no_trace(gate_of: MakeGate, client: Redis) -> None:
    one = gate_of()
    call(one)
    one.close()
    assert client.exists(*endpoint_keys(NAME)[5:]) == 0


# -- any interleaving --------------------------------------------------------------------------------

CAP, LONG = 2, 3600 * SECOND


class Callers(RuleBasedStateMachine):
    """A state machine of callers that ask, end calls, report, stall and die in any order."""

    client: Redis

    @initialize()
    def begin(self) -> None:
        self.client.flushall()
        self.now, self.asked = NOW, 0
        self.held: dict[str, set[str]] = {name: set() for name in "abc"}  # as each process believes
        self.heard = dict.fromkeys("abc", NOW)  # when each was last heard
        self.counted = dict.fromkeys("abc", True)  # whether it has reported its calls since it was last missed

    def tokens(self) -> set[str]:
        return {*slots(self.client)}

    @rule(caller=st.sampled_from("abc"))
    def ask(self, caller: str) -> None:
        self.asked += 1
        before = self.tokens()
        if ask(self.client, caller, self.now, nonce=str(self.asked), cap=CAP, patience=LONG)[0] == "go":
            token = f"{caller}:{self.asked}"
            self.held[caller].add(token)
            assert token in self.tokens()
            assert len(self.tokens()) <= CAP
        else:
            assert len(self.tokens()) >= CAP
            assert self.tokens() <= before
        self.heard[caller] = self.now

    @rule(caller=st.sampled_from("abc"))
    def is_heard(self, caller: str) -> None:
        held = [part for token in sorted(self.held[caller]) for part in (token, self.now + LONG, "m")]
        hear(self.client, caller, self.now, *held, cap=CAP)
        self.heard[caller], self.counted[caller] = self.now, True

    @precondition(lambda self: any(self.held.values()))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(sorted(set().union(*self.held.values()))))
        before = self.tokens()
        self.held[token[0]].discard(token)
        report(self.client, token[0], self.now, nonce=token[2:])
        assert self.tokens() == before - {token}, "a call frees only its own slot"

    @rule(seconds=st.integers(1, 8))
    def time_goes_on(self, seconds: int) -> None:
        self.now += seconds * SECOND
        for caller, heard in self.heard.items():
            self.counted[caller] &= self.now - heard < MISSED

    @invariant()
    def who_is_heard_keeps_what_it_holds(self) -> None:
        for caller, counted in self.counted.items():
            if counted:
                assert self.held[caller] <= self.tokens()


def test_no_interleaving_exceeds_the_cap_or_takes_slots_of_a_live_caller(client: Redis) -> None:
    class OfThisServer(Callers):
        pass

    OfThisServer.client = client
    run_state_machine_as_test(
        OfThisServer, settings=of_hypothesis(max_examples=30, stateful_step_count=40, deadline=None)
    )
