"""Corrected estimates of the prompts of a recorded day, as a run would learn them: how often a prompt is longer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.token_estimates import NEUTRAL, TokenEstimates
from cogitate.scheduler.ledger.claims import PromptCount
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.tasks.kind import Prompt, WorldFacts
from cogitate.tasks.registry import kind_of
from cogitate.workers.llm.requests.tokens import corrected_tokens, prompt_parts, prompt_tokens
from tests.unit.tasks.kind_cases import case_of

EVERY = 8  # game minutes
_PIECE = re.compile(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]")  # as byte-level tokenizers split before they merge


def common(prompt: Prompt) -> int:
    """About what common vocabularies count in English: a token for each word of up to seven letters."""
    pieces = _PIECE.findall(prompt.system + prompt.user + str(prompt.answer.model_json_schema()))
    return 12 + sum(1 + (len(piece) - 1) // 7 for piece in pieces)


def doubled(prompt: Prompt) -> int:
    """A vocabulary that is worse for English than any that the estimates were set by."""
    return 2 * prompt_tokens(prompt)


def prompts(recording: Path) -> Iterator[Prompt]:
    """Plans and reflections of everybody, every few minutes of a recorded day."""
    recorded = RecordedWorld(recording)
    owners = recorded.owners()
    world = WorldFacts(locations=recorded.locations, names={owner: profile.name for owner, profile in owners.items()})
    streams = {owner: Stream(owner) for owner in owners}
    for tick in range(recorded.ticks_per_day):
        for owner, entry in recorded.step(tick, tick):
            if owner in streams:
                streams[owner].append(entry, tick)
        if tick % EVERY == 0:
            for owner, stream in streams.items():
                for kind in (kind_of("plan"), kind_of("reflect")):
                    yield kind.prompt(case_of(kind, stream, tick, world=world, profile=owners[owner]))


def test_overruns_are_rarer_than_one_in_a_thousand(recordings: Path) -> None:
    counters: dict[str, Callable[[Prompt], int]] = {"common": common, "doubled": doubled}
    estimates, over, asked = TokenEstimates(), dict.fromkeys(counters, 0), 0
    for prompt in prompts(recordings / "smallville" / "july1"):
        assert 50 * prompt_parts(prompt).others <= prompt_tokens(prompt)
        asked += 1
        for model, count in counters.items():
            counted = count(prompt)
            over[model] += counted > corrected_tokens(prompt, estimates.correction(model))
            estimates.learn(model, PromptCount(prompt_tokens(prompt), counted))
    assert asked >= 1_000
    assert over["common"] == 0
    assert over["doubled"] <= max(1, asked // 1_000)  # the first, which nobody could know
    assert estimates.correction("common").plain < NEUTRAL < estimates.correction("doubled").plain
