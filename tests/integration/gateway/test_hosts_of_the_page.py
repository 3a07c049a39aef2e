"""The page's hosts in other languages run as shown, and reach the same digest as a host in Python."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import playwright
import pytest

from cogitate import Observation, Profile, Settings, TickLoop
from tests.conftest import Eventually
from tests.integration.command import left_behind, tick_of
from tests.integration.gateway.gateway_process import gateway
from tests.patience import LONGEST
from tests.ports import free_ports
from tests.process_environment import shell_environment
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "how-to" / "any-language.md").read_text()
NODE = Path(playwright.__file__).parent / "driver" / "node"  # Playwright ships it, so it is on every machine
LAST = 480


def block(language: str) -> str:
    """Return the page's example in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def test_a_typescript_host_survives_the_restart_of_its_gateway(tmp_path: Path, eventually: Eventually) -> None:
    with TickLoop(
        run="forge",
        owners={"agent:ada": Profile(name="Ada Smith", occupation="smith")},
        settings=Settings(),
        ticks=LAST,
        inline=True,
    ) as loop:
        for tick in loop:
            if tick.number == 300:
                seen = Observation(text="Ben Cole asked for a ploughshare.", minute=tick.minute, importance=6)
                loop.observe("agent:ada", seen)
    (tmp_path / "village.mts").write_text(block("typescript"))
    data_dir, port, token = tmp_path / "data", free_ports(1), "a-token-that-is-long"
    variables = shell_environment(GATEWAY=f"http://127.0.0.1:{port}", COGITATE_GATEWAY_TOKEN=token)
    with (tmp_path / "said").open("w") as said, gateway(data_dir, token=token, port=port) as (_, first):
        host = subprocess.Popen(
            [str(NODE), "--disable-warning=ExperimentalWarning", "village.mts"],
            cwd=tmp_path,
            env=variables,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            eventually(lambda: tick_of(data_dir, "forge") > 20 or host.poll() is not None, "some ticks to pass")
            first.kill()
            first.wait()
            with gateway(data_dir, token=token, port=port):
                assert host.wait(LONGEST) == 0, (tmp_path / "said").read_text()
        finally:
            host.kill()
            host.wait()
    *changes, recalled, digest = (tmp_path / "said").read_text().splitlines()
    assert any(line.startswith("agent:ada plan: ") for line in changes)
    assert recalled == "Ben Cole asked for a ploughshare."
    assert digest == loop.digest
    eventually(lambda: not left_behind(data_dir), "the guard of the killed process to end")


def test_a_javascript_host_on_a_pipe_runs_and_is_short(tmp_path: Path) -> None:
    (tmp_path / "host.mjs").write_text(block("javascript"))
    assert len(block("javascript").strip().splitlines()) <= 24
    digests = set()
    for _ in range(2):
        done = subprocess.run(
            [str(NODE), "host.mjs"],
            cwd=tmp_path,
            env=shell_environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        *changes, digest = done.stdout.splitlines()
        assert any(line.startswith("agent:ada plan ") for line in changes)
        assert re.fullmatch(r"[0-9a-f]{16,}", digest)
        digests.add(digest)
    assert len(digests) == 1


def test_a_python_host_on_a_pipe_is_short() -> None:
    """Check only its length: `test_docs` runs it with the examples of the other pages."""
    assert len(block("python").strip().splitlines()) <= 24


@pytest.mark.parametrize(("language", "program"), [("python", sys.executable), ("javascript", str(NODE))])
def test_a_host_on_a_pipe_reports_refusals_with_advice(tmp_path: Path, language: str, program: str) -> None:
    path = tmp_path / {"python": "host.py", "javascript": "host.mjs"}[language]
    path.write_text(block(language).replace('"replace"', '"renew"'))
    done = subprocess.run(
        [program, str(path)],
        cwd=tmp_path,
        env=shell_environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 1
    assert "exist 'renew': Input should be 'create', 'resume' or 'replace'; correct it" in done.stderr


def test_the_typescript_host_reports_its_wait_and_refuses_a_foreign_gateway(
    tmp_path: Path, eventually: Eventually
) -> None:
    (tmp_path / "village.mts").write_text(block("typescript"))
    port = free_ports(1)
    where = f"http://127.0.0.1:{port}"
    with (tmp_path / "said").open("w") as said:
        host = subprocess.Popen(
            [str(NODE), "--disable-warning=ExperimentalWarning", "village.mts"],
            cwd=tmp_path,
            env=shell_environment(GATEWAY=where),
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            eventually(lambda: (tmp_path / "said").read_text() != "", "some output")
            with HTTPServer(("127.0.0.1", port), Elsewhere) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                assert host.wait(LONGEST) == 1
                server.shutdown()
        finally:
            host.kill()
            host.wait()
    lines = (tmp_path / "said").read_text()
    assert lines.count(f"waiting for the gateway at {where}") == 1
    assert f"the server at {where} is not a gateway; it answered Welcome" in lines


class Elsewhere(BaseHTTPRequestHandler):
    """Another server that listens at the gateway's address."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Welcome")

    def log_message(self, *_: object) -> None:
        pass
