"""A run whose workers get vectors: its prompts are hybrid, its accounts include the vectors, and no fault harms it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.embedding import EmbeddingSettings
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.tasks.job import Cost, added
from cogitate.workers.processes.embedded import EmbeddedServer

OWNERS = {f"agent:{n}": Profile(name=f"Agent {n}") for n in range(3)}
SEEN = ("The cart lost a wheel.", "The vessel came in at noon.", "The oven is cold.", "Ben sells apples.")


class Lived(NamedTuple):
    """The results of a run."""

    jobs: list[JobRecord]
    found: list[str]  # of each of the host's searches, the first memory and why vectors were missing
    thought: Cost  # as counted by the endpoint of chat calls
    embedded: int  # tokens, as counted by the endpoint of vectors
    requests: int  # requests to the endpoint of vectors
    digest: str


def live(data_dir: Path, faults: dict[str, float] | None) -> Lived:
    """Request every owner's plan twice; `faults` are those of the endpoint of vectors, None for no such endpoint."""
    with FakeEndpoint() as thinking, FakeEndpoint(faults=faults or {}) as embedding:
        settings = Settings(
            data_dir=data_dir,
            llm="openai",
            workers=1,
            limit_tokens=10_000_000,
            limits={},
            endpoints={
                "default": Endpoint(base_url=thinking.url, api_key="any"),
                "near": Endpoint(base_url=embedding.url, api_key="any"),
            },
            models={"default": ModelSettings(model="m", input_price=1_000_000, output_price=1_000_000)},
            embeddings=EmbeddingSettings(endpoint="near", model="e", input_price=2_000_000)
            if faults is not None
            else None,
        )
        found: list[str] = []
        with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=20) as loop:
            for tick in loop:
                if tick.number <= len(SEEN):
                    for owner in OWNERS:
                        loop.observe(owner, {"text": SEEN[tick.number - 1], "minute": tick.minute, "importance": 3})
                if tick.number in (5, 11):
                    for owner in OWNERS:
                        loop.request("plan", owner)
                if tick.number in (7, 19):
                    view = loop.memory("agent:0")
                    found += [
                        view.recall("Which vessel?", limit=1, types="observation")[0].entry.text,
                        view.similarity_failure,
                    ]
            digest = loop.digest
        thought, vectors = thinking.stats(), embedding.stats()
    with EmbeddedServer(data_dir) as server, server.client() as client:
        assert audit(client, "town") == []
        jobs = [job for job in JobHistory(client, "town").all() if job.kind == "plan"]
        assert bool(client.keys("cogitate:{town}:*:vectors")) == any(job.hybrid for job in jobs)
        delete_run(client, "town", force=True)
        assert client.keys("cogitate:{town}*") == []
    tokens_of = thought.prompt_tokens + thought.completion_tokens
    return Lived(
        jobs,
        found,
        Cost(thought.requests, tokens_of, tokens_of),
        vectors.prompt_tokens,
        vectors.requests,
        digest,
    )


def spent(jobs: Iterable[JobRecord]) -> Cost:
    total = Cost()
    for job in jobs:
        total = added(total, job.spent)
    return total


def test_prompts_are_hybrid_and_vectors_are_charged_once(tmp_path: Path) -> None:
    lived = live(tmp_path, {})
    assert {job.hybrid for job in lived.jobs} == {True}
    assert all(job.source == "llm" for job in lived.jobs)
    assert sum(job.embedded for job in lived.jobs) == lived.embedded > 0
    vectors = Cost(0, lived.embedded, 2 * lived.embedded)
    assert spent(lived.jobs) == added(lived.thought, vectors)
    assert all(job.usage.tokens <= job.reserved.tokens for job in lived.jobs)
    assert lived.found[1].startswith("the query has no vector yet")
    assert lived.found[2:] == [SEEN[1], ""], "the next job of any owner fetches the vector that a search lacked"


@pytest.mark.parametrize("fault", ["429:0", "vector_size", "vector_nan", "503", "html"])
def test_without_vectors_words_choose_the_memories_and_nothing_else_changes(tmp_path: Path, fault: str) -> None:
    lived = live(tmp_path, {fault: 1.0})
    whole = fault == "vector_size"  # all vectors have the same wrong size, which the run accepts
    assert {job.hybrid for job in lived.jobs} == {whole}
    assert all(job.source == "llm" for job in lived.jobs)
    assert sum(job.embedded for job in lived.jobs) >= lived.embedded
    assert lived.requests > 0
