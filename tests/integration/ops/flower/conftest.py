"""The run and the Flower that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.integration.ops.flower.flower_case import LOGIN
from tests.live_flower import flower


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Yield the server of a data folder with one finished run that reached its limits."""
    with EmbeddedServer(tmp_path_factory.mktemp("pages") / "data") as started, FakeEndpoint() as endpoint:
        done = typed(
            "run",
            "--town",
            4,
            "--ticks",
            100,
            "--workers",
            1,
            "--llm",
            "openai",
            "--limit-tokens",
            1_000_000,
            data_dir=started.data_dir,
            COGITATE_SECONDS_PER_TICK="600",
            COGITATE_BASE_URL=endpoint.url,
            OPENAI_API_KEY="any",
            COGITATE_INPUT_PRICE="150000",
            COGITATE_OUTPUT_PRICE="600000",
            COGITATE_LIMITS='{"tick.run.jobs": 2, "day.run.calls": 12, "day.owner:*.calls": 9}',
        )
        assert done.returncode == 0, done.stderr
        yield started


@pytest.fixture(scope="package")
def address(server: EmbeddedServer) -> Iterator[str]:
    """Run a Flower with a password and a URL prefix, and yield its address."""
    with flower(server.data_dir, f"--basic-auth={LOGIN}", "--url-prefix=watch") as found:
        yield found + "/watch"
