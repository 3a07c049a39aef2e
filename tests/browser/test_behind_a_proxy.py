"""Operators' actions on Flower's pages behind a real nginx, which terminates TLS and forwards under another host."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import trustme

from cogitate import Settings, TickLoop
from cogitate.scheduler.config.controls import Control, SetMode, read_asked
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.live_flower import flower, post
from tests.patience import LONGEST
from tests.ports import free_ports

pytestmark = pytest.mark.system

LOGIN = {"username": "ann", "password": "secret"}
TOKEN = "0123456789abcdef0123456789abcdef"
SENT = {"Cookie": f"_xsrf={TOKEN}", "X_XSRFToken": TOKEN}
PAUSE = {"run": "r", "action": "pause"}
FRAMED = """to => new Promise((done) => {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.onload = () => done(); frame.src = to;
})"""
CONFIGURATION = """
daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{tls} ssl; ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/chain.pem;
    location /watch/ {{ proxy_pass {flower}; }}
  }}
  server {{ listen 127.0.0.1:{plain}; location /watch/ {{ proxy_pass {flower}; }} }}
  server {{ listen 127.0.0.1:{hostile}; location / {{ default_type text/html; return 200 "<p>another site</p>"; }} }}
}}
"""


@contextmanager
def nginx(folder: Path, address: str, port: int, eventually: Callable[..., None]) -> Iterator[None]:
    """Run nginx for a block on three ports: the proxy with TLS, the proxy without, and another site."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("needs nginx")
    folder.mkdir()
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "chain.pem")
    text = CONFIGURATION.format(folder=folder, tls=port, plain=port + 1, hostile=port + 2, flower=address)
    (folder / "nginx.conf").write_text(text)
    process = subprocess.Popen([program, "-e", f"{folder}/early.log", "-c", f"{folder}/nginx.conf"])
    try:
        site = f"http://127.0.0.1:{port + 2}/"
        eventually(lambda: process.poll() is not None or answers(site), "nginx to answer")
        assert process.poll() is None, (folder / "error.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait()


def answers(address: str) -> bool:
    """Return whether something serves the address."""
    try:
        with urlopen(address, timeout=LONGEST):
            return True
    except URLError:
        return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """Yield the server of a data folder with a finished run."""
    with EmbeddedServer(tmp_path / "data") as server, server.client() as client:
        settings = Settings(data_dir=server.data_dir)
        with TickLoop(run="r", owners={}, settings=settings, ticks=3, inline=True, client=client) as loop:
            for _ in loop:
                pass
        yield server


def asked(server: EmbeddedServer) -> list[Control]:
    """Return the controls that wait for the run's host, and delete them."""
    with server.client() as client:
        store = RunStore.open(client, "r")
        controls = [request.control for request in read_asked(store.items("controls")) if request is not None]
        client.delete(store.key("controls"))
    return controls


def test_an_operator_acts_through_a_proxy_and_another_site_cannot(
    browser: Any, server: EmbeddedServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    port = free_ports(3)
    with (
        flower(server.data_dir, "--basic-auth=ann:secret", "--url-prefix=watch") as address,
        nginx(tmp_path / "nginx", address, port, eventually),
    ):
        context = browser.new_context(http_credentials=LOGIN, ignore_https_errors=True)
        page = context.new_page()
        errors: list[str] = []
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"https://127.0.0.1:{port}/watch/steering")
        page.wait_for_selector("#acts:not([disabled])")
        page.get_by_role("button", name="Pause", exact=True).click()
        eventually(lambda: page.locator("#outcome").inner_text() not in ("", "Sent…"), "the outcome of the request")
        assert "pause" in page.locator("#outcome").inner_text()
        assert asked(server) == [SetMode("paused")]
        assert errors == []

        other = context.new_page()
        other.goto(f"http://127.0.0.1:{port + 2}/")
        for target in (f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}", address.removesuffix("/watch")):
            other.evaluate(
                """([to, body]) => fetch(to, {method: "POST", mode: "no-cors", credentials: "include", body})""",
                [f"{target}/watch/steering/ask", '{"run": "r", "action": "pause"}'],
            )
            other.evaluate(FRAMED, f"{target}/watch/steering")
            assert [frame.locator("#acts").count() for frame in other.frames] == [0] * len(other.frames)
        assert asked(server) == []
        context.close()


def test_without_fetch_metadata_the_configured_origin_decides(
    server: EmbeddedServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    port = free_ports(3)
    seen = f"http://ops.example:{port}"
    options = ("--basic-auth=ann:secret", "--url-prefix=watch", f"--origin={seen}/")
    with flower(server.data_dir, *options) as address, nginx(tmp_path / "nginx", address, port, eventually):
        to = f"http://127.0.0.1:{port + 1}/watch/steering/ask"
        for origin in ("http://elsewhere.example", seen + ".evil.example", "null", f"http://127.0.0.1:{port + 2}"):
            status, said = post(to, PAUSE, "ann:secret", **SENT, Origin=origin)
            assert (status, "other sites" in said) == (403, True), origin
        assert asked(server) == []
        assert post(to, PAUSE, "ann:secret", **SENT, Origin=seen)[0] == 200
        assert asked(server) == [SetMode("paused")]
