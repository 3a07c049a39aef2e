"""The fake endpoint: valid answers to every schema and kind, independent of the order of requests, and exact counts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location, Profile
from cogitate.ops.fake_llm.answers import AnswerWriter
from cogitate.ops.fake_llm.faults import FAULTS, FaultError, parse_faults
from cogitate.ops.fake_llm.server import FakeEndpoint, Options, _Server
from cogitate.scheduler.config.endpoints import Endpoint, Model
from cogitate.tasks.job import Job, JobKey, Reads
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.registry import kind_of
from cogitate.tasks.shown import effects_of
from cogitate.workers.answer_faults.fault import fault_of
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.requests.schema import full_schema
from tests.patience import LONGEST

SCHEMA = {
    "type": "object",
    "properties": {
        "mood": {"type": "string", "enum": ["calm", "glad", "tired"]},
        "strength": {"type": "integer", "minimum": 3, "maximum": 4},
        "reasons": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
        "partner": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]},
        "sure": {"type": "boolean"},
    },
    "$defs": {"Person": {"type": "object", "properties": {"remark": {"type": "string"}}}},
}


def request_about(text: str) -> dict[str, Any]:
    form = {"type": "json_schema", "json_schema": {"name": "Mood", "schema": SCHEMA}}
    return {"model": "stand-in", "messages": [{"role": "user", "content": text}], "response_format": form}


def post(endpoint: FakeEndpoint, request: object) -> tuple[int, Any]:
    sent = urllib.request.Request(
        f"{endpoint.url}/chat/completions", json.dumps(request).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(sent, timeout=LONGEST) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=LONGEST) as response:
        return json.load(response)


def answer_of(body: Any) -> Any:
    return json.loads(body["choices"][0]["message"]["content"])


def test_every_part_of_a_schema_is_answered() -> None:
    with FakeEndpoint() as endpoint:
        status, body = post(endpoint, request_about("The harbour sleeps."))
    answer = answer_of(body)
    assert status == 200
    assert list(answer) == ["mood", "strength", "reasons", "partner", "sure"]
    assert answer["mood"] in ("calm", "glad", "tired")
    assert answer["strength"] in (3, 4)
    assert len(answer["reasons"]) == 2
    assert isinstance(answer["partner"]["remark"], str)
    assert isinstance(answer["sure"], bool)


def test_a_schema_without_a_parameter_is_found_in_the_prompt() -> None:
    request = request_about("The harbour sleeps.")
    schema = json.dumps(SCHEMA, separators=(",", ":"))
    request["messages"].insert(0, {"role": "system", "content": f"Answer in JSON:\n{schema}\nThank you."})
    del request["response_format"]
    with FakeEndpoint() as endpoint:
        assert "mood" in answer_of(post(endpoint, request)[1])


def outcomes(texts: list[str], seed: int = 0) -> dict[tuple[str, int], tuple[int, str]]:
    """Ask about each text twice, in this order, and return status and answer of each try."""
    seen: dict[tuple[str, int], tuple[int, str]] = {}
    with FakeEndpoint(faults={"429": 0.3, "500": 0.2}, seed=seed) as endpoint:
        for text in texts * 2:
            status, body = post(endpoint, request_about(text))
            seen[text, int((text, 0) in seen)] = status, json.dumps(answer_of(body)) if status == 200 else ""
    return seen


def test_answers_and_faults_depend_on_content_attempt_and_seed_and_not_on_order() -> None:
    texts = [f"Ship number {number} arrives." for number in range(40)]
    forwards = outcomes(texts)
    assert forwards == outcomes(texts[::-1])
    assert forwards != outcomes(texts, seed=1)
    assert {status for status, _ in forwards.values()} == {200, 429, 500}
    assert any(forwards[text, 0][0] != forwards[text, 1][0] for text in texts)


def test_usage_is_counted_from_answers_that_report_it() -> None:
    with FakeEndpoint(faults={"429": 0.3, "no_usage": 0.3}, seed=3) as endpoint:
        bodies = [post(endpoint, request_about(f"Ship {number}.")) for number in range(30)]
        stats = endpoint.stats()
        served = get(endpoint.url.removesuffix("/v1") + "/stats")
    usages = [body["usage"] for status, body in bodies if status == 200 and body["usage"]]
    assert stats.requests == 30
    assert stats.by_status == {"200": stats.by_status["200"], "429": stats.by_fault["429"]}
    assert stats.answers == len(usages) == len(stats.completed) == 30 - sum(stats.by_fault.values())
    assert stats.prompt_tokens == sum(usage["prompt_tokens"] for usage in usages)
    assert stats.completion_tokens == sum(usage["completion_tokens"] for usage in usages)
    assert (served["prompt_tokens"], served["by_fault"]) == (stats.prompt_tokens, stats.by_fault)


def test_an_answer_respects_the_cap_of_its_request() -> None:
    with FakeEndpoint() as endpoint:
        _, body = post(endpoint, {**request_about("The harbour sleeps."), "max_tokens": 4})
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"]["completion_tokens"] <= 4


def test_invalid_requests_are_refused_and_the_server_survives() -> None:
    with FakeEndpoint() as endpoint:
        assert post(endpoint, {"messages": "no list"})[0] == 400
        assert post(endpoint, [1, 2])[0] == 400
        assert post(endpoint, {"messages": ["no message"]})[0] == 400
        assert post(endpoint, {**request_about("A ship."), "response_format": ["json_schema"]})[0] == 400
        assert get(f"{endpoint.url}/models")["data"][0]["id"] == "stand-in"
        with pytest.raises(urllib.error.HTTPError, match="404") as raised:
            get(f"{endpoint.url}/elsewhere")
        raised.value.close()
        assert post(endpoint, request_about("The harbour sleeps."))[0] == 200


WORLD = WorldFacts(
    locations=(
        Location(id="hobbs_cafe", name="Hobbs Cafe", type="cafe", tags=("social",)),
        Location(id="library", name="Oak Hill Library"),
    ),
    names={"agent:isabella": "Isabella Rodriguez", "agent:klaus": "Klaus Mueller"},
)
TALK = (
    ("agent:klaus", "Klaus asked whether the party on Tuesday is at five o'clock."),
    ("agent:isabella", "Isabella said that it begins at five and that Maria will come too."),
    ("agent:klaus", "Klaus promised to bring a book about gentrification."),
)


def case_of(kind: str, minute: int) -> Case:
    owner = "agent:isabella"
    entries = [
        Entry(
            type="message", text=text, minute=minute - 30 + n, number=n, subjects=(who,), importance=6, source_id="t1"
        )
        for n, (who, text) in enumerate(TALK, 1)
    ]
    key = JobKey(minute, kind, owner, 0, 0)
    job = Job(
        run="t",
        key=key,
        minute=minute,
        due=minute + 9,
        reads=(Reads(owner=owner, upto=3, numbers=(1, 2, 3)),),
        model="m",
    )
    return Case(job=job, profile=Profile(name="Isabella Rodriguez"), world=WORLD, memories={owner: entries})


@pytest.mark.parametrize("clock", ["06:00", "07:15", "13:00", "21:30", "23:58", "00:30", "05:40"])
@pytest.mark.parametrize("name", ["plan", "reflect", "summarise"])
def test_every_kind_can_use_its_answers(name: str, clock: str) -> None:
    hours, minutes = clock.split(":")
    kind = kind_of(name)
    with FakeEndpoint() as endpoint:
        client = ModelClients({"default": Endpoint(base_url=endpoint.url, api_key=SecretStr("any"))}, 1)
        for day in range(1, 4):
            case = case_of(name, day * 1440 + int(hours) * 60 + int(minutes))
            prompt = kind.prompt(case)
            model, deadline = Model(name="default", model="m"), time.monotonic() + 30
            answer = client.of("default").ask(prompt, model=model, max_output_tokens=kind.output_cap, deadline=deadline)
            assert answer.value is not None
            assert effects_of(kind, case, answer.value, prompt)
        client.close()


@pytest.mark.parametrize(
    "memory",
    [
        "Dunstan: Which way did the cart turn?",
        "Bettany discussed the weir: My lambs stood in water up to their bellies, and three drowned. "
        + "Reasoning: " * 9,
        "Klaus read [the list of all the guests who come to the party on Tuesday evening {and of what each of them "
        "likes to eat and to drink, which Isabella wrote for him in the morning before he went out}].",
        "Klaus came, and",
        "Klaus" * 60,
    ],
    ids=lambda memory: memory[:20],
)
def test_thoughts_that_quote_any_memory_are_valid(memory: str) -> None:
    memories = [Entry(type="observation", text=memory, minute=1440 + n, number=n, importance=6) for n in (1, 2, 3)]
    case = replace(case_of("reflect", 1440 + 420), memories={"agent:isabella": memories})
    kind = kind_of("reflect")
    prompt = kind.prompt(case)
    messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
    for seed in range(20):
        written = AnswerWriter(messages, seed).write(full_schema(prompt.answer))
        answer = prompt.answer.model_validate(written)
        assert fault_of(answer, prompt) is None
        assert effects_of(kind, case, answer, prompt)


def test_times_ascend_and_places_come_from_the_prompt() -> None:
    prompt = kind_of("plan").prompt(case_of("plan", 1440 + 420))
    activity = {"time": {"type": "string"}, "location": {"type": "string"}}
    schema = {"type": "object", "properties": {"activities": {"type": "array", "items": {"properties": activity}}}}
    for seed in range(30):
        answer = AnswerWriter([{"role": "user", "content": prompt.user}], seed).write(schema)
        times = [time.strptime(item["time"], "%I:%M %p") for item in answer["activities"]]
        assert 5 <= len(times) <= 8
        assert times == sorted(set(times))
        assert {item["location"] for item in answer["activities"]} <= {"Hobbs Cafe", "Oak Hill Library"}


def test_a_list_about_numbered_lines_has_one_item_for_each() -> None:
    rating = {"type": "object", "properties": {"number": {"type": "integer"}, "importance": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"ratings": {"type": "array", "items": rating}}}
    answer = AnswerWriter([{"role": "user", "content": "Rate:\n[12] A storm.\n[14] Tea.\n[31] Rain."}], 0).write(schema)
    assert [item["number"] for item in answer["ratings"]] == [12, 14, 31]
    assert all(1 <= item["importance"] <= 10 for item in answer["ratings"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["hnag=0.1"], "'hnag' is not known"),
        (["429"], "name=rate"),
        (["429=often"], "name=rate"),
        (["429=1.5"], "not from 0 to 1"),
        (["429=nan"], "not from 0 to 1"),
        (["429=0.6", "hang=0.6"], "more than 1"),
        (["299=0.1"], "'299' is not known"),
    ],
)
def test_an_invalid_fault_is_reported(texts: list[str], message: str) -> None:
    with pytest.raises(FaultError, match=message):
        parse_faults(texts)


def test_every_fault_can_be_requested() -> None:
    assert set(parse_faults([f"{name}=0.01" for name in [*FAULTS, "503", "429:30"]])) == {*FAULTS, "503", "429:30"}


def test_negative_latency_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        Options(latency=-1.0)


def test_serve_prints_its_address_and_stops_on_ctrl_c() -> None:
    program = (
        "from cogitate.ops.fake_llm.server import Options, serve;"
        "serve(Options(), port=0, ready=lambda url: print(url, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            assert url.startswith("http://127.0.0.1:")
            assert get(url.removesuffix("/v1") + "/stats")["requests"] == 0
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST) == 0


def test_a_tail_makes_the_same_few_answers_much_slower() -> None:
    bodies = [json.dumps(request_about(f"Thing number {n}.")).encode() for n in range(400)]

    def waits(tail: float) -> list[float]:
        server = _Server(Options(latency=1.0, tail=tail))
        return [server._decide(body).wait for body in bodies]

    assert set(waits(0.0)) == {1.0}
    found = sorted(waits(0.5))
    assert found == sorted(waits(0.5))
    assert 0.85 < found[200] < 1.15  # the median is unchanged
    assert 2.0 < found[380] < 2.7  # the 95th percentile is e^(0.5 * 1.645)
    with pytest.raises(ValueError, match="tail"):
        Options(tail=-0.1)
