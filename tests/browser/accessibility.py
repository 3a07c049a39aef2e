"""The check that a page is accessible, as far as axe-core can tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.quiet_page import WINDOWS

#: Impacts of the violations that no page may have.
SERIOUS = ("moderate", "serious", "critical")


def check_accessible(page: Any) -> None:
    """Check that axe-core finds no serious violation on a page, on a desktop and on a phone, light and dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    violations = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no transition between themes
        for name, (_, width, height) in WINDOWS.items():
            page.set_viewport_size({"width": width, "height": height})
            for rule in axe.Axe().run(page).response["violations"]:
                if rule["impact"] in SERIOUS:
                    for node in rule["nodes"]:
                        html, summary = node["html"][:200], node["failureSummary"]
                        violations.append(f"{scheme} {name} {rule['id']}: {html} {summary}")
    assert not violations, "\n".join(violations)
