"""What the built-in kinds declare: who is admitted first, how long an answer is waited for, and what it may cost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.clock import Clock
from cogitate.prompts.render import Templates
from cogitate.tasks import (
    act,
    integrate,
    long_term,
    places,
    plan,
    plan_times,
    prune,
    rate,
    recall,
    recount,
    reflect,
    shown,
    summarise,
)
from cogitate.tasks.act import Act
from cogitate.tasks.integrate import Integrate
from cogitate.tasks.kind import Kind, WorldFacts
from cogitate.tasks.plan import Plan, PlanParams
from cogitate.tasks.prune import Prune
from cogitate.tasks.rate import RateImportance
from cogitate.tasks.recount import Recount
from cogitate.tasks.reflect import Reflect, ReflectParams
from cogitate.tasks.situation import ActParams
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import KLAUS, moment_of, stream_of

TEMPLATES = Templates()
#: Kind: order, latency, bounds of it in minutes, what is done when denied, tokens of prompt and answer.
FIGURES: list[tuple[Kind, tuple[Any, ...]]] = [
    (RateImportance(TEMPLATES), ("rate", 5, "5m", (2, 180), "heuristic", 2_500, 400)),
    (Plan(TEMPLATES), ("plan", 10, "5m", (2, 480), "heuristic", 2_500, 800)),
    (Act(TEMPLATES), ("act", 15, "3m", (2, 60), "drop", 2_000, 200)),
    (Reflect(TEMPLATES), ("reflect", 20, "10m", (2, 360), "heuristic", 2_500, 600)),
    (Integrate(TEMPLATES), ("integrate", 25, "10m", (2, 120), "heuristic", 5_000, 484)),
    (Summarise(TEMPLATES), ("summarise", 30, "20m", (2, 480), "heuristic", 3_000, 1_022)),
    (Recount(TEMPLATES), ("recount", 35, "10m", (2, 120), "defer", 3_500, 484)),
    (Prune(), ("prune", 40, "5m", (1, 60), "heuristic", 0, 0)),
]


@pytest.mark.parametrize(("kind", "figures"), FIGURES, ids=[figures[0] for _, figures in FIGURES])
def test_declarations_of_kinds_are_unchanged(kind: Kind, figures: tuple[Any, ...]) -> None:
    """Admission, due ticks and budgets follow from it: a run goes on as it began only while it stays."""
    assert figures == (
        kind.name,
        kind.order,
        kind.latency,
        (kind.latency_least, kind.latency_most),
        kind.on_denied,
        kind.prompt_cap,
        kind.output_cap,
    )


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        # ticks between two looks
        ((plan.EVERY, summarise.EVERY, rate.EVERY, prune.EVERY, prune.SOON), (10, 10, 10, 100, 10)),
        # entries that a prompt shows
        (
            (plan.SHOWN, act.SHOWN, reflect.SHOWN, reflect.EARLIER, integrate.MEMORIES, integrate.HISTORY),
            (15, 8, 20, 3, 30, 20),
        ),
        ((rate.BATCH, rate.LEAST, reflect.ENOUGH, reflect.MOST_REPEATED, places.MOST), (20, 5, 3, 20, 40)),
        # characters
        (
            (shown.MOST, shown.LEAST, recall.MAX_SHOWN, integrate.WINDOW, integrate.ROOM),
            (20_000, 200, 500, 12_000, 6_000),
        ),
        # tokens of summaries
        (
            (
                summarise.SIZE.bound,
                recount.SIZE.bound,
                integrate.SIZE.bound,
                integrate.NEW_TOKENS,
                long_term.MOST_SHOWN,
                long_term.LARGEST.bound,
            ),
            (250, 250, 250, 160, 900, 600),
        ),
        # game minutes
        (
            (plan_times.LATE, summarise.SETTLED, summarise.LATEST, summarise.MARGIN, prune.OVERDUE),
            (30, 1_440, 2_880, 180, 2_520),
        ),
        # importance
        ((reflect.BY_MODEL, reflect.BY_HEURISTIC, reflect.MINIMAL, recount.IMPORTANCE), (7, 6, 4, 5)),
    ],
)
def test_prompts_and_schemas_of_kinds_are_unchanged(figures: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Pin what is due when, and what a prompt shows: both are part of a digest."""
    assert figures == expected


def test_only_acting_needs_a_brief_and_acting_and_planning_recall_by_the_runs_profile() -> None:
    kinds = [kind for kind, _ in FIGURES]
    assert [kind.name for kind in kinds if kind.needs_brief] == ["act"]
    assert [kind.name for kind in kinds if kind.recalls] == ["plan", "act"]


def test_params_that_a_host_omits_are_empty() -> None:
    assert typed_json.decode("{}", ActParams) == ActParams(location="", activity="", status={})
    assert typed_json.decode("{}", PlanParams) == PlanParams(status={}, unfinished=())
    assert typed_json.decode("{}", ReflectParams) == ReflectParams(since=0)
    assert typed_json.decode(b'{"since":9007199254740991}', ReflectParams).since == 2**53 - 1
    for since in (b"-1", b"9007199254740992"):
        with pytest.raises(msgspec.ValidationError):
            typed_json.decode(b'{"since":%s}' % since, ReflectParams)


@pytest.mark.parametrize(("struct", "field", "most"), [(ActParams, "location", 500), (ActParams, "activity", 4_000)])
def test_params_of_a_host_are_bounded(struct: Any, field: str, most: int) -> None:
    typed_json.convert({field: "x" * most}, struct)
    with pytest.raises(msgspec.ValidationError):
        typed_json.convert({field: "x" * (most + 1)}, struct)


def test_a_world_without_a_description_is_handled() -> None:
    world = WorldFacts()
    assert (world.locations, world.clock, world.morning, world.act_interval) == ((), Clock(), 360, 0)
    assert world.names == {}
    moment = moment_of(stream_of(), 3)
    assert (moment.owner, moment.last, moment.lead("plan")) == (KLAUS, None, 0)
