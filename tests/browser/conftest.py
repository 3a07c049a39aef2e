"""The browser that the tests of this folder share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Features that Chromium runs without. Its address bar is a page of its own that takes two thirds of its CPU. Chromium
#: honours only the last such list, so this one repeats the entries of Playwright's list that matter to tests.
WITHOUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "NtpComposebox"),
    *("HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "PaintHolding", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "MediaRouter", "OptimizationHints", "AimEnabled", "PreconnectToSearch"),
)
FLAGS = [
    f"--disable-features={','.join(WITHOUT)}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a headless Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        # COGITATE_REQUIRE_SYSTEM, as in CI, makes this skip a failure.
        pytest.skip("no chromium on this machine: install Debian's")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()
