"""What readers say of a run's jobs, one by one, also where the journal was trimmed, and of what a host resumes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cogitate.memory.effects import Append, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import DecidedLine
from cogitate.scheduler.config.facts import SCHEMA, Facts
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import NEWEST, JobQuery, JobRecord, Position
from cogitate.scheduler.journal.checkpoint import packed
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import (
    Core,
    Correction,
    Ended,
    EndNote,
    JournalError,
    TickNotes,
    write_line,
)
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.journal.unreadable_entries import check_kind_wrote
from cogitate.scheduler.ledger.errors import RunAltered
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.restore import Seals
from cogitate.tasks.job import Cost, Job, JobKey
from tests.unit.scheduler.journal_case import Journal
from tests.unit.scheduler.run_lines_case import (
    ANN,
    BOB,
    CY,
    GONE,
    LATE,
    MORE,
    OPEN,
    RESERVED,
    SOON,
    TICKS,
    USED,
    decided,
    lines,
    opened,
    put,
    store_of,
    trimmed_store,
)

# -- jobs one by one ---------------------------------------------------------------------------------


def names(found: Any) -> list[str]:
    return [record.id.removeprefix("town/") for record in found]


ALL = [OPEN.text(), SOON.text(), LATE.text(), GONE.text()]


@pytest.mark.parametrize(("last", "found"), [(0, ALL), (1, ALL[:1]), (2, ALL[:2]), (4, ALL), (9, ALL)])
def test_the_newest_jobs_are_open_ones_then_the_latest_ended(store: RunStore, last: int, found: list[str]) -> None:
    assert names(JobHistory(store.client, "town").newest(last)) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (JobQuery(kind="muse"), [GONE]),
        (JobQuery(owner=CY), [OPEN, GONE]),
        (JobQuery(state="late"), [LATE]),
        (JobQuery(state="applied"), [SOON, LATE]),
        (JobQuery(state="open"), [OPEN]),
        (JobQuery(state="denied"), [GONE]),
        (JobQuery(kind="think", owner=CY), [OPEN]),
        (JobQuery(kind="hum"), []),
    ],
)
def test_jobs_are_found_by_kind_owner_and_state(store: RunStore, asked: JobQuery, found: list[JobKey]) -> None:
    assert names(JobHistory(store.client, "town").newest(0, asked)) == [key.text() for key in found]


@pytest.mark.parametrize("most", [1, 2, 3, 9])
@pytest.mark.parametrize("read", [1, 2, 99])
def test_pages_follow_each_other_without_a_gap_or_a_repeat(store: RunStore, most: int, read: int) -> None:
    history, found, start = JobHistory(store.client, "town"), [], NEWEST
    while start is not None:
        page = history.page(JobQuery(), start, most=most, read=read)
        found += names(page.jobs)
        assert len(page.jobs) <= most
        start = page.older
    assert found == ALL


def test_a_page_reads_no_more_ticks_than_it_may(store: RunStore) -> None:
    page = JobHistory(store.client, "town").page(JobQuery(kind="hum"), most=1, read=1)
    assert (page.jobs, page.older, page.since) == ([], Position(len(TICKS) - 1), len(TICKS))


@pytest.mark.parametrize("text", ["", "4", "4.", "4.x", "-4.1", "4.1.1", "4.1" + "0" * 20])
def test_a_wrong_position_is_named(text: str) -> None:
    with pytest.raises(InputError, match="is not a position"):
        Position.parse(text)


def test_all_jobs_are_ordered_by_their_ends(store: RunStore) -> None:
    assert names(JobHistory(store.client, "town").all()) == [GONE.text(), SOON.text(), LATE.text(), OPEN.text()]


def test_an_open_job_names_its_worker(store: RunStore) -> None:
    found = JobHistory(store.client, "town").find(OPEN)
    assert (found.state, found.reason, found.claims, found.workers) == ("open", "none", 1, ("w",))
    assert (found.reserved, found.cells) == (RESERVED, ("day:0 run", "run:0 run"))


def test_a_job_includes_all_facts_known_after_its_end(store: RunStore) -> None:
    found = JobHistory(store.client, "town").find(LATE)
    assert (found.ended, found.reason, found.source, found.model) == (3, "late", "heuristic", "default")
    assert (found.usage, found.retried, found.settled) == (USED, MORE, True)
    assert found.spent == Cost(calls=2, tokens=12)


def test_a_job_of_unknown_cost_is_not_settled() -> None:
    found = JobHistory(store_of(lines(ticks=TICKS[:5])).client, "town").find(LATE)
    assert (found.usage, found.retried, found.settled) == (Cost(), MORE, False)


def test_a_job_without_a_request_is_a_journal_fault() -> None:
    odd = JobKey(1, "think", ANN, 9, 0)
    ends = {"ended": (Ended(key=odd, end="applied"),)}, {"ended": (EndNote(key=odd, source="llm"),)}
    store = store_of(lines(ticks=[TICKS[0], ends]))
    with pytest.raises(JournalError, match=f"tick 1: the journal has no decision for job {odd.text()}"):
        JobHistory(store.client, "town").newest(0)


def test_an_unknown_job_is_named(store: RunStore) -> None:
    with pytest.raises(InputError, match="has no job 'town/2/think/agent:ann/0/0'"):
        JobHistory(store.client, "town").find(JobKey(2, "think", ANN, 0, 0))


def test_a_job_that_ends_during_the_read_is_not_open(store: RunStore) -> None:
    store.client.sadd(store.key("jobs"), JobKey(4, "think", ANN, 7, 0).text())
    assert names(JobHistory(store.client, "town").newest(1)) == [OPEN.text()]


#: The late job's answer comes at the fifth tick; its kind could use it.
ANSWERED_LATE: tuple[dict[str, Any], dict[str, Any]] = (
    {"late": (Ended(key=LATE, end="stale", effects=(SetCounter(owner=BOB, name="n", value=1),)),)},
    {
        "late": (
            EndNote(
                key=LATE,
                source="llm",
                usage=MORE,
                saved=True,
                model="large",
                prompt="abc",
                failure="entry 3 is provisional no more",
                appended=(7,),
            ),
        )
    },
)


def test_a_late_answer_is_included_in_its_job() -> None:
    store = store_of(lines(ticks=[*TICKS[:4], ANSWERED_LATE, TICKS[5]]))
    found = JobHistory(store.client, "town").find(LATE)
    assert found.late is not None
    assert msgspec.to_builtins(found.late) == {
        "tick": 5,
        "end": "stale",
        "source": "llm",
        "usage": msgspec.to_builtins(MORE),
        "saved": True,
        "model": "large",
        "prompt": "abc",
        "failure": "entry 3 is provisional no more",
        "appended": (7,),
        "tries": (),
        "effects": msgspec.to_builtins(ANSWERED_LATE[0]["late"][0].effects),
    }
    assert [one.late for one in JobHistory(store.client, "town").all() if one.id == found.id] == [found.late]
    assert next(one for one in JobHistory(store.client, "town").newest(0) if one.id == found.id).late == found.late


def test_the_facts_of_an_end_are_included() -> None:
    note = EndNote(
        key=SOON,
        source="cached",
        usage=USED,
        saved=True,
        attempts=3,
        model="large",
        prompt="abc",
        failure="server",
        empty="day:0 run calls",
        because="auth",
        refusal="no text",
        appended=(4, 5),
        retried=MORE,
    )
    end = Ended(key=SOON, end="stale", effects=(SetCounter(owner=ANN, name="n", value=1),))
    store = store_of(lines(ticks=[TICKS[0], ({"ended": (end,)}, {"ended": (note,)})]))
    found = JobHistory(store.client, "town").find(SOON)
    assert (found.state, found.ended, found.reason, found.source) == ("stale", 2, "none", "cached")
    assert (found.usage, found.saved, found.retried, found.claims, found.settled) == (USED, True, MORE, 3, True)
    assert (found.model, found.prompt, found.failure) == ("large", "abc", "server")
    assert (found.empty, found.because, found.refusal) == ("day:0 run calls", "auth", "no text")
    assert (found.appended, found.effects, found.late) == ((4, 5), end.effects, None)
    assert found.spent == MORE, "what was saved is not spent"


#: The first of two jobs is late after a single attempt; first its cost becomes known, and an answer later.
ONE_ATTEMPT = (
    TICKS[2][0],
    {"ended": (TICKS[2][1]["ended"][0], EndNote(key=LATE, source="heuristic", attempts=1, failure="server"))},
)


def test_a_late_job_is_read_until_cost_and_answer_are_known() -> None:
    quiet: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    ticks = [*TICKS[:2], ONE_ATTEMPT, quiet, TICKS[5], quiet, ANSWERED_LATE, quiet]
    found = JobHistory(store_of(lines(ticks=ticks)).client, "town").find(LATE)
    assert (found.settled, found.usage) == (True, USED)
    assert found.late is not None
    assert found.late.tick == 7
    ticks = [*TICKS[:2], ONE_ATTEMPT, ANSWERED_LATE, quiet, TICKS[5]]
    found = JobHistory(store_of(lines(ticks=ticks)).client, "town").find(LATE)
    assert (found.settled, found.usage, found.late is not None) == (True, USED, True)


def test_reading_all_jobs_keeps_no_ended_requests(store: RunStore) -> None:
    history = JobHistory(store.client, "town")
    list(history.all())
    assert set(history._openings) == {OPEN}


PUT_OFF, NEXT = JobKey(2, "muse", ANN, 1, 0), JobKey(5, "muse", ANN, 1, 1)


def test_each_job_is_complete() -> None:
    deferred = DecidedLine(key=PUT_OFF, decision="deferred", due=0, refused="run:0 run calls", successor=NEXT)
    ticks = [TICKS[0], ({"decided": (*TICKS[1][0]["decided"], deferred)}, {}), TICKS[2]]
    store = store_of(lines(ticks=ticks))
    cells = ("day:0 run", "run:0 run")
    first, *others = JobHistory(store.client, "town").all()
    assert (first, others[0]) == (
        JobRecord(
            id="town/2/muse/agent:cy/0/0",
            kind="muse",
            owner=CY,
            tick=2,
            state="dropped",
            decision="dropped",
            refused="run:0 kind:muse calls",
            due=4,
            successor="",
            reason="denied",
            ended=2,
        ),
        JobRecord(
            id="town/2/muse/agent:ann/1/0",
            kind="muse",
            owner=ANN,
            tick=2,
            state="deferred",
            decision="deferred",
            refused="run:0 run calls",
            due=0,
            successor="town/5/muse/agent:ann/1/1",
            reason="denied",
            ended=2,
        ),
    )
    assert others[1:] == [
        JobRecord(
            id="town/1/think/agent:ann/0/0",
            kind="think",
            owner=ANN,
            tick=1,
            state="applied",
            decision="admitted",
            refused="",
            due=3,
            successor="",
            reason="none",
            ended=3,
            source="llm",
            reserved=RESERVED,
            cells=cells,
            claims=1,
            usage=USED,
            model="default",
        ),
        JobRecord(
            id="town/1/think/agent:bob/0/0",
            kind="think",
            owner=BOB,
            tick=1,
            state="applied",
            decision="admitted",
            refused="",
            due=3,
            successor="",
            reason="late",
            ended=3,
            source="heuristic",
            reserved=RESERVED,
            cells=cells,
            claims=2,
            settled=False,
            model="default",
            failure="server",
        ),
    ]
    assert JobHistory(store.client, "town").find(PUT_OFF) == others[0]


def test_an_open_job_is_complete(store: RunStore) -> None:
    store.client.hset(store.job_key(OPEN.text()), mapping={"failure": "server", "empty": "day:0 run calls"})
    other = msgspec.json.encode({"job": SOON.text(), "worker": "nobody"})
    again = msgspec.json.encode({"job": OPEN.text(), "worker": "v"})
    store.client.hset(store.key("attempts"), mapping={"u": other, "x": again})
    assert JobHistory(store.client, "town").find(OPEN) == JobRecord(
        id="town/4/think/agent:cy/0/0",
        kind="think",
        owner=CY,
        tick=4,
        state="open",
        decision="admitted",
        refused="",
        due=6,
        successor="",
        reason="none",
        reserved=RESERVED,
        cells=("day:0 run", "run:0 run"),
        claims=1,
        workers=("v", "w"),
        model="default",
        failure="server",
        empty="day:0 run calls",
    )


def test_open_jobs_are_ordered_by_newest_tick_then_name() -> None:
    keys = [JobKey(tick, "think", owner, 0, 0) for tick, owner in ((4, CY), (5, BOB), (5, ANN), (6, CY))]
    ticks: list[Any] = [
        ({"decided": tuple(decided(key) for key in keys if key.tick == tick)}, {}) for tick in range(1, 7)
    ]
    store = store_of(lines(ticks=ticks))
    for key in keys:
        put(store, key, job=msgspec.json.encode(Job(run="town", key=key, minute=4, due=9, reads=())))
    history = JobHistory(store.client, "town")
    assert names(history.newest(0)) == [keys[3].text(), keys[2].text(), keys[1].text(), keys[0].text()]
    assert names(history.all()) == [keys[0].text(), keys[2].text(), keys[1].text(), keys[3].text()]
    assert names(history.newest(2)) == [keys[3].text(), keys[2].text()]


@pytest.mark.parametrize(("minutes", "known"), [(1_440, True), (1_441, False)])
def test_corrections_of_a_job_are_read_for_a_game_day(minutes: int, known: bool) -> None:
    found, digest, chain = list[bytes](), "", ""
    correction = Correction(key=LATE, usage=USED, at=4)
    ticks = [*TICKS[:3], ({}, {}), ({}, {"corrected": (correction,)})]
    for tick, (core, notes) in enumerate(ticks, 1):
        minute = {4: 3 + minutes, 5: 3 + minutes + 1}.get(tick, tick)
        line, digest, chain = write_line(
            Core(tick=tick, minute=minute, **core), TickNotes(epoch=1, **notes), digest, chain, SCHEMA
        )
        found.append(line)
    told = JobHistory(store_of(found).client, "town").find(LATE)
    assert (told.settled, told.usage) == ((True, USED) if known else (False, Cost()))


# -- of a trimmed journal ----------------------------------------------------------------------------


def test_jobs_that_ended_after_the_trimmed_lines_are_unaffected(store: RunStore) -> None:
    trimmed = trimmed_store()
    for key in (SOON, LATE, OPEN):
        assert JobHistory(trimmed.client, "town").find(key) == JobHistory(store.client, "town").find(key)
    history = JobHistory(trimmed.client, "town")
    assert history.trimmed == 2
    assert names(history.all()) == [SOON.text(), LATE.text(), OPEN.text()]
    assert names(JobHistory(trimmed.client, "town").newest(0)) == [OPEN.text(), SOON.text(), LATE.text()]


@pytest.mark.parametrize("tick", [1, 2])
def test_a_job_that_may_have_ended_in_trimmed_lines_is_unknown(tick: int) -> None:
    with pytest.raises(InputError, match=r"is unknown: .* before tick 3, the first in the trimmed journal of run"):
        JobHistory(trimmed_store().client, "town").find(JobKey(tick, "muse", CY, 0, 0))
    for never in (0, 3):
        with pytest.raises(InputError, match="run 'town' has no job"):
            JobHistory(trimmed_store().client, "town").find(JobKey(never, "muse", CY, 0, 0))


def test_dead_and_refused_jobs_state_their_reason_before_their_end() -> None:
    keys = [JobKey(4, "muse", CY, number, 0) for number in range(3)]
    ticks = [*TICKS[:3], ({"decided": (decided(OPEN), *map(decided, keys))}, {"opened": opened(OPEN)})]
    store = store_of(lines(ticks=ticks))
    states = (("dead", ""), ("held", "day:0 run calls"), ("held", "too_slow"))
    for key, (state, refused) in zip(keys, states, strict=True):
        job = Job(run="town", key=key, minute=4, due=6, reads=(), refused=refused)
        store.client.hset(store.job_key(key.text()), "failure", "server")
        put(store, key, state=state, job=msgspec.json.encode(job))
    found = [(one.state, one.reason, one.failure) for one in JobHistory(store.client, "town").newest(3)]
    assert found == [("dead", "dead", "server"), ("held", "denied", "server"), ("held", "too_slow", "server")]


# -- what a resuming host holds against the journal --------------------------------------------------


def written(number: int, text: str, **fields: Any) -> Entry:
    return Entry(type="reflection", text=text, minute=1, number=number, tick=1, **fields)


def test_unreadable_entries_of_their_own_kind_are_skipped() -> None:
    effects = tuple(Append(owner=ANN, entry=Entry(type="reflection", text=text, minute=1)) for text in "ab")
    ended = Ended(key=SOON, end="applied", effects=(SetCounter(owner=ANN, name="n", value=1), *effects))
    note = EndNote(key=SOON, source="llm", appended=(4, 6))
    store = store_of(lines(ticks=[({"ended": (ended,)}, {"ended": (note,)})]))
    check_kind_wrote(store, ANN, written(6, "b"))
    check_kind_wrote(store, ANN, written(6, "b", importance=4, rated=3))
    for owner, entry in ((ANN, written(6, "a")), (ANN, written(5, "b")), (BOB, written(6, "b"))):
        with pytest.raises(ValueError, match=f"entry {entry.number} of {owner} differs from the journal"):
            check_kind_wrote(store, owner, entry)


def test_the_checkpoint_of_a_trimmed_journal_names_a_kinds_entries() -> None:
    made = Stream(ANN)
    kept = made.append(written(0, "b"), 1)
    store = Journal(streams={ANN: made}).store(4)
    store.client.hset(store.checkpoint_streams_key(4), ANN, packed(dump(made)))
    check_kind_wrote(store, ANN, kept)
    check_kind_wrote(store, ANN, msgspec.structs.replace(kept, importance=4, rated=3))
    other = msgspec.structs.replace
    for owner, entry in ((BOB, kept), (ANN, other(kept, number=2)), (ANN, other(kept, text="a"))):
        with pytest.raises(ValueError, match=f"entry {entry.number} of {owner} differs from the journal"):
            check_kind_wrote(store, owner, entry)
    at_once = other(kept, tick=4)  # of the last tick that was removed
    with pytest.raises(ValueError, match="differs from the journal"):
        check_kind_wrote(store, ANN, at_once)
    with pytest.raises(ValueError, match="differs from the journal"):
        check_kind_wrote(Journal().store(), ANN, other(kept, tick=0))


def test_without_seals_a_run_is_compared_with_its_journal() -> None:
    store = store_of(lines())
    streams: dict[str, Stream] = {}
    for line in read_journal(store, 1, 6):
        redo(line, streams)
    whole: dict[str, Any] = {
        "run": "town",
        "facts_at": {1: Facts()},
        "profiles": {o: Profile(name=o) for o in (ANN, BOB, CY)},
    }
    sound: Any = SimpleNamespace(**whole, streams=streams, retired=set())
    Seals().check(store, sound, 6)
    streams[BOB].append(Entry(type="observation", text="A cow.", minute=1), 6)
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, BOB),
        ({"facts_at": {1: Facts(morning=1)}}, "facts"),
        ({"profiles": {}}, "owners"),
    )
    for changed, told in changes:
        state: Any = SimpleNamespace(**whole | changed, streams=streams, retired=set())
        with pytest.raises(RunAltered, match=told):
            Seals().check(store, state, 6)
