"""Learned context lengths: which figure is believed, who knows it, and for how long."""

from __future__ import annotations

import pytest
from fakeredis import FakeRedis
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cogitate.workers.llm.replies.context_lengths import (
    KEY,
    LEARNED_FOR,
    LOOKED_UP_EVERY,
    ContextLengths,
    named_context,
)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_the_length_is_read_where_an_error_names_it(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, int]] = [
        ("This model's maximum context length is 4097 tokens. However, you requested 4203 tokens", 4_097),
        ("request (131168 tokens) exceeds the available context size (131072 tokens), try increasing it", 131_072),
        ("`inputs` must have less than 1024 tokens. Given: 1872", 1_024),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("Prompt contains 40002 tokens, too large for model with 32768 maximum context length", 32_768),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("a context window of 8,192 tokens", 8_192),
        ("the request is too large n_ctx 256", 256),
        ("the prompt is too long", 0),
        ("400 the prompt is too long", 0),
        ("413 the prompt of 9000 tokens is longer than 8192", 8_192),
        ("context length is 3 tokens", 0),  # nobody's
        ("context length is 999999999999 tokens", 0),
    ]
    for said, tokens in cases:
        with subtests.test(said=said):
            assert named_context(said) == tokens


@pytest.mark.parametrize(
    ("figure", "tokens"), [("127", 0), ("128", 128), ("100000000", 100_000_000), ("100,000,001", 0), ("0", 0)]
)
def test_a_length_that_no_model_has_is_not_believed(figure: str, tokens: int) -> None:
    assert named_context(f"maximum context length is {figure} tokens") == tokens


def test_a_figure_is_believed_if_the_prompt_passed_it_by_our_estimate() -> None:
    lengths = ContextLengths("s", None)
    lengths.overflowed("m", named=4_096, prompt_tokens=3_000, output_cap=800)
    assert lengths.of("m") == 0, "by that figure it had room: one that lies shortens no prompt"
    lengths.overflowed("m", named=4_096, prompt_tokens=3_600, output_cap=800)
    assert (lengths.of("m"), lengths.of("other")) == (4_096, 0)
    lengths.overflowed("m", named=2_048, prompt_tokens=3_000, output_cap=800)
    assert lengths.of("m") == 2_048, "the server was started anew with less"


def test_without_a_figure_three_quarters_of_the_refused_prompt_are_assumed() -> None:
    lengths = ContextLengths("s", None)
    lengths.overflowed("m", named=0, prompt_tokens=3_001, output_cap=800)
    assert lengths.of("m") == 3_050
    lengths.overflowed("m", named=0, prompt_tokens=9_000, output_cap=800)
    assert lengths.of("m") == 3_050


def test_other_workers_know_it_within_half_a_minute_and_all_forget_it_after_an_hour() -> None:
    client, clock = FakeRedis(), Clock()
    one, other, elsewhere = (ContextLengths(server, client, clock) for server in ("s", "s", "t"))
    assert other.of("m") == 0
    one.overflowed("m", named=4_096, prompt_tokens=9_000, output_cap=800)
    assert (one.of("m"), other.of("m")) == (4_096, 0)
    clock.now += LOOKED_UP_EVERY
    assert (one.of("m"), other.of("m"), elsewhere.of("m")) == (4_096, 4_096, 0)
    assert 0 < client.ttl(f"{KEY}s m") <= LEARNED_FOR
    client.delete(f"{KEY}s m")  # as Redis does then
    clock.now += LOOKED_UP_EVERY
    assert (one.of("m"), other.of("m")) == (0, 0)


def test_the_store_is_read_once_in_half_a_minute() -> None:
    client, clock = FakeRedis(), Clock()
    lengths = ContextLengths("s", client, clock)
    for _ in range(3):
        lengths.of("m")
    client.set(f"{KEY}s m", 4_096)
    assert lengths.of("m") == 0
    clock.now += LOOKED_UP_EVERY
    assert [lengths.of("m"), lengths.of("m")] == [4_096, 4_096]


@pytest.mark.parametrize("broken", ["away", "written over"])
def test_an_unreadable_store_keeps_the_known_lengths(broken: str) -> None:
    clock = Clock()
    client: Redis = Redis(port=1, retry=Retry(NoBackoff(), 0)) if broken == "away" else FakeRedis()
    lengths = ContextLengths("s", client, clock)
    lengths.overflowed("m", named=4_096, prompt_tokens=9_000, output_cap=800)
    if broken == "written over":
        client.set(f"{KEY}s m", "many")
    clock.now += LOOKED_UP_EVERY
    assert lengths.of("m") == 4_096
    client.close()
