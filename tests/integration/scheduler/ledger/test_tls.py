"""TLS: state and messages through `rediss://`, with certificates verified by default."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import Popen

import pytest
from pydantic import SecretStr

from cogitate import Profile, Settings, TickLoop
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.connect import check, connect
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_environment
from tests.integration.command import cogitate
from tests.integration.scheduler.ledger.tls_case import behind_tls
from tests.patience import LONGEST


def test_a_run_works_with_state_and_messages_over_tls(valkey: EmbeddedServer, tmp_path: Path) -> None:
    with behind_tls(valkey.socket, tmp_path) as (port, authority):
        url = f"rediss://localhost:{port}/0?ssl_ca_certs={authority}"
        settings = Settings(data_dir=tmp_path, redis_url=SecretStr(url), workers=0, concurrency=2)
        log = tmp_path / "worker.log"
        with log.open("wb") as out:
            worker = Popen(
                [sys.executable, "-m", "celery", "-A", "cogitate", "worker", "--loglevel", "info"],
                env=worker_environment(settings),
                cwd=tmp_path,
                stdout=out,
                stderr=out,
            )
        try:
            owners = {"agent:ada": Profile(name="Ada")}
            with TickLoop(run="town", owners=owners, settings=settings, start_minute=355, ticks=12) as loop:
                for _ in loop:
                    pass
        finally:
            worker.terminate()
            worker.wait(LONGEST)
        with valkey.client() as client:
            assert summarise_run(client, "town").jobs["plan"]["reason"] == {"none": 1}, log.read_text()


@pytest.mark.parametrize("query", ["", "?ssl_ca_certs={authority}"], ids=["authority unknown", "another's name"])
def test_an_unverifiable_certificate_is_refused(valkey: EmbeddedServer, tmp_path: Path, query: str) -> None:
    name = "elsewhere" if query else "localhost"
    with behind_tls(valkey.socket, tmp_path, name) as (port, authority):
        url = f"rediss://localhost:{port}/0{query.format(authority=authority)}"
        with (
            connect(url, 5.0, retries=0) as client,
            pytest.raises(ConfigurationError, match=r"not trusted.+ssl_ca"),
        ):
            check(client, url)
        unchecked = f"{url}{'&' if query else '?'}ssl_cert_reqs=none"
        with connect(unchecked, 5.0) as client:
            check(client, unchecked)


def test_commands_report_tls_errors(valkey: EmbeddedServer, tmp_path: Path) -> None:
    with behind_tls(valkey.socket, tmp_path) as (port, _):
        done = cogitate("run", "--town", 2, data_dir=tmp_path, COGITATE_REDIS_URL=f"rediss://localhost:{port}/0")
    assert done.returncode == 2
    assert "not trusted" in done.stderr
