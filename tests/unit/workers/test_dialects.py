"""Dialects of endpoints: what a refusal leaves out, who is told, and where what was learned is found again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakeredis import FakeRedis
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workers.llm.dialect import Dialect, Dialects, schema_instruction
from workers.llm.dialect_store import PREFIX, DialectStore, known_dialects

FIRST = Dialect()
OBJECT, TEXT = Dialect(form="json_object"), Dialect(form="text")
NEWER = Dialect(cap="max_completion_tokens")
SCHEMA: dict[str, object] = {"type": "object", "properties": {"größe": {"type": "integer"}}}


@pytest.mark.parametrize("status", [400, 404, 415, 422, 500, 501])
@pytest.mark.parametrize(
    ("dialect", "text", "then"),
    [
        (FIRST, "Unsupported parameter: max_tokens", NEWER),
        (NEWER, "max_completion_tokens: extra fields not permitted", FIRST),
        (FIRST, "max_tokens is too large", None),
        (FIRST, "max_completion_tokens is unknown", None),
        (FIRST, "Unknown parameter: 'response_format'", OBJECT),
        (OBJECT, "JSON object output is not allowed", TEXT),
        (TEXT, "response_format is unknown", None),
        (FIRST, "unrecognized: max_tokens, response_format", NEWER),
        (FIRST, "the grammar cannot be compiled", OBJECT),
        (FIRST, "no such thing", None),
    ],
)
def test_a_refusal_leaves_out_what_it_names(status: int, dialect: Dialect, text: str, then: Dialect | None) -> None:
    assert dialect.without_refused(status, text) == then


@pytest.mark.parametrize("status", [401, 403, 429, 499, 502, 503])
def test_other_errors_say_nothing_of_parameters(status: int) -> None:
    assert FIRST.without_refused(status, "Unknown parameter: 'response_format'") is None


def parameters(dialect: Dialect) -> dict[str, Any]:
    return dialect.parameters("You name moods.", "It rains.", "Mood", SCHEMA, 300)


def test_the_answers_class_goes_where_the_endpoint_reads_it() -> None:
    whole = parameters(FIRST)
    assert whole["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "Mood", "schema": SCHEMA, "strict": True},
    }  # fmt: skip
    assert whole["messages"] == [
        {"role": "system", "content": "You name moods."}, {"role": "user", "content": "It rains."},
    ]  # fmt: skip
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


class Store:
    """A store that notes what it is asked."""

    def __init__(self, known: Dialect | None = None) -> None:
        self.known = known
        self.loads: list[tuple[str, str]] = []
        self.saves: list[tuple[str, str, Dialect]] = []

    def load(self, server: str, model: str) -> Dialect | None:
        self.loads.append((server, model))
        return self.known

    def save(self, server: str, model: str, dialect: Dialect) -> None:
        self.saves.append((server, model, dialect))


def test_each_model_is_looked_up_once_and_an_unknown_one_is_asked_in_the_first_way() -> None:
    store = Store()
    dialects = Dialects("http://here", NEWER, store)
    assert [dialects.of(model) for model in ("a", "b", "a")] == [NEWER] * 3
    assert store.loads == [("http://here", "a"), ("http://here", "b")]
    assert Dialects("http://here", NEWER, Store(TEXT)).of("a") == TEXT
    assert Dialects("http://here", NEWER).of("a") == NEWER


def test_what_is_accepted_is_kept_once_and_again_when_something_better_is_learned() -> None:
    store = Store()
    dialects = Dialects("http://here", FIRST, store)
    for _ in range(2):
        dialects.accepted("a", FIRST)
    assert dialects.learn("a", FIRST, OBJECT)
    assert store.saves == [("http://here", "a", FIRST)], "nobody has accepted the other yet"
    assert dialects.of("a") == OBJECT
    dialects.accepted("a", OBJECT)
    assert store.saves[1:] == [("http://here", "a", OBJECT)]


def test_who_hears_of_a_refusal_after_another_takes_what_that_one_learned() -> None:
    dialects = Dialects("http://here", FIRST)
    assert dialects.learn("a", FIRST, OBJECT)
    assert dialects.learn("a", OBJECT, TEXT)
    assert dialects.learn("a", FIRST, OBJECT), "its call had been under way"
    assert (dialects.of("a"), dialects.of("b")) == (TEXT, FIRST)


def test_an_endpoint_that_refuses_all_is_given_up() -> None:
    dialects = Dialects("http://here", FIRST)
    assert dialects.learn("a", FIRST, NEWER)
    assert not dialects.learn("a", NEWER, FIRST), "it refuses each of the two caps"
    assert dialects.of("a") == NEWER


def test_each_server_and_model_has_a_dialect_of_its_own_that_expires() -> None:
    client = FakeRedis()
    store = DialectStore(client)
    for server, model, dialect in (("http://b", "m", TEXT), ("http://a", "n", NEWER), ("http://a", "m", OBJECT)):
        store.save(server, model, dialect)
    assert [store.load(*place) for place in (("http://a", "m"), ("http://a", "n"), ("http://b", "n"))] == [
        OBJECT, NEWER, None,
    ]  # fmt: skip
    assert [(one.server, one.model, one.dialect) for one in known_dialects(client)] == [
        ("http://a", "m", OBJECT), ("http://a", "n", NEWER), ("http://b", "m", TEXT),
    ]  # fmt: skip
    assert all(0 < client.ttl(key) <= 7 * 86_400 for key in client.scan_iter())


def test_one_that_was_written_over_is_learned_again() -> None:
    client = FakeRedis()
    client.set(f"{PREFIX}http://a m", "{")
    assert DialectStore(client).load("http://a", "m") is None


def test_without_redis_nothing_is_known_and_nothing_raises() -> None:
    away = Redis(port=1, retry=Retry(NoBackoff(), 0))
    store = DialectStore(away)
    store.save("http://a", "m", TEXT)
    assert store.load("http://a", "m") is None
    away.close()


def test_an_empty_server_knows_no_dialects() -> None:
    assert known_dialects(FakeRedis()) == []
