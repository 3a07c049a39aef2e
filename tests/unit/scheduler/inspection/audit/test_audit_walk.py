"""The auditor's walk along a journal: a run that is what its lines say is not accused, and what is not is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from cogitate.memory.effects import Archive
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.inspection import audit as module
from cogitate.scheduler.inspection.audit import audit, audit_budget
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot, take_snapshot
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Core, Correction, Ended, EndNote, JournalError, Rated, ReadLine, TickNotes
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.kept_run_case import AGAIN, LIVED, PUT_OFF, Tick, changed, kept_run, thought
from tests.unit.scheduler.run_lines_case import ANN, BOB, CY, SOON, decided, opened

ODD = JobKey(3, "think", ANN, 7, 0)


def audited(store: RunStore) -> list[str]:
    return audit(store.client, "town")


@pytest.mark.parametrize(
    ("marked", "trimmed"), [((), 0), ((2,), 0), ((2, 4), 0), ((2,), 2), ((2, 4), 2), ((4,), 4), ((6,), 0)]
)
def test_a_run_that_matches_its_journal_has_no_findings(marked: tuple[int, ...], trimmed: int) -> None:
    assert audited(kept_run(marked=marked, trimmed=trimmed)) == []


def ended(key: JobKey, **fields: Any) -> Any:
    return {"ended": (Ended(key=key, end="applied", **fields),)}


def noted(key: JobKey) -> Any:
    return {"ended": (EndNote(key=key, source="heuristic"),)}


TWICE = "ended twice or was never opened"
FORGED: list[tuple[list[Tick], list[str]]] = [
    (changed(6, ended(SOON), noted(SOON)), [f"tick 6: job {SOON.text()} {TWICE}"]),
    (changed(6, ended(ODD), noted(ODD)), [f"tick 6: job {ODD.text()} {TWICE}"]),
    (changed(6, ended(PUT_OFF), noted(PUT_OFF)), [f"tick 6: job {PUT_OFF.text()} {TWICE}"]),
    (
        changed(4, {"decided": (*LIVED[3][0]["decided"], decided(SOON, "dropped", "run:0 run calls"))}),
        [f"tick 4: job {SOON.text()} was decided twice"],
    ),
    (
        changed(4, {"decided": (*LIVED[3][0]["decided"], decided(PUT_OFF, "dropped", "run:0 run calls"))}),
        [f"tick 4: job {PUT_OFF.text()} was decided twice"],
    ),
    (
        changed(3, {"decided": (decided(ODD, "dropped", "a"), decided(ODD, "dropped", "a"))}),
        [f"tick 3: job {ODD.text()} was decided twice"],
    ),
    (
        changed(3, {"decided": (decided(ODD._replace(trial=1), "dropped", "a"),)}),
        [f"tick 3: job {ODD._replace(trial=1).text()} is not the announced successor"],
    ),
    (
        changed(4, {"decided": ()}),
        [f"tick 4: no successor {AGAIN.text()}", f"tick 5: job {AGAIN.text()} {TWICE}"],
    ),
    (
        changed(6, notes={"corrected": (Correction(key=SOON, at=5),)}),
        [f"tick 6: job {SOON.text()} was corrected but did not count in full"],
    ),
]


@pytest.mark.parametrize(("ticks", "said"), FORGED, ids=[said[0] for _, said in FORGED])
@pytest.mark.parametrize("trimmed", [0, 2])
def test_impossible_jobs_are_found(ticks: list[Tick], said: list[str], trimmed: int) -> None:
    found = audited(kept_run(ticks, marked=(2,), trimmed=trimmed))
    if not trimmed:
        assert found == said
    elif "decided twice" in said[0] and PUT_OFF.text() in said[0]:
        assert found == [], "its decision is among what was removed"
    else:
        assert set(said) <= set(found)


def test_an_unshown_memory_is_found_from_the_state_before_the_line() -> None:
    effects = (Archive(owner=ANN, numbers=(1,), into_summary=True, shown=()),)
    ticks = changed(
        3,
        {"ended": (*LIVED[2][0]["ended"][1:], Ended(key=SOON, end="applied", effects=effects))},
        {"ended": (*LIVED[2][1]["ended"][1:], EndNote(key=SOON, source="llm"))},
    )
    (found, *_) = audited(kept_run(ticks))
    assert found == f"tick 3: job {SOON.text()} archived entries [1], which its prompt did not show"


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({"end": "stale"}, f"tick 3: job {SOON.text()} ended stale, but: all holds"),
        ({"end": "applied", "effects": (Archive(owner=ANN, numbers=(7,)),)}, "ended applied, but: "),
        ({"end": "applied", "effects": (thought("agent:zoe", "Who am I?"),)}, "but: owner 'agent:zoe' has left"),
    ],
)
def test_an_impossible_tick_is_not_part_of_a_journal(ended: Any, said: str) -> None:
    ticks = changed(
        3,
        {"ended": (*LIVED[2][0]["ended"][1:], Ended(key=SOON, **ended))},
        {"ended": (*LIVED[2][1]["ended"][1:], EndNote(key=SOON, source="llm"))},
    )
    streams: dict[str, Stream] = {}
    for line in read_journal(kept_run(), 1, 2):
        redo(line, streams)
    core = Core(tick=3, minute=3, **ticks[2][0])
    with pytest.raises(JournalError, match=re.escape(said)):
        redo(ReadLine(core, TickNotes(epoch=1), "", ""), streams)
    core = Core(tick=3, minute=3, rated=(Rated("agent:zoe", 1, 5),))
    with pytest.raises(JournalError, match=r"tick 3: the journal changes what does not exist: KeyError\('agent:zoe'\)"):
        redo(ReadLine(core, TickNotes(epoch=1), "", ""), streams)


def test_a_line_that_cannot_be_redone_ends_the_walk_and_not_the_audit() -> None:
    store = kept_run()
    store.client.lset(store.key("journal"), 4, "odd")
    store.client.set(store.prefix + "noise", 1)
    (journal, key) = audited(store)
    assert journal.startswith("tick 5: ")
    assert key.endswith("noise' is stray")


HARM: list[tuple[Callable[[RunStore, Any], object], list[str]]] = [
    (lambda s, c: c.hset(s.key("state"), "digest", "0"), ["the run's digest 0 and chain "]),
    (lambda s, c: c.hset(s.key("state"), "chain", "0"), ["and chain 0 differ from the journal's "]),
    (lambda s, c: c.rpush(s.key("journal"), "more"), ["the journal has 5 lines, but the run is at tick 6 and was tri"]),
    (lambda s, c: c.hset(s.key("owners"), ANN, msgspec.json.encode(Profile(name="Zoe"))), ["profiles differ"]),
    (lambda s, c: c.hset(s.key("facts"), "1", msgspec.json.encode(Facts(morning=1))), ["the run's facts differ"]),
    (lambda s, c: c.hset(s.key("state"), "loop", "{"), ["the run's state cannot be read: "]),
    (lambda s, c: c.hset(s.key("state"), "loop", '{"deferred":7}'), ["the run's state cannot be read: "]),
    (lambda s, c: c.hset(s.key("view"), "run:0|run|calls", 9), ["admission's view of run:0|run|calls is 9, but"]),
    (lambda s, c: c.hset(s.key("unsettled"), "1/a/b/0/0", "t"), ["job 1/a/b/0/0: is to be corrected by t", "does not"]),
    (lambda s, c: c.hset(s.key("offered"), "1/a/b/0/0", "{"), ["has a late answer that is not awaited", "cannot be"]),
    (lambda s, c: c.hset(s.owner_key("entries", BOB), "1", "{}"), [f"{BOB}: "]),
    (lambda s, c: c.hset(s.owner_key("entries", CY), "9", "{}"), [f"{CY}: "]),
    (lambda s, c: c.hdel(s.key("journal_checkpoints"), "2"), ["tick 2: the journal was trimmed up to here"]),
    (
        lambda s, c: c.sadd(s.key("windows"), "run:0") and c.hset(s.window_key("run:0"), "run|calls|spent", -1),
        ["negative account", "latest attempts hold or cost -1"],
    ),
]


@pytest.mark.parametrize(("harm", "said"), HARM, ids=[said[0] for _, said in HARM])
def test_each_part_of_the_ledger_is_held_against_the_journal(
    harm: Callable[[RunStore, Any], object], said: Sequence[str]
) -> None:
    store = kept_run(marked=(2, 4), trimmed=2)
    harm(store, store.client)
    found = audited(store)
    assert len(found) >= len(said)
    assert all(part in one for part, one in zip(said, found, strict=False)), found


def test_an_open_job_of_the_ledger_that_the_journal_does_not_know_is_named() -> None:
    store = kept_run()
    names = [f"9/think/{ANN}/{number}/0" for number in range(7)]
    store.client.sadd(store.key("jobs"), *names)
    found = audited(store)
    assert f"open jobs differ from the journal's: {names[:5]}" in found
    store = kept_run(changed(6, {"decided": (decided(ODD),)}, {"opened": opened(ODD)}))
    assert f"open jobs differ from the journal's: ['{ODD.text()}']" in audited(store)


def test_attempts_of_unknown_jobs_are_reported_unless_their_line_was_trimmed() -> None:
    for trimmed, wrong in ((0, ["1/think/agent:zoe/0/0", "3/think/agent:zoe/0/0"]), (2, ["3/think/agent:zoe/0/0"])):
        store = kept_run(marked=(2,), trimmed=trimmed)
        for tick in (1, 3):
            attempt = {"job": f"{tick}/think/agent:zoe/0/0", "tick": tick, "cells": [], "reserved": [0, 0, 0]}
            store.client.hset(store.key("lost"), f"t{tick}", msgspec.json.encode(attempt))
        assert [one.split()[7].rstrip(",") for one in audited(store) if "never existed" in one] == wrong


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"totals": RunTotals(tick=4)}, "tick 4: the checkpoint differs from the lines before it"),
        ({"streams": {}}, "tick 4: the stream of 'agent:ann' is not what the journal's checkpoint says"),
        ({"retired": {CY: "x"}}, "tick 4: the stream of 'agent:cy' is not what the journal's checkpoint says"),
    ],
)
def test_a_checkpoint_is_held_against_the_lines_before_it(wrong: dict[str, Any], said: str) -> None:
    assert audited(kept_run(marked=(4,), of_checkpoints=wrong))[0] == said


def test_owners_that_left_in_trimmed_lines_come_from_the_checkpoint() -> None:
    store = kept_run([*LIVED, ({}, {})], marked=(6,), trimmed=6)
    assert audited(store) == []
    store.client.hset(store.key("heads"), CY, "{}")
    assert audited(store) == [f"{CY}: its stream changed after it left"]


def test_a_run_that_is_trimmed_while_it_is_audited_is_audited_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store, taken = kept_run(marked=(2,)), list[int]()

    def take(of: RunStore) -> AccountsSnapshot:
        found = take_snapshot(of)
        taken.append(found.trimmed)
        if len(taken) == 1:  # the host removes lines before the walk begins
            store.client.ltrim(store.key("journal"), 2, -1)
            store.client.hset(store.key("state"), "trimmed", 2)
        return found

    monkeypatch.setattr(module, "take_snapshot", take)
    assert audited(store) == []
    assert taken[:2] == [0, 2]


def test_the_lines_of_one_window_can_be_audited() -> None:
    store = kept_run()
    assert audit_budget(store) == []
    store.client.sadd(store.key("windows"), "day:0")
    store.client.hset(store.window_key("day:0"), "run|calls|reserved", -1)
    (found,) = audit_budget(store)
    assert "negative account (reserved -1, spent 0)" in found
