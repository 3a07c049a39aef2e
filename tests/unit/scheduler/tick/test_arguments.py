"""The arguments of a tick loop: what each becomes when it is left out or given, and how much of it fits."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis
from redis import Redis
from structlog.testing import capture_logs

from cogitate.memory.errors import InputError
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import EventRule
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import PinnedSettings, Settings
from cogitate.scheduler.config.tiers import usual_tier
from cogitate.scheduler.tick.arguments import Arguments, check_client, check_settings
from cogitate.scheduler.tick.doubts import (
    tell_ignored,
    tell_misspelt_variables,
    tell_strangers,
    tell_unasked,
    unused_arguments,
    unused_settings,
)

ADA, BEN, GONE = "agent:ada", "agent:ben", "agent:gone"
OWNERS = {ADA: Profile(name="Ada"), BEN: Profile(name="Ben")}
INN = Location(id="inn", name="The inn")


def checked(**given: Any) -> Arguments:
    usual: dict[str, Any] = {
        "run": "test",
        "owners": OWNERS,
        "settings": PinnedSettings(),
        "locations": (),
        "brief": None,
        "tier_of": None,
        "event_types": None,
        "ticks": None,
        "start_minute": 0,
        "describe": None,
        "inline": False,
        "client": None,
    }
    return Arguments(**(usual | given))


def test_omitted_arguments_have_their_defaults() -> None:
    found = checked()
    assert (found.run, found.owners, found.locations, found.ticks, found.start_minute) == ("test", OWNERS, (), None, 0)
    assert (found.event_types, found.describe, found.client, found.inline) == ({}, {}, None, False)
    assert found.tier_of is usual_tier
    assert found.brief(ADA) == {}
    assert isinstance(check_settings(None), Settings)


def test_given_arguments_are_taken() -> None:
    def brief(owner: str) -> dict[str, object]:
        return {"location": owner}

    def tier_of(request: Any, moment: Any) -> Any:
        return "strong"

    client, rule = FakeRedis(), EventRule(importance=10, with_consensus="integrate")
    found = checked(
        brief=brief,
        tier_of=tier_of,
        event_types={"quest": rule, "vote": "integrate"},
        ticks=0,
        start_minute=7,
        describe={"a": ""},
        inline=True,
        client=client,
        locations=[INN],
    )
    assert (found.brief, found.tier_of, found.client) == (brief, tier_of, client)
    assert (found.ticks, found.start_minute, found.inline) == (0, 7, True)
    assert (found.event_types, found.describe) == ({"quest": rule, "vote": "integrate"}, {"a": ""})
    assert found.locations == (INN,)


LARGEST: list[tuple[str, Any, Any]] = [
    ("ticks", 10**12, 10**12 + 1),
    ("start_minute", 10**12, 10**12 + 1),
    ("event_types", {"x" * 100: "simple"}, {"x" * 101: "simple"}),
    ("event_types", {"x": EventRule(importance=0)}, {"x": EventRule(importance=-1)}),
    ("event_types", {"x": EventRule(verb="v" * 500)}, {"x": EventRule(verb="v" * 501)}),
    ("event_types", {"x": EventRule(with_consensus=None)}, {"x": EventRule(with_consensus="often")}),  # type: ignore[arg-type]
    ("event_types", {"x": "simple"}, {"x": ["simple"]}),
    ("describe", {"x" * 500: "y"}, {"x" * 501: "y"}),
    ("describe", {"x": "y" * (10**6 - len('{"x": ""}'))}, {"x": "y" * (10**6 - len('{"x": ""}') + 1)}),
    ("inline", False, 0),
    ("brief", None, 5),
    ("tier_of", print, "strong"),
]


@pytest.mark.parametrize(("name", "fits", "wrong"), LARGEST, ids=[f"{row[0]}-{n}" for n, row in enumerate(LARGEST)])
def test_an_argument_has_exact_bounds(name: str, fits: Any, wrong: Any) -> None:
    checked(**{name: fits})
    with pytest.raises(InputError, match=name):
        checked(**{name: wrong})


def test_a_client_is_for_this_process_and_gives_bytes() -> None:
    client = FakeRedis()
    assert check_client(client, inline=True) is client
    assert check_client(Redis(decode_responses=False), inline=True) is not None
    for wrong, inline, why in (
        (client, False, "for inline=True"),
        (FakeRedis(decode_responses=True), True, "turns replies into strings"),
        ("localhost", True, "give a redis.Redis"),
    ):
        with pytest.raises(InputError, match=why):
            check_client(wrong, inline=inline)


# -- what a resumed run does not use -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, []),
        ({"morning": 420}, []),
        ({"morning": 361}, ["settings: morning"]),
        ({"workers": 7}, []),
        ({"morning": 361, "cells": 9, "llm": "heuristic"}, ["settings: cells", "settings: morning"]),
        ({"guidance_style": "plain"}, []),
        (
            {
                "morning": 361,
                "cells": 9,
                "retention_days": 9,
                "act_interval": 9,
            },
            [
                f"settings: {name}"
                for name in (
                    "act_interval",
                    "cells",
                    "morning",
                    "retention_days",
                )
            ],
        ),
    ],
)
def test_a_setting_is_not_used_if_it_was_given_and_the_run_began_with_another(
    given: dict[str, Any], told: list[str]
) -> None:
    kept = json.loads(keep_settings(PinnedSettings(morning=420)))
    del kept["guidance_style"]  # of a run that a version began which did not know it
    if "guidance_style" in given:
        given = {"guidance_style": PinnedSettings().guidance_style}
    assert unused_settings(json.dumps(kept), PinnedSettings.tuned(**given)) == told


def state(**changed: Any) -> Any:
    values = {
        "run": "test",
        "profiles": dict(OWNERS),
        "retired": {GONE},
        "warnings": Counter[str](),
        "facts": SimpleNamespace(locations=(INN,), start_minute=7),
    }
    return SimpleNamespace(**(values | changed))


EVE = {"agent:eve": Profile(name="Eve")}
JOINS = "owners: agent:eve (join it in the loop's body)"


@pytest.mark.parametrize(
    ("given", "of", "told"),
    [
        ({}, {}, []),
        ({"owners": {}}, {}, []),
        ({"owners": EVE}, {}, [JOINS]),
        ({"owners": {**EVE, "agent:dee": Profile(name="Dee")}}, {}, [JOINS.replace("eve", "dee"), JOINS]),
        ({"owners": {GONE: Profile(name="Gone")}}, {}, []),
        ({"owners": EVE}, {"profiles": {}, "retired": set()}, []),
        ({"owners": EVE}, {"profiles": {}}, [JOINS]),
        (
            {"owners": {BEN: Profile(name="B"), ADA: Profile(name="A")}},
            {},
            [f"owners: profile of {ADA}", f"owners: profile of {BEN}"],
        ),
        ({"locations": [INN]}, {}, []),
        ({"locations": [Location(id="mill", name="Mill")]}, {}, ["locations"]),
        ({"start_minute": 7}, {}, []),
        ({"start_minute": 8}, {}, ["start_minute"]),
        ({"describe": {"a": "b"}}, {}, []),
        ({"describe": {"a": "c"}}, {}, ["describe"]),
    ],
)
def test_an_argument_is_not_used_if_the_run_began_with_another(
    given: dict[str, Any], of: dict[str, Any], told: list[str]
) -> None:
    assert unused_arguments(state(**of), checked(**given), {"a": "b"}) == told


@pytest.mark.parametrize(("names", "what"), [(1, "0"), (5, "0; 1; 2; 3; 4"), (6, "0; 1; 2; 3; 4 and 1 more")])
def test_all_are_counted_and_five_are_named(names: int, what: str) -> None:
    ours = state()
    with capture_logs() as logs:
        tell_ignored(ours, iter(map(str, range(names))))
        tell_ignored(ours, [])
    assert [(log["event"], log["run"], log["what"]) for log in logs] == [("resume.ignored", "test", what)]
    assert ours.warnings == {"resume.ignored": names}


def test_misspelt_environment_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COGITATE_LIMIT_TOKNES", "3")
    monkeypatch.setenv("COGITATE_RECORDINGS", "/data")
    with capture_logs() as logs:
        tell_misspelt_variables("town")
    assert [(log["event"], log["variable"], log["then"]) for log in logs] == [
        ("settings.unknown_variable", "COGITATE_LIMIT_TOKNES", "did you mean COGITATE_LIMIT_TOKENS?")
    ]


def test_joined_former_and_future_owners_are_known() -> None:
    ours = state()
    settings = PinnedSettings(limits={f"day.owner:{o}.calls": 3 for o in (ADA, GONE, "agent:new", "agent:zoe")})
    with capture_logs() as logs:
        tell_strangers(ours, settings, ["agent:new", "agent:zoe"])
        tell_strangers(ours, settings, ["agent:new"])
    assert [log["what"] for log in logs] == ["limits: agent:zoe"]
    assert ours.warnings == {"settings.unknown_owner": 1}


EMBEDDINGS = {"endpoint": "default", "model": "small"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, []),
        ({"base_url": "http://x/v1", "model": "m"}, ["base_url; model"]),
        ({"model": "m"}, ["model"]),
        ({"base_url": "http://x/v1", "embeddings": EMBEDDINGS}, ["base_url; embeddings"]),
        ({"model": "m", "llm": "openai", "limit_tokens": 9}, []),
    ],
)
def test_a_model_given_to_a_run_of_heuristics_is_reported_as_unused(given: dict[str, Any], told: list[str]) -> None:
    settings = PinnedSettings.tuned(**given)
    with capture_logs() as logs:
        tell_unasked("test", settings, settings)
    assert [log["what"] for log in logs] == told
