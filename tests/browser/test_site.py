"""The documentation site, built and opened in a real Chromium: complete, and without requests to other hosts."""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.patience import LONGEST
from tests.repository import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.system

#: The URLs that the theme's script would load, and the element that would make it do so (none for a polyfill that only
#: browsers before 2020 need): a library for diagrams, and a repository's stars.
UNUSED = {
    "unpkg.com/mermaid": 'class="mermaid"',
    "api.github.com/repos": 'data-md-component="source"',
    "api.github.com/users": 'data-md-component="source"',
    "unpkg.com/resize-observer-polyfill": None,
}
LOADS = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed|object)\b[^>]*?\b(?:src|srcset|data)=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b(?=[^>]*\bhref=["']?(?:https?:)?//)[^>]*>"""
    r"""|(?:@import|url\()\s*["']?(?:https?:)?//[^)]*"""
)


class QuietHandler(SimpleHTTPRequestHandler):
    """A handler that serves files and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Drop the line."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site with warnings as errors."""
    if importlib.util.find_spec("mkdocs") is None:
        # COGITATE_REQUIRE_SYSTEM, as in CI, makes this skip a failure.
        pytest.skip("mkdocs is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def test_no_file_loads_from_another_host(site: Path) -> None:
    pages = "".join(file.read_text() for file in site.rglob("*.html"))
    for file in [file for file in site.rglob("*") if file.suffix in {".html", ".css", ".svg"}]:
        assert LOADS.findall(file.read_text()) == [], file.relative_to(site)
    scripts = "".join(file.read_text() for file in site.rglob("*.js"))
    assert set(re.findall(r"""(?<=["'`]https://)[\w.-]+(?:/[\w-]+)?""", scripts)) == set(UNUSED)
    assert [mark for mark in UNUSED.values() if mark and mark in pages] == []


def test_every_page_opens_without_external_requests(site: Path, address: str, browser: Browser) -> None:
    page = browser.new_page()
    asked: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    page.on("pageerror", lambda error: failed.append(str(error)))
    pages = sorted(file.relative_to(site).as_posix() for file in site.rglob("*.html"))
    assert len(pages) > 10
    for name in pages:
        page.goto(address + name, wait_until="networkidle")
        assert page.locator("h1").count() == 1, name
    assert failed == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    page.close()


def test_diagrams_are_drawn(site: Path, address: str, browser: Browser) -> None:
    sources = {file: file.read_text().count("\n```mermaid\n") for file in (ROOT / "docs").rglob("*.md")}
    assert sum(sources.values()) >= 5
    page = browser.new_page()
    for source, number in sources.items():
        if number:
            page.goto(address + source.relative_to(ROOT / "docs").with_suffix(".html").as_posix())
            drawings = page.locator("figure.diagram > svg")
            assert drawings.count() == number, source
            assert all(drawing.is_visible() and drawing.text_content() for drawing in drawings.all()), source
    page.close()


def test_the_search_finds_a_setting(address: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(address)
    # The theme searches on key release: it would miss a value set by `fill` if the index had already loaded.
    page.locator("input.md-search__input").press_sequentially("retention_days")
    found = page.locator("a.md-search-result__link[href*='configuration']").first
    found.wait_for(state="attached")
    page.close()
