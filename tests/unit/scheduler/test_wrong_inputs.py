"""What a host may get wrong, one row each: a `CogitateError` that names the argument and its value, as Python does."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate import CogitateError, Event, EventRule, Location, Observation, Profile, Settings, TickLoop
from cogitate.effects import Character, SetCharacter, SetCounter
from cogitate.errors import ConfigurationError, InputError, UsageError
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.tasks.job import Reads

ADA, DAY = "agent:ada", 1440
OWNERS = {
    ADA: Profile(name="Ada Smith"),
    "npc:bob": Profile(name="Bob"),
    "world": Profile(name="The valley"),
    "location:inn": Profile(name="The inn"),
}
START = 100 * DAY + 358  # two minutes before the morning's plans
INN = Location(id="inn", name="The inn")
Any_ = Any  # a wrong type on purpose

ARGUMENTS: list[tuple[dict[str, Any_], type[CogitateError], str]] = [
    ({"run": 5}, ConfigurationError, "5 is not a run name"),
    ({"run": "a b"}, ConfigurationError, "'a b' is not a run name"),
    ({"owners": [ADA]}, InputError, "owners are ['agent:ada']: give a dict"),
    ({"owners": None}, InputError, "owners are None"),
    ({"owners": {"ada": Profile(name="Ada")}}, InputError, "'ada' is not an owner: use <scope>:<name>"),
    ({"owners": {5: Profile(name="Ada")}}, InputError, "5 is not an owner"),
    ({"owners": {ADA: {"name": "Ada"}}}, InputError, "profile of 'agent:ada' is {'name': 'Ada'}: give a Profile"),
    ({"owners": {ADA: Profile(name="")}}, InputError, "profile of 'agent:ada': name is '': it must not be blank"),
    ({"owners": {ADA: Profile(name="A", age="old")}}, InputError, "profile of 'agent:ada': Expected `int | null`"),
    ({"owners": {ADA: Profile(name="A", age=-1)}}, InputError, "profile of 'agent:ada': age is -1"),
    ({"owners": {ADA: Profile(name="A", traits="kind")}}, InputError, "profile of 'agent:ada'"),
    ({"owners": {ADA: Profile(name="A\ud800")}}, InputError, "profile of 'agent:ada'"),
    ({"owners": {ADA: Profile(name="A", background="x" * 20_001)}}, InputError, "background has 20,001 characters"),
    ({"settings": {"workers": 2}}, ConfigurationError, "settings are {'workers': 2}: give a Settings"),
    ({"settings": Settings(latency={"paln": 4})}, ConfigurationError, "latency names the unknown kind 'paln'"),
    ({"settings": Settings(llm="openai")}, ConfigurationError, "set limit_usd, limit_tokens"),
    ({"locations": INN}, InputError, "locations are Location(id='inn'"),
    ({"locations": [{"id": "inn"}]}, InputError, "location 1 is {'id': 'inn'}: give a Location"),
    ({"locations": [INN, INN]}, InputError, "location 2 has the id 'inn' of another"),
    ({"locations": [Location(id=" ", name="x")]}, InputError, "location 1: id is ' '"),
    ({"brief": {"location": "inn"}}, InputError, "brief is {'location': 'inn'}: give a function"),
    ({"tier_of": "strong"}, InputError, "tier_of is 'strong': give a function"),
    ({"event_types": ["quest"]}, InputError, "event_types are ['quest']: give a dict"),
    ({"event_types": {"quest": "often"}}, InputError, "event_types: 'quest' is 'often': give 'simple' or 'integrate'"),
    ({"event_types": {"quest": EventRule(strategy="often")}}, InputError, "event_types: 'quest': strategy is 'often'"),
    ({"event_types": {"quest": EventRule(importance=77)}}, InputError, "event_types: 'quest': importance is 77"),
    ({"event_types": {"quest": EventRule(content="song")}}, InputError, "event_types: 'quest': content is 'song'"),
    ({"ticks": "10"}, InputError, "ticks is '10': give an integer from 0"),
    ({"ticks": 1.5}, InputError, "ticks is 1.5"),
    ({"ticks": -1}, InputError, "ticks is -1"),
    ({"ticks": True}, InputError, "ticks is True"),
    ({"start_minute": 1.5}, InputError, "start_minute is 1.5: give an integer from 0"),
    ({"start_minute": -2_000}, InputError, "start_minute is -2000"),
    ({"start_minute": 2**60}, InputError, "start_minute is 1152921504606846976"),
    ({"start_minute": None}, InputError, "start_minute is None"),
    ({"resume": True}, ConfigurationError, 'give exist="create" or exist="resume"'),
    ({"exist": "ignore"}, ConfigurationError, "exist='ignore' is invalid: give"),
    ({"take_over": "yes"}, InputError, "take_over is 'yes'"),
    ({"describe": "mine"}, InputError, "describe is 'mine': give a dict"),
    ({"describe": {"size": 5}}, InputError, "describe: 'size' is 5: give a string"),
    ({"inline": "yes"}, InputError, "inline is 'yes'"),
    ({"client": "redis://localhost"}, InputError, "client is 'redis://localhost': give a redis.Redis"),
    ({"client": FakeRedis(decode_responses=True)}, InputError, "decode_responses=False"),
    ({"inline": False, "client": FakeRedis()}, InputError, "client is for inline=True"),
]
Calls = list[tuple[Callable[[TickLoop], object], str]]


def observing(**fields: Any) -> Callable[[TickLoop], object]:
    return lambda loop: loop.observe(ADA, {"text": "I saw Bob.", "minute": now(loop), **fields})


def now(loop: TickLoop) -> int:
    return loop.state.facts.minute(loop.tick + 1)


CALLS: Calls = [
    (lambda loop: loop.observe("agent:zoe", {"text": "x", "minute": 1}), "there is no owner 'agent:zoe' in this run"),
    (lambda loop: loop.observe(5, {"text": "x", "minute": 1}), "there is no owner 5"),  # type: ignore[arg-type]
    (lambda loop: loop.observe(ADA, "I saw Bob."), "observation for 'agent:ada' is 'I saw Bob.'"),  # type: ignore[arg-type]
    (observing(text=""), "observation for 'agent:ada': text is ''"),
    (observing(text="  \n"), "observation for 'agent:ada': text is '  \\n': it must not be blank"),
    (observing(text=5), "observation for 'agent:ada': text 5"),
    (observing(text="x" * 4_001), "text"),
    (observing(text="\ud800"), "text '\\ud800'"),
    (observing(minute=START + 2 * DAY), "is far from the tick's"),
    (observing(minute=START - 31 * DAY), "observation for 'agent:ada': minute 99718 is far from the tick's"),
    (observing(minute=10**9), "minute 1000000000 is far from the tick's"),
    (observing(minute=-5), "minute -5"),
    (observing(minute="noon"), "minute 'noon'"),
    (observing(minute=1.5), "minute 1.5"),
    (observing(importance=77), "importance 77"),
    (observing(mood="glad"), "mood 'glad'"),
    (observing(subjects="agent:bob"), "subjects 'agent:bob': give a list"),
    (lambda loop: loop.observe(ADA, Observation(text="", minute=1)), "observation: text is ''"),
    (lambda loop: loop.observe(ADA, Observation(text="x", minute=-1)), "observation: minute -1"),
    (lambda loop: loop.request("paln", ADA), "there is no kind 'paln'; there are rate, plan"),
    (lambda loop: loop.request("plan", "agent:zoe"), "there is no owner 'agent:zoe'"),
    (lambda loop: loop.request("plan", ADA, priority="high"), "priority is 'high'"),  # type: ignore[arg-type]
    (lambda loop: loop.request("plan", ADA, numbers=5), "numbers are 5"),  # type: ignore[arg-type]
    (lambda loop: loop.request("plan", ADA, numbers=(0,)), "one of numbers is 0"),
    (lambda loop: loop.request("plan", ADA, reads=(Reads("agent:zoe", 0),)), "there is no owner 'agent:zoe'"),
    (lambda loop: loop.request("plan", ADA, within=0), "within is 0: give an integer from 1"),
    (lambda loop: loop.request("plan", ADA, params=[1]), "params are [1]"),  # type: ignore[arg-type]
    (lambda loop: loop.request("plan", ADA, params={"replaces": True}), "params {'replaces': True}"),
    (lambda loop: loop.request("plan", ADA, params={"status": {"energy": "low"}}), "params {'status'"),
    (lambda loop: loop.request("prune", ADA, params={"routine": [1]}), "prune takes none"),
    (lambda loop: loop.apply("forget it"), "that is not an effect"),  # type: ignore[arg-type]
    (lambda loop: loop.apply(SetCounter("ada", "mine", 3)), "'ada' is not an owner"),
    (lambda loop: loop.apply(SetCharacter(ADA, Character(names=5))), "effect for 'agent:ada'"),  # type: ignore[arg-type]
    (lambda loop: loop.join("bo", Profile(name="Bo")), "'bo' is not an owner"),
    (lambda loop: loop.join(ADA, Profile(name="Ada")), "owner 'agent:ada' is in this run already"),
    (lambda loop: loop.join("agent:bo", "Bo"), "profile of 'agent:bo' is 'Bo'"),  # type: ignore[arg-type]
    (lambda loop: loop.leave("agent:zoe"), "there is no owner 'agent:zoe'"),
    (lambda loop: loop.leave(None), "there is no owner None"),  # type: ignore[arg-type]
    (lambda loop: loop.checkpoint("state"), "checkpoint('state'): give bytes"),  # type: ignore[arg-type]
    (lambda loop: loop.checkpoint({"day": 1}), "checkpoint({'day': 1})"),  # type: ignore[arg-type]
    (lambda loop: loop.event(ADA, Event(kind="sneeze")), "event for 'agent:ada': no rule for events of type"),
    (lambda loop: loop.event(ADA, {"kind": "quest", "loudness": 3}), "event for 'agent:ada': event: loudness 3"),
    (lambda loop: loop.event(ADA, Event(kind="final_results", earnings=float("nan"))), "earnings"),
    (lambda loop: loop.event(ADA, "final_results"), "event for 'agent:ada' is 'final_results'"),  # type: ignore[arg-type]
    (lambda loop: loop.event(ADA, Event(kind="final_results", group="group:none")), "there is no owner 'group:none'"),
    (lambda loop: loop.left_location(""), "location is ''"),
    (lambda loop: loop.left_location(5), "location is 5"),  # type: ignore[arg-type]
    (lambda loop: loop.left_location("mill"), "there is no owner 'location:mill'"),
    (lambda loop: loop.left_location("inn", "npc:bob"), "present are 'npc:bob': give a list"),
    (lambda loop: loop.left_location("inn", [5]), "one of present is 5"),  # type: ignore[list-item]
    (lambda loop: loop.story_event("done\ud800"), "kind of the story's event is 'done\\ud800'"),
    (lambda loop: loop.story_event(" "), "kind of the story's event is ' '"),
    (lambda loop: loop.story_event("done", tags="abc"), "tags are 'abc'"),
    (lambda loop: loop.story_event("done", related={"x": 5}), "related: 'x' are 5"),  # type: ignore[dict-item]
    (lambda loop: loop.story_event("done", related=["q7"]), "related is ['q7']"),  # type: ignore[arg-type]
    (lambda loop: loop.scope_context(5), "location is 5"),  # type: ignore[arg-type]
    (lambda loop: loop.scope_context("inn", count=-1), "count is -1"),
    (lambda loop: loop.scope_context("inn", present="npc:bob"), "present are 'npc:bob'"),
    (lambda loop: loop.memory("agent:zoe"), "there is no owner 'agent:zoe' in this run"),
    (lambda loop: loop.memory(None), "there is no owner None"),  # type: ignore[arg-type]
    (lambda loop: loop.memory(ADA, similarity=5), "similarity is 5: give a function"),  # type: ignore[arg-type]
    (lambda loop: loop.memory(ADA).recall("x", profile="best"), "profile: unknown profile 'best'"),
    (pickle.dumps, "cannot be pickled or copied"),
    (copy.deepcopy, "cannot be pickled or copied"),
]
BRIEFS: list[tuple[Any_, str]] = [
    ("inn", "brief('agent:ada') is 'inn': give a dict"),
    (None, "brief('agent:ada') is None"),
    (
        {"locaton": "inn"},
        "has the unknown key 'locaton'; known keys: location, activity, condition, status, "
        "free, near, actions; did you mean 'location'?",
    ),
    ({"open_numbers": [1]}, "unknown key 'open_numbers'"),
    ({5: 5}, "unknown key 5"),
    ({"location": 5}, "brief('agent:ada'): location is 5"),
    ({"activity": "\ud800"}, "activity is '\\ud800'"),
    ({"free": "yes"}, "free is 'yes'"),
    ({"status": [80]}, "status is [80]"),
    ({"status": {"energy": "low"}}, "status: energy is 'low'"),
    ({"status": {"energy": float("nan")}}, "status: energy is nan"),
    ({"status": {"energy": 10**400}}, "status: energy is 1000"),
]


def opened(folder: Path, redis: FakeRedis, **arguments: Any) -> TickLoop:
    usual: dict[str, Any] = {
        "run": "test",
        "owners": OWNERS,
        "settings": Settings(data_dir=folder),
        "ticks": 4,
        "start_minute": START,
        "inline": True,
        "client": redis,
    }
    return TickLoop(**{**usual, **arguments})


def is_clear(error: CogitateError, says: str) -> None:
    said = str(error)
    assert says in said
    assert said.isprintable()
    assert " --" not in said
    assert len(said) < 600


@pytest.mark.parametrize(("arguments", "kind", "says"), ARGUMENTS, ids=[row[2][:60] for row in ARGUMENTS])
def test_an_argument_that_cannot_be_used_is_named(
    arguments: dict[str, Any], kind: type[CogitateError], says: str, tmp_path: Path
) -> None:
    client = FakeRedis()
    with pytest.raises(kind) as refused:
        opened(tmp_path, client, **arguments)
    is_clear(refused.value, says)
    assert client.dbsize() == 0, "nothing was begun"


@pytest.mark.parametrize(("call", "says"), CALLS, ids=[row[1][:60] for row in CALLS])
def test_a_call_that_cannot_be_used_is_named_and_changes_nothing(
    call: Callable[[TickLoop], object], says: str, tmp_path: Path
) -> None:
    client, digests = FakeRedis(), []
    for run, wrong in (("wrong", True), ("right", False)):
        with opened(tmp_path, client, run=run) as loop:
            for tick in loop:
                if wrong and tick.number == 2:
                    with pytest.raises(CogitateError) as refused:
                        call(loop)
                    is_clear(refused.value, says)
        digests.append(loop.digest)
    assert digests[0] == digests[1]


@pytest.mark.parametrize(("said", "says"), BRIEFS, ids=[row[1][:60] for row in BRIEFS])
def test_an_unusable_brief_is_named_and_left_out(said: Any, says: str, tmp_path: Path) -> None:
    fails_and_goes_on(tmp_path, lambda owner: said, says)


def test_a_failing_brief_is_named_and_left_out(tmp_path: Path) -> None:
    bodies: dict[str, dict[str, str]] = {"agent:bo": {}}
    error = fails_and_goes_on(tmp_path, lambda owner: bodies[owner], "brief('agent:ada') failed: KeyError: 'agent:ada'")
    assert isinstance(error.__cause__, KeyError)


def fails_and_goes_on(folder: Path, brief: Callable[[str], Any], says: str) -> CogitateError:
    """The tick at which the brief is asked never happened; a host with another goes on."""
    client = FakeRedis()
    with pytest.raises(InputError) as refused, opened(folder, client, brief=brief) as loop:
        for _ in loop:
            pass
    is_clear(refused.value, says)
    assert summarise_run(client, "test").tick == loop.tick < 4
    with opened(folder, client, exist="resume", owners={}, brief=lambda owner: {"location": "inn"}) as resumed:
        for _ in resumed:
            pass
    assert resumed.tick == 4
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == resumed.digest
    return refused.value


@pytest.mark.parametrize("what", ["before", "after", "closed"])
def test_a_call_outside_of_the_body_is_refused(what: str, tmp_path: Path) -> None:
    with opened(tmp_path, FakeRedis()) as loop:
        if what != "before":
            for _ in loop:
                pass
        if what == "closed":
            loop.close()
        for call in (
            lambda: loop.observe(ADA, {"text": "x", "minute": START}),
            lambda: loop.request("plan", ADA),
            lambda: loop.apply(SetCounter(ADA, "mine", 1)),
            lambda: loop.join("agent:bo", Profile(name="Bo")),
            lambda: loop.leave(ADA),
            lambda: loop.checkpoint(b""),
            lambda: loop.left_location("inn"),
            lambda: loop.story_event("done"),
            lambda: loop.event(ADA, Event(kind="final_results")),
        ):
            with pytest.raises(
                UsageError, match="run 'test' has no open tick: call this in the body of `for tick in loop`"
            ):
                call()
        assert loop.scope_context("inn") == ""
        assert loop.memory(ADA).recent() == ()


def resumed(folder: Path, client: FakeRedis, **arguments: Any) -> tuple[list[Mapping[str, Any]], TickLoop]:
    """A second host of a run; what was logged, and its loop."""
    with capture_logs() as logs, opened(folder, client, **{"exist": "resume", "ticks": 4} | arguments) as loop:
        for _ in loop:
            pass
    return [one for one in logs if one["event"] in ("resume.ignored", "settings.unknown_owner")], loop


def test_a_resumed_run_names_ignored_arguments(tmp_path: Path) -> None:
    client = FakeRedis()
    with opened(tmp_path, client, ticks=2, locations=[INN], describe={"a": "b"}) as loop:
        for _ in loop:
            pass
    same, _ = resumed(tmp_path, client, locations=[INN], describe={"a": "b"})
    assert same == []
    nothing, _ = resumed(tmp_path, client, owners={}, start_minute=0)
    assert nothing == []
    (told,), loop = resumed(
        tmp_path,
        client,
        ticks=5,
        owners={**OWNERS, ADA: Profile(name="Eve"), "agent:bo": Profile(name="Bo")},
        settings=Settings(data_dir=tmp_path, morning=420, workers=7),
        start_minute=5,
        locations=[],
        describe={"a": "c"},
    )
    assert (told["event"], told["log_level"]) == ("resume.ignored", "warning")
    assert told["what"] == (
        "settings: morning; owners: agent:bo (join it in the loop's body); owners: profile of agent:ada; start_minute; "
        "describe"
    )
    assert summarise_run(client, "test").warnings["resume.ignored"] == 5
    assert loop.state.profiles[ADA].name == "Ada Smith"


def test_before_the_first_tick_the_given_owners_count(tmp_path: Path) -> None:
    client = FakeRedis()
    with opened(tmp_path, client, ticks=2):
        pass
    ignored, _ = resumed(tmp_path, client)
    assert ignored == []
    with opened(tmp_path, client, ticks=2, exist="resume") as loop:
        for _ in loop:
            pass
    assert set(loop.state.profiles) == set(OWNERS)


def test_limits_for_unknown_owners_are_warned_of(tmp_path: Path) -> None:
    limits = {"day.owner:agent:adda.calls": 3, f"day.owner:{ADA}.calls": 3, "day.owner:*.calls": 9}
    settings = Settings(data_dir=tmp_path, limits=limits, policies={"npc:bbo": "cells", "npc": "tokens"})
    client = FakeRedis()
    (told,), _ = resumed(tmp_path, client, settings=settings, exist="create")
    assert told["what"] == "limits: agent:adda; policies: npc:bbo"
    assert summarise_run(client, "test").warnings["settings.unknown_owner"] == 2
