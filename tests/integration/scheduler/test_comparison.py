"""Comparisons of two runs of a small world, one with a planted change, name the change and its first effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import SetCharacter
from cogitate.memory.entry import Character, Entry
from cogitate.memory.profile import Location, Profile
from cogitate.ops.commands.compare import comparison_lines
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.report.comparison_page import comparison_page
from cogitate.scheduler.config.controls import Control, SetCadence, SetLimit
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.compared.first_difference import Cause
from cogitate.scheduler.inspection.comparison import Comparison, compare_runs
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.steering.operators import ask
from tests.integration.scheduler.test_trimming import RUN, TRIMMED, settings_of
from tests.integration.scheduler.test_trimming import TICKS as DAYS_TICKS
from tests.integration.scheduler.test_trimming import live as live_for_days
from tests.live_redis import empty_redis

ADA, BEN, CLEO = "agent:ada", "agent:ben", "agent:cleo"
OWNERS = {ADA: Profile(name="Ada"), BEN: Profile(name="Ben"), CLEO: Profile(name="Cleo")}
PLACES = (Location(id="mill", name="Old Mill"), Location(id="inn", name="The Inn"))
TICKS = 40
Seen = list[tuple[str, Entry]]


class Change(NamedTuple):
    """The differences of the second run."""

    seen: Callable[[int, Seen], Seen] = lambda tick, seen: seen
    owners: Mapping[str, Profile] = OWNERS
    places: Sequence[Location] = PLACES
    asked: Mapping[int, Sequence[Control]] = {}
    reflects: Mapping[int, str] = {}  # requests beyond the usual ones
    effects: Mapping[int, str] = {}  # owners whose character the world sets
    settings: Mapping[str, Any] = {}
    model: int | None = None  # seed of the stand-in; None: heuristics


def entry(tick: int, text: str, importance: int = 5, subjects: tuple[str, ...] = ()) -> Entry:
    return Entry(type="observation", text=text, minute=1080 + tick, importance=importance, subjects=subjects)


def usual(tick: int) -> Seen:
    """Return what each owner observes at every fifth tick."""
    if tick % 5:
        return []
    return [
        (owner, entry(tick, f"A {what} passes door {tick}."))
        for owner, what in zip(OWNERS, ("dog", "cart", "monk"), strict=True)
    ]


def live(client: Redis, run: str, folder: Path, change: Change = Change()) -> None:  # noqa: B008
    usual_settings: dict[str, Any] = {"limits": {}, "guarantees": {}, "act_interval": 0, "data_dir": folder}
    if change.model is None:
        _live(client, run, change, usual_settings)
        return
    with FakeEndpoint(seed=change.model) as endpoint:
        asking = {"llm": "openai", "base_url": endpoint.url, "api_key": SecretStr("any"), "limit_tokens": 1_000_000}
        _live(client, run, change, usual_settings | asking)


def _live(client: Redis, run: str, change: Change, settings: dict[str, Any]) -> None:
    with TickLoop(
        run=run,
        owners=change.owners,
        locations=change.places,
        ticks=TICKS,
        settings=Settings.tuned(**(settings | dict(change.settings))),
        inline=True,
        client=client,
        start_minute=1080,
    ) as loop:
        for tick in loop:
            for owner, seen in change.seen(tick.number, usual(tick.number)):
                loop.observe(owner, seen)
            if tick.number in (12, 27):
                for owner in OWNERS:
                    if owner in change.owners:
                        loop.request("reflect", owner)
            if owner := change.reflects.get(tick.number):
                loop.request("reflect", owner)
            if owner := change.effects.get(tick.number):
                loop.apply(SetCharacter(owner=owner, character=Character(objectives=("Run the mill.",))))
            if controls := change.asked.get(tick.number):
                ask(client, run, controls, wait=0)


def at(tick: int, change: Callable[[Seen], Seen]) -> Callable[[int, Seen], Seen]:
    return lambda now, seen: change(seen) if now == tick else seen


class Case(NamedTuple):
    name: str
    change: Change
    cause: Cause
    tick: int
    owner: str = ""  # the owner of the cause
    said: str = ""  # text of the difference, in either run
    effect: str = ""  # the first owner whose memory differs; "": none
    base: Change = Change()


CASES = [
    Case("dropped", Change(seen=at(10, lambda seen: seen[1:])), "observation", 10, ADA, "A dog passes door 10.", ADA),
    Case(
        "dropped in the middle",
        Change(seen=at(15, lambda seen: [seen[0], seen[2]])),
        "observation",
        15,
        BEN,
        "A cart passes door 15.",
        BEN,
    ),
    Case(
        "added",
        Change(seen=at(7, lambda seen: [(CLEO, entry(7, "A bell rings."))])),
        "observation",
        7,
        CLEO,
        "A bell rings.",
        CLEO,
    ),
    Case(
        "rewritten",
        Change(seen=at(20, lambda seen: [seen[0], (BEN, entry(20, "A wolf passes.")), seen[2]])),
        "observation",
        20,
        BEN,
        "A wolf passes.",
        BEN,
    ),
    Case("trait", Change(owners=OWNERS | {BEN: Profile(name="Ben", traits=("bold",))}), "profile", 1, BEN, "bold", BEN),
    Case("setting of memory", Change(settings={"max_observations": 30}), "setting", 1, "", "30"),
    Case(
        "cadence by an operator",
        Change(asked={9: [SetCadence("reflect", 250)]}),
        "operator",
        10,
        "",
        "cadence of reflect to 0.25",
    ),
    Case("request of the host", Change(reflects={18: CLEO}), "request", 18, CLEO, "reflect", CLEO),
    Case("answer of the model", Change(model=2), "model", 0, "", "llm", base=Change(model=1), effect=ADA),
    Case("effect of the world", Change(effects={13: ADA}), "world", 13, ADA, "Run the mill.", ADA),
    Case(
        "dropped last",
        Change(seen=at(25, lambda seen: seen[:2])),
        "observation",
        25,
        CLEO,
        "A monk passes door 25.",
        CLEO,
    ),
    Case(
        "given to another",
        Change(seen=at(10, lambda seen: [(CLEO, seen[0][1]), *seen[1:]])),
        "observation",
        10,
        ADA,
        "A dog passes door 10.",
        effect=ADA,
    ),
    Case(
        "a tick late",
        Change(
            seen=lambda tick, seen: (
                [(ADA, entry(10, "A dog passes door 10."))] if tick == 11 else seen[1:] if tick == 10 else seen
            )
        ),
        "observation",
        10,
        ADA,
        "A dog passes door 10.",
        ADA,
    ),
    Case(
        "more important",
        Change(seen=at(30, lambda seen: [(ADA, entry(30, "A dog passes door 30.", 9)), *seen[1:]])),
        "observation",
        30,
        ADA,
        "importance 9",
        ADA,
    ),
    Case(
        "one owner fewer",
        Change(owners={ADA: OWNERS[ADA], BEN: OWNERS[BEN]}, seen=lambda tick, seen: seen[:2]),
        "profile",
        1,
        CLEO,
        "Cleo",
        CLEO,
    ),
    Case("another place", Change(places=PLACES[:1]), "setting", 1, "", "locations"),
    Case(
        "limit by an operator",
        Change(asked={20: [SetLimit("day.run.jobs", 1)]}),
        "operator",
        21,
        "",
        "day.run.jobs",
        effect=ADA,
    ),
    Case(
        "limit in the settings",
        Change(settings={"limits": {"day.run.jobs": 1}}),
        "setting",
        0,
        "",
        "day.run.jobs",
        effect=BEN,
    ),
    Case(
        "added with a subject",
        Change(seen=at(22, lambda seen: [(BEN, entry(22, "Ada sings.", 6, (ADA,)))])),
        "observation",
        22,
        BEN,
        "Ada sings.",
        BEN,
    ),
    Case("a model instead of heuristics", Change(model=1), "setting", 1, "", "models", effect=ADA),
]


def compared(case: Case, folder: Path) -> Comparison:
    client = empty_redis()
    live(client, "usual", folder, case.base)
    live(client, "changed", folder, case.change)
    return compare_runs(client, "usual", "changed", folder)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_planted_change_is_named_with_its_first_effect(case: Case, tmp_path: Path) -> None:
    found = compared(case, tmp_path)
    first = found.difference
    assert first is not None
    assert (first.cause, first.owner if case.owner else "") == (case.cause, case.owner), first
    assert first.tick == case.tick or not case.tick, first
    assert case.said in first.a + first.b, first
    assert found.differing_ticks
    assert next((one.owner for one in found.spread), "") == case.effect, found.spread


def test_equal_runs_do_not_differ(tmp_path: Path) -> None:
    client = empty_redis()
    for run in ("usual", "again"):
        live(client, run, tmp_path)
    found = compare_runs(client, "usual", "again", tmp_path)
    assert (found.difference, found.differing_ticks, found.spread, found.owners) == (None, 0, [], {})
    assert comparison_lines(found)[0] == f"Ticks 1 to {TICKS} of usual and again are equal"


def test_a_comparison_since_a_tick_reports_that_the_runs_differ_before(tmp_path: Path) -> None:
    client = empty_redis()
    live(client, "usual", tmp_path)
    live(client, "changed", tmp_path, CASES[0].change)
    found = compare_runs(client, "usual", "changed", tmp_path, since=11)
    assert (found.first, found.differs_before) == (11, True)
    assert not compare_runs(client, "usual", "changed", tmp_path, since=10).differs_before
    with pytest.raises(InputError, match="no tick in common"):
        compare_runs(client, "usual", "changed", tmp_path, since=TICKS + 1)
    with pytest.raises(RunMissing):
        compare_runs(client, "usual", "none", tmp_path)


def test_a_trimmed_journal_is_compared_from_its_files_or_from_its_first_line(tmp_path: Path) -> None:
    lived = live_for_days(empty_redis(), settings_of(tmp_path, 1))
    whole = compare_runs(lived.client, RUN, RUN, tmp_path)
    assert (whole.first, whole.last, whole.difference) == (1, DAYS_TICKS, None)
    later = compare_runs(lived.client, RUN, RUN, tmp_path / "elsewhere")
    assert (later.first, later.last, later.difference) == (TRIMMED + 1, DAYS_TICKS, None)
    assert "begins with tick" in comparison_lines(later)[0]


def test_a_changed_profile_is_reported_by_the_fields_that_differ(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "trait")
    first = compared(case, tmp_path).difference
    assert first is not None
    assert (first.a, first.b) == ("traits = null: joined as Ben", 'traits = ["bold"]: joined as Ben')


def test_long_values_are_shown_from_just_before_their_difference(tmp_path: Path) -> None:
    past = "Ben was born at the mill. " * 12
    one, other = (
        Change(owners=OWNERS | {BEN: Profile(name="Ben", background=past + end)}) for end in ("Sad.", "Glad.")
    )
    first = compared(Case("past", other, "profile", 1, base=one), tmp_path).difference
    assert first is not None
    assert first.a.startswith("background = …")
    assert "mill. Sad." in first.a
    assert first.b.startswith("background = …")
    assert "mill. Glad." in first.b


def test_a_difference_is_followed_from_owner_to_owner(tmp_path: Path) -> None:
    def seen(tick: int, usual: Seen) -> Seen:
        """Let Ada hear a bell, Cleo hear of it from Ada, and Ben from Cleo."""
        told = {
            7: (ADA, entry(7, "A bell rings.")),
            8: (CLEO, entry(8, "A rumour of a bell.", subjects=("Ada",))),
            9: (BEN, entry(9, "Cleo whispers of bells.")),
        }
        return [told[tick]] if tick in told else usual

    spread = compared(Case("rumour", Change(seen=seen), "observation", 7), tmp_path).spread
    assert [(one.owner, one.tick, one.by, one.through) for one in spread] == [
        (ADA, 7, "observation", ""),
        (CLEO, 8, "observation", ADA),
        (BEN, 9, "observation", CLEO),
    ]


def test_a_window_counts_memories_of_only_one_run_and_shows_their_evidence(tmp_path: Path) -> None:
    found = compared(CASES[3], tmp_path)  # one observation differs
    windows = [window for window in found.owners[BEN] if window.only_a or window.only_b]
    assert (windows[0].only_a, windows[0].only_b, windows[0].share) == (1, 1, 1.0)
    (one,), (other,) = windows[1].a, windows[1].b
    assert (one.type, other.type) == ("reflection", "reflection")
    assert set(other.evidence) - set(one.evidence) == {"A wolf passes."}


def test_the_page_escapes_texts_of_observations(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script>"
    change = Change(seen=at(10, lambda seen: [*seen, (ADA, entry(10, attack, 6))]))
    page = comparison_page(compared(Case("attack", change, "observation", 10), tmp_path))
    assert attack not in page
    assert page.count("</script>") == 2
    assert "default-src &#39;none&#39;" in page


def test_a_comparison_of_runs_with_different_clocks_names_the_time(tmp_path: Path) -> None:
    client = empty_redis()
    live(client, "usual", tmp_path, Change())
    live(client, "changed", tmp_path, Change(settings={"seconds_per_tick": 30}))
    for since, said in ((1, "minutes_per_tick = "), (12, "the tick is at minute ")):
        first = compare_runs(client, "usual", "changed", tmp_path, since=since).difference
        assert first is not None
        assert (first.tick, first.cause) == (since, "setting")
        assert first.a.startswith(said)


def test_a_repeat_with_another_importance_is_named(tmp_path: Path) -> None:
    def with_repeat(importance: int) -> Callable[[int, Seen], Seen]:
        repeated = {7: entry(7, "A bell rings.", 4), 9: entry(9, "A bell rings.", importance)}
        return lambda tick, seen: [(ADA, repeated[tick])] if tick in repeated else seen

    client = empty_redis()
    live(client, "usual", tmp_path, Change(seen=with_repeat(4)))
    live(client, "changed", tmp_path, Change(seen=with_repeat(2)))
    first = compare_runs(client, "usual", "changed", tmp_path).difference
    assert first is not None
    assert (first.tick, first.cause, first.owner) == (9, "observation", ADA)
    assert first.b.startswith("gave importance 2 to a repeat of entry ")
