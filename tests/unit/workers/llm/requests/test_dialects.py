"""Dialects of endpoints: what a refusal leaves out, who is told, and where what was learned is found again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

import pytest
from fakeredis import FakeRedis
from pydantic import BaseModel, Field
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from structlog.testing import capture_logs

from cogitate.prompts.constraints import Constraint
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.requests.dialect import (
    KEY_PREFIX,
    RELEARN_AFTER,
    Dialect,
    Dialects,
    DialectStore,
    known_dialects,
    schema_instruction,
)

FIRST = Dialect()
OBJECT, TEXT = Dialect(form="json_object"), Dialect(form="text")
NEWER = Dialect(cap="max_completion_tokens")
PLAIN = Dialect(schema="plain")
MERGED = replace(FIRST, system="merged")
FORMAT = "response_format is unknown"


class Mood(BaseModel):
    """A mood."""

    größe: Annotated[int, Field(ge=1)]
    word: str


SCHEMA: dict[str, object] = {
    "type": "object",
    "description": "A mood.",
    "properties": {"größe": {"type": "integer"}, "word": {"type": "string"}},
    "required": ["größe", "word"],
    "additionalProperties": False,
}
PROMPT = Prompt(
    system="You name moods.",
    user="It rains.",
    answer=Mood,
    version="1",
    constraints=(Constraint(field="word", choices=("grey", "wet")),),
)


def test_a_refusal_leaves_out_the_named_part(subtests: pytest.Subtests) -> None:
    for dialect, text, then in [
        (FIRST, "Unsupported parameter: max_tokens", NEWER),
        (NEWER, "max_completion_tokens: extra fields not permitted", FIRST),
        (FIRST, "max_completion_tokens is unknown", None),
        (FIRST, "Unknown parameter: 'response_format'", OBJECT),
        (OBJECT, "JSON object output is not allowed", TEXT),
        (TEXT, "response_format is unknown", None),
        (FIRST, "unrecognized: max_tokens, response_format", NEWER),
        (FIRST, "invalid schema for response format: minItems is not supported", PLAIN),
        (FIRST, "Unsupported field min_length", PLAIN),
        (PLAIN, "invalid schema for response format: minItems is not supported", replace(PLAIN, form="json_object")),
        (OBJECT, "response_format: the pattern is not supported", TEXT),
        (FIRST, "no such thing", None),
        (FIRST, "System role not supported", MERGED),
        (MERGED, "System role not supported", None),
        (FIRST, "temperature: nur 1 ist erlaubt", replace(FIRST, left_out=("temperature",))),
        (
            FIRST,
            "parameter.enable_thinking must be set to false",
            replace(FIRST, switches=(("enable_thinking", False),)),
        ),
    ]:
        with subtests.test(dialect=dialect, text=text, then=then):
            assert dialect.without_named(text, ["temperature"]) == then


def test_parameters_that_are_refused_are_not_sent_and_switches_are() -> None:
    dialect = replace(FIRST, left_out=("seed",), switches=(("enable_thinking", False),))
    body = dialect.body(PROMPT, 300, {"seed": 7, "temperature": 0.2})
    assert body == {**FIRST.body(PROMPT, 300), "temperature": 0.2, "enable_thinking": False}


def test_parameters_are_left_out_one_by_one_if_none_is_named() -> None:
    dialects = Dialects("s", FIRST)
    assert dialects.learn("m", FIRST, "no", ["temperature", "seed"], unnamed=True) == "", "it may be the prompt"
    tried = []
    for _ in range(4):
        tried.append(dialects.next("m"))
        assert dialects.learn("m", tried[-1], "no", ["temperature", "seed"], unnamed=True)
    without = [replace(FIRST, left_out=(name,)) for name in ("temperature", "seed")]
    assert tried == [FIRST, *without, PLAIN]
    with capture_logs() as logs:
        dialects.accepted("m", dialects.next("m"))
    assert dialects.next("m") == NEWER
    assert [(entry["event"], entry["parameter"]) for entry in logs] == [("llm.parameter_left_out", "max_tokens")]


def test_where_a_dialect_has_worked_the_prompt_is_at_fault() -> None:
    dialects = Dialects("s", FIRST)
    dialects.accepted("m", FIRST)
    assert dialects.learn("m", FIRST, "no", ["seed"], unnamed=True) == ""
    assert dialects.next("m") == FIRST
    assert dialects.learn("m", FIRST, "seed is not supported", ["seed"]) == "seed"


def test_where_a_parameter_is_blamed_without_its_name_each_is_left_out_after_the_schema() -> None:
    dialects, blame = Dialects("s", FIRST), "No endpoints found that take the requested parameters"
    tried = []
    while (now := dialects.next("m")).left_out == ():
        tried.append(now)
        dialects.learn("m", now, blame, ["seed"], unnamed=True)
    assert tried == [FIRST, PLAIN, replace(PLAIN, form="json_object"), replace(PLAIN, form="text"), FIRST]
    dialects.accepted("m", now)
    assert dialects.next("m") == replace(FIRST, left_out=("seed",))


def test_if_every_part_is_needed_the_search_ends() -> None:
    dialects = Dialects("s", TEXT)
    assert not dialects.learn("m", TEXT, "no", unnamed=True)
    while dialects.learn("m", dialects.next("m"), "no", unnamed=True):
        pass
    assert dialects.next("m") == TEXT


def parameters(dialect: Dialect) -> dict[str, Any]:
    return dialect.body(PROMPT, 300)


def test_the_answers_class_goes_where_the_endpoint_reads_it() -> None:
    whole = parameters(PLAIN)
    assert whole["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Mood", "schema": SCHEMA, "strict": True},
    }
    narrowed = {"größe": {"type": "integer", "minimum": 1}, "word": {"type": "string"}}
    assert parameters(FIRST)["response_format"]["json_schema"]["schema"] == SCHEMA | {"properties": narrowed}
    assert whole["messages"] == [
        {"role": "system", "content": "You name moods."},
        {"role": "user", "content": "It rains."},
    ]
    told = [{"role": "system", "content": "You name moods." + schema_instruction(SCHEMA)}, whole["messages"][1]]
    assert parameters(OBJECT) == {"max_tokens": 300, "response_format": {"type": "json_object"}, "messages": told}
    assert parameters(TEXT) == {"max_tokens": 300, "messages": told}
    assert {*whole} == {*parameters(OBJECT)}


def test_the_cap_goes_under_the_name_that_the_endpoint_knows() -> None:
    assert parameters(NEWER)["max_completion_tokens"] == 300
    assert "max_tokens" not in parameters(NEWER)


def test_a_schema_in_words_is_the_schema() -> None:
    instruction = schema_instruction(SCHEMA)
    assert json.loads(instruction[instruction.index("{") :]) == SCHEMA
    assert "größe" in instruction, "as a model writes it"


class Store(DialectStore):
    """A store that records its calls."""

    def __init__(self, known: Dialect | None = None) -> None:
        super().__init__(FakeRedis())
        self.known = known
        self.loads: list[tuple[str, str]] = []
        self.saves: list[tuple[str, str, Dialect]] = []

    def load(self, server: str, model: str) -> Dialect | None:
        self.loads.append((server, model))
        return self.known

    def save(self, server: str, model: str, dialect: Dialect) -> None:
        self.saves.append((server, model, dialect))


def test_each_model_is_looked_up_once_and_an_unknown_one_starts_with_the_first_dialect() -> None:
    store = Store()
    dialects = Dialects("http://here", NEWER, store)
    dialects.load("a")
    assert [dialects.next(model) for model in ("a", "b", "a")] == [NEWER] * 3
    assert store.loads == [("http://here", "a"), ("http://here", "b")]
    assert Dialects("http://here", NEWER, Store(TEXT)).next("a") == TEXT
    assert Dialects("http://here", NEWER).next("a") == NEWER


def test_the_known_dialect_is_stored_once_when_it_is_accepted() -> None:
    store = Store()
    dialects = Dialects("http://here", FIRST, store)
    for _ in range(2):
        dialects.accepted("a", FIRST)
    assert store.saves == [("http://here", "a", FIRST)]
    for _ in range(2):
        assert dialects.learn("a", FIRST, FORMAT)
    assert store.saves == [("http://here", "a", FIRST)], "nobody has accepted the other yet"
    dialects.accepted("a", OBJECT)
    dialects.accepted("a", OBJECT)
    assert store.saves[1:] == [("http://here", "a", OBJECT)]


def test_a_refusal_of_a_concurrent_call_counts_as_the_second() -> None:
    dialects = Dialects("http://here", FIRST)
    assert dialects.learn("a", FIRST, FORMAT)
    assert dialects.learn("a", OBJECT, FORMAT)
    assert dialects.learn("a", FIRST, FORMAT), "its call had been under way"
    assert [dialects.next("a"), dialects.next("b")] == [OBJECT, FIRST], "it was refused once, the first twice"
    assert dialects.learn("a", OBJECT, FORMAT)
    dialects.accepted("a", TEXT)
    assert dialects.next("a") == TEXT


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_refusal_changes_only_the_next_call() -> None:
    store = Store()
    dialects = Dialects("s", FIRST, store)
    assert dialects.next("m") == FIRST
    assert dialects.learn("m", FIRST, FORMAT)
    assert dialects.next("m") == OBJECT
    dialects.accepted("m", OBJECT)
    assert store.saves == []
    assert dialects.next("m") == FIRST


def test_a_success_in_between_takes_a_refusal_back() -> None:
    dialects = Dialects("s", FIRST)
    for _ in range(5):
        assert dialects.learn("m", FIRST, FORMAT)
        assert [dialects.next("m"), dialects.next("m")] == [OBJECT, FIRST]
        dialects.accepted("m", FIRST)


def test_a_second_refusal_is_believed_by_every_process_for_an_hour() -> None:
    store, clock = Store(), Clock()
    dialects = Dialects("s", FIRST, store, clock)
    for _ in range(2):
        assert dialects.learn("m", FIRST, FORMAT)
    assert [dialects.next("m"), dialects.next("m"), dialects.next("other")] == [OBJECT, OBJECT, FIRST]
    dialects.accepted("m", OBJECT)
    assert store.saves == [("s", "m", OBJECT)]
    clock.now = RELEARN_AFTER
    assert dialects.next("m") == OBJECT
    clock.now = RELEARN_AFTER + 1
    assert dialects.next("m") == FIRST, "servers change"
    assert dialects.learn("m", FIRST, FORMAT)
    assert [dialects.next("m"), dialects.next("m")] == [OBJECT, OBJECT], "one refusal is enough now"


def test_learning_stops_once_every_dialect_was_refused_twice() -> None:
    dialects = Dialects("s", FIRST)
    found = []
    for _ in range(5):
        now = dialects.next("m")
        found.append((now, bool(dialects.learn("m", now, f"{now.cap} is not supported"))))
    assert found == [(FIRST, True), (NEWER, True), (FIRST, True), (NEWER, False), (FIRST, False)]


def test_a_refused_system_message_is_moved_into_the_users_message() -> None:
    body = Dialect(system="merged").body(PROMPT, 9)
    assert body["messages"] == [{"role": "user", "content": "You name moods.\n\nIt rains."}]


def test_each_server_and_model_has_an_expiring_dialect() -> None:
    client = FakeRedis()
    store = DialectStore(client)
    for server, model, dialect in (("http://b", "m", TEXT), ("http://a", "n", NEWER), ("http://a", "m", OBJECT)):
        store.save(server, model, dialect)
    assert [store.load(*place) for place in (("http://a", "m"), ("http://a", "n"), ("http://b", "n"))] == [
        OBJECT,
        NEWER,
        None,
    ]
    assert [(one.server, one.model, one.dialect) for one in known_dialects(client)] == [
        ("http://a", "m", OBJECT),
        ("http://a", "n", NEWER),
        ("http://b", "m", TEXT),
    ]
    assert all(0 < client.ttl(key) <= RELEARN_AFTER for key in client.scan_iter())


def test_dialects_are_listed_in_a_fixed_order(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeRedis()
    for model in "abc":
        DialectStore(client).save("http://a", model, OBJECT)
    keys = [f"{KEY_PREFIX}http://a {model}".encode() for model in "cab"]
    monkeypatch.setattr(client, "scan_iter", lambda **_: iter(keys))
    assert [one.model for one in known_dialects(client)] == ["a", "b", "c"]


def test_an_overwritten_dialect_is_learned_again() -> None:
    client = FakeRedis()
    client.set(f"{KEY_PREFIX}http://a m", "{")
    assert DialectStore(client).load("http://a", "m") is None


def test_without_redis_the_dialect_store_is_empty_and_does_not_raise() -> None:
    away = Redis(port=1, retry=Retry(NoBackoff(), 0))
    store = DialectStore(away)
    store.save("http://a", "m", TEXT)
    assert store.load("http://a", "m") is None
    away.close()


def test_an_empty_server_knows_no_dialects() -> None:
    client = FakeRedis()
    client.set("cogitate:endpoints", "something else")
    assert known_dialects(client) == []


def test_a_dialect_that_expires_during_a_listing_is_left_out() -> None:
    class Lapsing(FakeRedis):
        def scan(self, *args: Any, **options: Any) -> Any:
            cursor, keys = super().scan(*args, **options)
            self.delete(min(keys))
            return cursor, keys

    client = Lapsing()
    for model in ("first", "second"):
        DialectStore(client).save("server", model, TEXT)
    assert [known.model for known in known_dialects(client)] == ["second"]
