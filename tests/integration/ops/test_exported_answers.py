"""The export of a run's recorded answers, each with the end of its job."""

from __future__ import annotations

import json
from pathlib import Path

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.integration.command import summary, typed


def test_answers_are_exported_with_the_ends_of_their_jobs(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        given = {
            "COGITATE_BASE_URL": endpoint.url,
            "COGITATE_API_KEY": "none",
            "COGITATE_RECORD": "true",
        }
        asked = ("run", "--town", 2, "--ticks", 380, "--run", "town", "--llm", "openai", "--limit-tokens", 1_000_000)
        summary(*asked, "--workers", 1, data_dir=tmp_path, **given)
        served = endpoint.stats()
    done = typed("export", "town", "--what", "answers", data_dir=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == served.requests > 0
    assert all(one["user"] and one["answer"] and one["model"] == "default" for one in answers)
    assert len({one["question"] for one in answers}) == len(answers)
    assert sum(one["usage"]["tokens"] for one in answers) == served.prompt_tokens + served.completion_tokens
    ended = [one for one in answers if "ended" in one]
    assert ended
    assert all(one["source"] == "llm" and one["inputs"] and one["ended"] > one["ticks"] >= 0 for one in ended)
    refused = typed("export", "town", "--what", "answers", "--format", "parquet", "--out", "x", data_dir=tmp_path)
    assert (refused.returncode, "JSON Lines only" in refused.stderr) == (2, True)
